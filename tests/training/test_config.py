from dataclasses import dataclass, field
from typing import Literal

import pytest

from spacy_ontolink.errors import ConfigError
from spacy_ontolink.training.config import parse_overrides, read_config, write_config
from spacy_ontolink.training.settings import LoopSettings


@dataclass(frozen=True)
class Small:
    base: str
    kind: Literal["small"] = "small"
    width: int | None = None


@dataclass(frozen=True)
class Large:
    base: str
    kind: Literal["large"] = "large"
    layers: list[int] = field(default_factory=list)
    dropout: float = 0.1
    tied: bool = False


BLOCKS = {"model": {"small": Small, "large": Large}, "training": LoopSettings, "extra": Large, "logger": dict}
CONFIG = """
[paths]
base = "weights"

[model]
kind = "large"
base = ${paths.base}
layers = [1,2]

[training]
learning_rate = 1e-4
"""


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "train.cfg"

    def run(*overrides, text=CONFIG):
        path.write_text(text)
        return read_config(path, BLOCKS, parse_overrides(overrides), optional=["extra", "logger"])

    return run


def test_blocks_become_dataclasses(read):
    assert read() == {
        "model": Large("weights", layers=[1, 2]),
        "training": LoopSettings(learning_rate=1e-4),
        "extra": None,
        "logger": None,
    }
    assert read("--logger.@loggers", "spacy.ConsoleLogger.v1")["logger"] == {"@loggers": "spacy.ConsoleLogger.v1"}


def test_written_again_it_is_the_same_training(read):
    made = read("--training.epochs", "3")
    text = write_config(made)
    assert "weight_decay = 0.01" in text
    assert read(text=text) == made


def test_overrides_as_in_spacy(read):
    made = read(
        "--training.epochs", "4", "--training.learning-rate=2", "--model.tied", "--paths.base", "there",
        "--model.layers", "[3]", "--extra.base=x",
    )  # fmt: skip
    assert made["training"] == LoopSettings(epochs=4, learning_rate=2.0)
    assert made["model"] == Large("there", tied=True, layers=[3])
    assert made["extra"] == Large("x")
    assert read("--model.kind", "small", text='[model]\nbase = "a"')["model"] == Small("a")
    assert parse_overrides(["--a.b", "-1", "--a.c", "null", "--a.d", "1e-5"]) == {"a.b": -1, "a.c": None, "a.d": 1e-5}


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("--training.lerning_rate=1", r"\[training\] has no setting 'lerning_rate' \(did you mean 'learning_rate'\?\)"),
        ("--trainig.epochs=1", r"no block \[trainig\] \(did you mean 'training'\?\); the blocks are: model, training"),
        ("--training.epochs=1.5", r"training\.epochs = 1\.5 must be a whole number"),
        ("--training.epochs=true", r"training\.epochs = True must be a whole number"),
        ("--training.learning_rate=fast", r"learning_rate = 'fast' must be a number"),
        ("--training.schedule=steps", r"""must be "cosine" or "linear" or "constant\""""),
        ("--training.epochs=0", r"training\.epochs = 0 makes no sense"),
        ("--model.kind=huge", r"""model\.kind = 'huge' must be "small" or "large\""""),
        ("--model.kind=small", r"\[model\] has no setting 'layers'"),
        ("--model.layers=[1,null]", r"must be a list \(a whole number each\)"),
        ("--model.tied=1", r"must be true or false"),
        ("--extra.dropout=0", r"extra\.base is not set"),
        ("--paths.base=${paths.nothing}", r"train\.cfg cannot be used"),
    ],
)
def test_what_makes_no_sense(read, override, said):
    with pytest.raises(ConfigError, match=said):
        read(override)


@pytest.mark.parametrize("argument", ["--epochs=3", "training.epochs", "-o", "--.x", "--x."])
def test_arguments_that_are_no_settings(argument):
    with pytest.raises(ConfigError, match=r"--training\.learning_rate 1e-5"):
        parse_overrides([argument])


def test_files_that_are_no_configs(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        read_config(tmp_path / "none.cfg", BLOCKS, {})
    (tmp_path / "odd.cfg").write_text("learning_rate: 3")
    with pytest.raises(ConfigError, match=r"odd\.cfg cannot be used"):
        read_config(tmp_path / "odd.cfg", BLOCKS, {})
