"""The steps of ``ontolink train reranker``: candidates of a saved pipeline, training by kind, and the way to use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import ConfigError, DataError, Errors, require
from ..models.devices import require_torch
from ..models.folder import ModelFolder, find_model, plain_name
from ..training.config import parse_overrides, read_config, write_config
from ..training.hard_negatives import Negatives
from ..training.reranker_data import fingerprint
from ..training.reranker_settings import (
    CrossEncoderModel,
    PoolSettings,
    ReadAndSelectModel,
    RerankerData,
    YesNoModel,
)
from ..training.settings import LoopSettings
from .console import bar, count, say, step
from .pipelines import load_pipeline, only_retriever
from .reranker_pools import Pools, read_pools
from .training import CONFIG, check_output, watching

if TYPE_CHECKING:
    from ..training.loop import Task

Model = YesNoModel | CrossEncoderModel | ReadAndSelectModel
CONTEXT = "ontolink_context_rerank"


BLOCKS: dict[str, Any] = {
    "data": RerankerData,
    "model": {"yes-no": YesNoModel, "cross-encoder": CrossEncoderModel, "read-and-select": ReadAndSelectModel},
    "pool": PoolSettings,
    "negatives": Negatives,
    "training": LoopSettings,
    "logger": dict,
}


def train_reranker(
    path: Path, pairs: Sequence[Path], out: Path, settings: Sequence[str], overwrite: bool = False
) -> None:
    """Train what a config describes and write it as the folder ``out``.

    Raises:
        OntolinkError: A file, a setting, the pipeline or the folder cannot be used.
    """
    blocks = read_config(path, BLOCKS, parse_overrides(settings), optional=("logger",))
    model, data, loop = blocks["model"], blocks["data"], blocks["training"]
    files = [*pairs, *map(Path, data.pairs)]
    if not files:
        raise ConfigError(Errors.NO_PAIR_FILES)
    for file in files:
        if not file.exists():
            raise DataError(Errors.INPUT_MISSING.format(path=file))
    require_torch("Training")
    if isinstance(model, YesNoModel):
        require("peft", "train", "Training a LoRA adapter")
    check_output(out, overwrite)
    base = ModelFolder.open(find_model(model.base))
    with step(f"Opening {Path(data.pipeline).name}"):
        nlp = load_pipeline(data.pipeline)
        retriever = only_retriever(nlp, data.component, data.pipeline)
    with bar("Looking mentions up") as report:
        found = read_pools(nlp, retriever, files, blocks["pool"], limit=data.limit, seed=loop.seed, report=report)
    _tell(found)
    told = {
        **blocks,
        "data": replace(data, pipeline=plain_name(data.pipeline), pairs=[file.name for file in files]),
        "model": replace(model, base=plain_name(model.base)),
    }
    same = {name: told[name] for name in ("model", "pool", "negatives")}
    facts = {"base": base.revision, "pools": fingerprint(found.pools), "how": write_config(same)}
    _train(blocks, found, nlp, out, facts, write_config(told))
    typer.echo(_block(out, model, blocks["pool"]))


def _train(blocks: dict[str, Any], found: Pools, nlp: Any, out: Path, facts: dict[str, Any], config: str) -> None:
    from ..training.cross_encoders import CrossEncoderTask, ReadAndSelectTask
    from ..training.loop import train
    from ..training.yes_no import YesNoTask

    model, loop = blocks["model"], blocks["training"]
    with watching(f"Training on {count(len(found.pools), 'mention')}", blocks["logger"], nlp) as watch:
        data = (found.pools, found.describe, blocks["negatives"], loop, watch.scored)
        task: Task
        if isinstance(model, YesNoModel):
            task = YesNoTask(model, *data)
        else:
            make = ReadAndSelectTask if isinstance(model, ReadAndSelectModel) else CrossEncoderTask
            task = make(model, *data)
        train(task, loop, out, report=watch, facts=facts, beside={CONFIG: config})


def _tell(found: Pools) -> None:
    """Say what was read, what was left out, and for how many mentions the right entity is there to be found."""
    facts = found.facts
    left_out = {"without an id": "without_gold", "with ids that the ontology does not have": "with_unknown_gold_only"}
    said = [f"{count(facts[key], 'mention')} {why}" for why, key in left_out.items() if facts[key]]
    used = facts["mentions_used"]
    share = f", {facts['in_pool'] / used:.1%} of them with a right entity among their candidates" if used else ""
    say(f"{count(used, 'mention')}{share}")
    if said:
        say(f"Left out: {'; '.join(said)}")


def _block(out: Path, model: Model, pool: PoolSettings) -> str:
    """Return the part of a pipeline's config that puts the reranker to use."""
    from confection import Config

    shown = {name: value for name, value in asdict(pool).items() if name != "k"}
    reranker: dict[str, Any]
    if isinstance(model, YesNoModel):
        llm = {"@ontolink_llms": "spacy-ontolink.Transformers.v1", "max_length": model.max_length}
        llm |= {"model": str(out)} if model.merge else {"model": model.base, "adapter": str(out)}
        asked = {name: getattr(model, name) for name in ("template", "instruction", "yes", "no")}
        reranker = {"@ontolink_rerankers": "spacy-ontolink.YesNo.v1", **asked, "llm": llm}
    else:
        name = "ReadAndSelect" if isinstance(model, ReadAndSelectModel) else "CrossEncoder"
        lengths = {"mention_tokens": model.mention_tokens, "entity_tokens": model.entity_tokens}
        reranker = {"@ontolink_rerankers": f"spacy-ontolink.{name}.v1", "model": str(out), **lengths}
    component = {"factory": CONTEXT, **shown, "reranker": reranker}
    return str(Config({"components": {CONTEXT: component}}).to_str())
