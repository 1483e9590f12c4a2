import fcntl
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.cli import changing
from kinhash.errors import InvalidInputError


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.kinhash"
    HammingIndex(Codes.from_dense(np.eye(3)), [1, 2, 3]).save(path)
    return path


def test_an_index_that_is_being_changed_is_left_alone(run, items):
    before = items.read_bytes()
    message = (
        f"error: {items} is being changed by another process. Run this again when that is done"
    )
    with items.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert run("remove", items, "1").err == f"{message}.\n"
    assert items.read_bytes() == before
    with changing.index_in(items) as index:
        assert message in run("remove", items, "1").err
        index.remove([3])
    assert run("remove", items, "1").code == 0
    assert HammingIndex.load(items).ids.tolist() == [2]


def test_a_failure_within_the_block_changes_nothing(items):
    before = items.read_bytes()

    def fail():
        with changing.index_in(items) as index:
            index.remove([1])
            raise InvalidInputError("no.")

    with pytest.raises(InvalidInputError, match="no"):
        fail()
    assert items.read_bytes() == before
    assert [path.name for path in items.parent.iterdir()] == [items.name]


REMOVE = """
import sys, time
from kinhash.cli import changing, main
def slow(ids, index):
    print("ready", flush=True)
    time.sleep(60)
changing.as_stored = slow
sys.exit(main(sys.argv[1:]))
"""


def test_an_interrupt_says_what_is_left_and_how_to_go_on(items):
    before = items.read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-c", REMOVE, "remove", str(items), "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    again = f"Go on with: kinhash remove {items} 1\n"
    assert err == f"error: interrupted; nothing was changed: {items} is as it was. {again}"
    assert process.returncode == 1
    assert items.read_bytes() == before


def test_typed_ids_are_those_of_the_index(items):
    index = HammingIndex.load(items)
    assert changing.as_stored(["3", "-1", "3", "03"], index) == [3, -1]
    named = HammingIndex(Codes.from_dense(np.eye(2)), ["a", "3"])
    assert changing.as_stored(["3", "a", "3"], named) == ["3", "a"]
    with pytest.raises(InvalidInputError, match=r"are whole numbers, got '1\.5'"):
        changing.as_stored(["1.5"], index)
