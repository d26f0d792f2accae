"""The steps of ``ontolink train retriever``: names aligned first if the config says so, then pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ConfigError, DataError, Errors, StateError
from ..files import read_json, sha256
from ..models.devices import require_torch
from ..models.folder import ModelFolder, find_model, plain_name
from ..training.annotations import Examples, make_examples
from ..training.config import parse_overrides, read_config, write_config
from ..training.settings import (
    AlignmentSettings,
    DataSettings,
    LoopSettings,
    NamesModel,
    NgramsModel,
    SamplingSettings,
    TowersModel,
)
from .console import count, say
from .training import ALIGNED, CONFIG, Source, check_output, open_source, read_annotations, watching

if TYPE_CHECKING:
    from ..training.name_model import NameModel
    from ..training.ngram_model import NgramModel

BLOCKS: dict[str, Any] = {
    "data": DataSettings,
    "model": {"names": NamesModel, "ngrams": NgramsModel, "bi-encoder": TowersModel},
    "alignment": AlignmentSettings,
    "sampling": SamplingSettings,
    "training": LoopSettings,
    "logger": dict,
}
TRANSFORMERS = ("torch", "transformers", "sentence_transformers")
FACTS, ALIGNMENT_LOG = "facts.json", "alignment.jsonl"


def train_retriever(
    path: Path, pairs: Sequence[Path], out: Path, settings: Sequence[str], overwrite: bool = False
) -> None:
    """Train what a config describes and write it as the folder ``out``.

    Raises:
        OntolinkError: A file, a setting or the folder cannot be used.
    """
    try:
        blocks = read_config(path, BLOCKS, parse_overrides(settings), optional=("alignment", "logger"))
    except ConfigError as error:
        if Errors.BAD_VALUE.format(block="data", name="ontology", given=None, wanted="") not in str(error):
            raise
        raise ConfigError(Errors.NO_TRAINING_ONTOLOGY.format(path=path)) from error
    model, data = blocks["model"], blocks["data"]
    files = [*pairs, *map(Path, data.pairs)]
    if isinstance(model, TowersModel) and blocks["alignment"]:
        reason = "a bi-encoder has no rows of names to align. Leave the block out"
        raise ConfigError(
            Errors.ONE_OR_OTHER.format(one="[alignment]", other='model.kind = "bi-encoder"', reason=reason)
        )
    if not files and not blocks["alignment"]:
        raise ConfigError(Errors.NOTHING_TO_LEARN)
    for file in files:
        if not file.exists():
            raise DataError(Errors.INPUT_MISSING.format(path=file))
    require_torch("Training", ("torch",) if isinstance(model, NgramsModel) else TRANSFORMERS)
    check_output(out, overwrite)
    base = ModelFolder.open(find_model(model.base)) if model.base else None
    source = open_source(data)
    found = make_examples(source.kb, read_annotations(files, source.nlp), context=isinstance(model, TowersModel))
    if files:
        _tell(found, files)
    plain = [plain_name(path) for path in ([data.ontology] if isinstance(data.ontology, str) else data.ontology)]
    names = {"pairs": [file.name for file in files], "names": [Path(name).name for name in data.names]}
    told = {
        **blocks,
        "data": replace(data, ontology=plain if len(plain) > 1 else plain[0], **names),
        "model": replace(model, base=plain_name(model.base)) if model.base else model,
    }
    facts: dict[str, Any] = {
        "ontology": source.kb.hash,
        "base": base.revision if base else None,
        "model": write_config({"model": told["model"]}),
    }
    last = "alignment" if not files else "training"
    beside = {CONFIG: write_config(told)}
    if blocks["alignment"]:
        aligned = out if last == "alignment" else out / ALIGNED
        _align(blocks, source, aligned, facts, beside if last == "alignment" else {})
        if files:
            beside[ALIGNMENT_LOG] = (aligned / "log.jsonl").read_text("utf-8")
            model = replace(model, base=str(aligned))
    if files:
        facts |= {"pairs": [sha256(file) for file in files], "sampling": write_config({"sampling": blocks["sampling"]})}
        _train_on_pairs({**blocks, "model": model}, source, found, out, facts, beside)
    _finish(out, model)


def _align(
    blocks: Mapping[str, Any], source: Source, out: Path, facts: dict[str, Any], beside: Mapping[str, str]
) -> None:
    """Run the first stage, unless it was done before the training was cut short."""
    from ..training.loop import CHECKPOINT, train
    from ..training.retriever import Alignment

    settings: AlignmentSettings = blocks["alignment"]
    same = json.loads(json.dumps({**settings.fixed(), **facts}))
    if out.name == ALIGNED and (out / FACTS).is_file() and not (out / CHECKPOINT).exists():
        if read_json(out / FACTS) != same:
            differing = "its first stage was trained with other settings, or on another ontology or model"
            raise StateError(Errors.CHECKPOINT_OTHER.format(path=out, differing=differing))
        say("Aligning names: done before")
        return
    encoder = _name_model(blocks["model"], source, settings.seed)
    task = Alignment(source.kb, encoder, settings.pairs_per_entity, settings.seed)
    if not len(task.start_epoch(0)):
        raise DataError(Errors.NO_SYNONYMS_TO_ALIGN.format(name=source.kb.name))
    beside = beside or {FACTS: json.dumps(same)}
    with watching(f"Aligning {source.kb.n_names:,} names", blocks["logger"], source.nlp) as report:
        train(task, settings, out, report=report, facts=facts, beside=beside)


def _train_on_pairs(
    blocks: Mapping[str, Any],
    source: Source,
    found: Examples,
    out: Path,
    facts: Mapping[str, Any],
    beside: Mapping[str, str],
) -> None:
    from ..training.batches import Relatives, Sampler
    from ..training.loop import Task, train
    from ..training.retriever import MentionsAndEntities, MentionsAndNames

    model, settings, sampling = blocks["model"], blocks["training"], blocks["sampling"]
    sampler = Sampler(Relatives(source.kb), sampling.strategy, sampling.cap)
    task: Task
    if isinstance(model, TowersModel):
        temperature = model.temperature if model.similarity == "cosine" else None
        lengths = (model.mention_tokens, model.entity_tokens)
        task = MentionsAndEntities(
            source.kb, model.base, found.examples, sampler, lengths=lengths, temperature=temperature, seed=settings.seed
        )
    else:
        encoder = _name_model(model, source, settings.seed)
        task = MentionsAndNames(source.kb, encoder, found.examples, sampler, model.names, settings.seed)
    with watching(f"Training on {count(len(found.examples), 'pair')}", blocks["logger"], source.nlp) as report:
        train(task, settings, out, report=report, facts=facts, beside=beside)


def _name_model(model: NamesModel | NgramsModel, source: Source, seed: int) -> NameModel | NgramModel:
    """Load the encoder that training starts from, or start one from the ontology's names."""
    if isinstance(model, NgramsModel):
        from ..training.ngram_model import NgramModel

        if model.base:
            return NgramModel.open(model.base, model.temperature, model.dropout)
        return NgramModel.start(source.kb, model.dimensions, model.temperature, model.dropout, seed)
    from ..training.name_model import NameModel

    return NameModel(model.base, model.pooling, model.max_length, model.temperature)


def _tell(found: Examples, files: Sequence[Path]) -> None:
    """Say what was read and what was left out.

    Raises:
        DataError: Nothing is left.
    """
    left_out = {
        "without an id": found.without_id,
        "with ids that the ontology does not have": found.unknown,
        "blank": found.blank,
    }
    said = "; ".join(f"{count(number, 'mention')} {why}" for why, number in left_out.items() if number)
    names = ", ".join(file.name for file in files)
    if not found.examples:
        hint = f" It has {said}." if said else " Each mention needs 'kb_ids'."
        raise DataError(Errors.NO_MENTIONS.format(path=names, verb="learn from", hint=hint))
    entities = len({example.entity for example in found.examples})
    say(f"{names}: {count(len(found.examples), 'pair')} with {count(entities, 'entity', 'entities')}")
    if said:
        say(f"Left out: {said}")


def _finish(out: Path, model: NamesModel | NgramsModel | TowersModel) -> None:
    """Say what to do with the model."""
    if isinstance(model, TowersModel):
        typer.echo(f"{out}: ontolink build ONTOLOGY OUT --config configs/scizsel.cfg, with it as paths.bi_encoder")
    else:
        typer.echo(f"{out}: ontolink build ONTOLOGY OUT --encoder {out}")
