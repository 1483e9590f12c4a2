import pytest

from kinhash.datasets import DATASETS
from kinhash.errors import InvalidInputError
from kinhash.studies import experiments
from kinhash.studies.multimodal import reproduction as multimodal_reproduction
from kinhash.studies.multimodal.protocols import PROTOCOLS
from kinhash.studies.paper import reproduction


def test_each_experiment_is_called_as_its_data_set_is():
    assert set(experiments.SPLITS) == {"cifar10", *PROTOCOLS}
    assert set(experiments.SPLITS) <= set(DATASETS)


@pytest.mark.parametrize(("name", "splits", "expected"), [("cifar10", None, 5), ("corel5k", 2, 2)])
def test_splits_are_those_asked_for_or_the_usual(name, splits, expected, tmp_path, monkeypatch):
    asked = []

    def reproduce(name, data, out, *, seeds, unseen_seeds=(), report):
        asked.append((list(seeds), list(unseen_seeds)))
        return []

    for module in (reproduction, multimodal_reproduction):
        monkeypatch.setattr(module, "reproduce", reproduce)
        monkeypatch.setattr(module, "table", lambda *_: [{"map": 0.5}])
        monkeypatch.setattr(module, "shown", lambda *_: [{"mAP": "50.00"}])
    found = experiments.reproduce(name, None, tmp_path, splits=splits)
    assert asked == [(list(range(expected)), [0, 1] if name == "cifar10" else [])]
    assert found.numbers == [{"map": 0.5}]
    assert found.shown == [{"mAP": "50.00"}]


def test_an_unknown_experiment_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"'nuswide'. Did you mean 'nus-wide'\?"):
        experiments.reproduce("nuswide", None, tmp_path)
