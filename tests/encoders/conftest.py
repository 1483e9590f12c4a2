"""Encoders with random weights."""

import numpy as np
import pytest

from kinhash.encoders import LinearEncoder, unit_length


@pytest.fixture(scope="session")
def random_encoder():
    """Return a function that makes an encoder of the native kernel."""

    def make(rng, kind, n_bits, n_features, *, signed=False, n_steps=1):
        def floats(*shape):
            return rng.normal(size=shape).astype(np.float32)

        common = {
            "mean": floats(n_features),
            "scale": np.abs(floats(n_features)),
            "W": unit_length(floats(n_bits, n_features)),
        }
        if kind is LinearEncoder:
            return LinearEncoder(**common, bias=0.1 * floats(n_bits))
        return kind(
            **common,
            S=0.3 * floats(n_bits, n_bits),
            tau=np.abs(0.1 * floats(n_bits)),
            beta=3.0,
            n_steps=n_steps,
            two_sided=signed,
        )

    return make
