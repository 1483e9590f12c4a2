import pytest
import typer

from kinhash.cli.settings import build_method, parameter_kinds
from kinhash.errors import InvalidInputError
from kinhash.methods import (
    LSH,
    METHODS,
    MULTIMODAL_METHODS,
    ClassCode,
    MultimodalSparseHash,
    NNHash,
    SparseHash,
)


def build(*assignments, name=None, config=None, **options):
    return build_method(name, config, options, assignments)


def test_nothing_given_is_sparsehash_with_its_defaults():
    model = build(n_bits=None, margin=None)
    assert model.get_params() == SparseHash().get_params()


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("max_steps=50", 50),
        ("beta=2", 2.0),
        ("beta = 2.5", 2.5),
        ("signed=yes", True),
        ("signed=False", False),
        ("device=cuda:0", "cuda:0"),
        ("threshold=none", None),
        ("threshold=3", 3),
        ("n_active=4", 4),
    ],
)
def test_an_assignment_has_the_type_of_its_parameter(assignment, value):
    found = getattr(build(assignment), assignment.partition("=")[0].strip())
    assert found == value
    assert type(found) in (type(value), float)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("max_step=50", "Did you mean 'max_steps'?"),
        ("max_steps=many", "`max_steps` must be an integer, got 'many'."),
        ("max_steps=1.5", "`max_steps` must be an integer, got '1.5'."),
        ("beta=steep", "`beta` must be a number, got 'steep'."),
        ("n_bits=none", "`n_bits` must be an integer, got 'none'."),
        ("signed=maybe", "`signed` must be true or false, got 'maybe'."),
        ("max_steps", "Expected name=value, got 'max_steps'."),
        ("verbose=true", "Unknown parameter of sparsehash 'verbose'."),
    ],
)
def test_a_wrong_assignment_is_wrong_usage(assignment, message):
    with pytest.raises(typer.BadParameter) as caught:
        build(assignment)
    assert message in str(caught.value)


def test_a_parameter_is_given_once():
    with pytest.raises(typer.BadParameter, match="`n_bits` is given twice"):
        build("n_bits=8", n_bits=16)
    with pytest.raises(typer.BadParameter, match="`beta` is given twice"):
        build("beta=1", "beta=2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "n_bit = 3",
            "train.toml: Unknown parameter of sparsehash 'n_bit'. Did you mean 'n_bits'?",
        ),
        ("n_bits = 3.5", "train.toml: `n_bits` must be an integer, got 3.5."),
        ("signed = 1", "`signed` must be true or false, got 1."),
        ("margin = true", "`margin` must be a number, got True."),
        ("method = 3", "Unknown method '3'."),
        ('method = "sparsehsh"', "Unknown method 'sparsehsh'. Did you mean 'sparsehash'?"),
        ("n_bits = ", "train.toml must be a TOML file: "),
        ("[n_bits]\na = 3", "`n_bits` must be an integer, got {'a': 3}."),
    ],
)
def test_a_wrong_config_file_is_named(tmp_path, text, message):
    config = tmp_path / "train.toml"
    config.write_text(text)
    with pytest.raises(InvalidInputError) as caught:
        build(config=config)
    assert message in str(caught.value)


def test_an_option_wins_over_the_method_of_the_config_file(tmp_path):
    config = tmp_path / "train.toml"
    config.write_text('method = "nnhash"\nn_bits = 8\n')
    assert build(config=config).name == "nnhash"
    assert build(config=config, name="lsh").name == "lsh"


def test_parts_are_set_by_name_and_by_parameter(tmp_path):
    model = build("bucket.levels=3", "rank=nnhash", "rank.max_steps=5", name="nested", n_bits=62)
    assert (model.n_bits, model.n_rank_bits) == (62, 32)
    assert (type(model.bucket), model.bucket.levels) == (ClassCode, 3)
    assert (type(model.rank), model.rank.max_steps) == (NNHash, 5)
    config = tmp_path / "nested.toml"
    config.write_text(
        'method = "nested"\nrank = "lsh"\n[bucket]\nmethod = "sparsehash"\nmargin = 9\nalpha = 1\n'
    )
    model = build("bucket.alpha=0.5", config=config)
    assert type(model.rank) is LSH
    assert (type(model.bucket), model.bucket.margin, model.bucket.alpha) == (SparseHash, 9.0, 0.5)
    assert build("rank=itq", config=config).rank is None  # the default


def test_parts_that_nobody_names_are_the_defaults():
    model = build(name="nested")
    assert (model.bucket, model.rank) == (None, None)


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["bucket.level=3"], "Unknown parameter of nested 'bucket.level'. Did you mean"),
        (["bucket.levels=x"], "`bucket.levels` must be an integer, got 'x'."),
        (["bucket.n_bits=3"], "Unknown parameter of nested 'bucket.n_bits'."),
        (["bucket.levels=3", "bucket.levels=2"], "`bucket.levels` is given twice."),
        (["bucket=nestd"], "Unknown method 'nestd'."),
        (["rank=nested"], "Unknown method 'nested'."),
    ],
)
def test_a_wrong_part_is_refused(assignments, message):
    with pytest.raises((typer.BadParameter, InvalidInputError)) as caught:
        build(*assignments, name="nested")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bucket = 3", "nested.toml: `bucket` must be the name of a method or a table"),
        ("[bucket]\nlevel = 3", "nested.toml: Unknown parameter of nested 'bucket.level'."),
        ('[rank]\nmethod = "x"', "Unknown method 'x'."),
    ],
)
def test_a_wrong_part_in_a_file_is_refused(tmp_path, text, message):
    config = tmp_path / "nested.toml"
    config.write_text(text)
    with pytest.raises(InvalidInputError) as caught:
        build(name="nested", config=config)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"nested"}))  # its parts are methods
def test_every_parameter_of_every_method_has_a_type_that_can_be_set(name):
    for kind in parameter_kinds(METHODS[name]).values():
        assert str(kind).removeprefix("<class '").removesuffix("'>").split(" | ")[0] in (
            "bool",
            "int",
            "float",
            "str",
        )


def test_with_several_modalities_the_default_is_multimodal_sparsehash():
    model = build_method(None, None, {}, ["mu=0.5", "n_layers=2"], multimodal=True)
    assert model.get_params() == MultimodalSparseHash(mu=0.5, n_layers=2).get_params()


def test_a_table_of_a_file_has_a_value_for_each_modality(tmp_path):
    config = tmp_path / "train.toml"
    config.write_text('mu = {image = 1}\nencoder = {text = "cod"}\n')
    model = build_method(None, config, {}, [], multimodal=True)
    assert (model.mu, model.encoder) == ({"image": 1.0}, {"text": "cod"})
    config.write_text("n_layers = {image = 1.5}\n")
    with pytest.raises(InvalidInputError, match=r"`n_layers\.image` must be an integer, got 1\.5"):
        build_method(None, config, {}, [], multimodal=True)
    config.write_text("margin = {image = 3}\n")
    with pytest.raises(InvalidInputError, match="`margin` must be a number, got "):
        build_method(None, config, {}, [], multimodal=True)


@pytest.mark.parametrize("name", MULTIMODAL_METHODS)
def test_every_parameter_of_several_modalities_has_a_kind(name):
    method = MULTIMODAL_METHODS[name]
    assert set(parameter_kinds(method)) == set(method().get_params()) - {"verbose"}
