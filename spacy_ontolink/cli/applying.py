"""What tuning found, put into the components of a pipeline and into the config that is saved with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..calibration import Calibration
from ..training.grids import Setting
from .pipelines import FUSER, linkers

if TYPE_CHECKING:
    from spacy.language import Language

    from ..space import EntitySpace


@dataclass(frozen=True)
class Before:
    """The state of a pipeline before it was tuned."""

    space: EntitySpace
    reformulator: Any
    settings: dict[str, Any]
    disabled: list[str]

    @classmethod
    def of(cls, retriever: Any, disabled: list[str]) -> Before:
        """Note it; ``disabled`` are the components that the pipeline itself has disabled."""
        stages = {stage.view: stage.settings for stage in retriever.stages if hasattr(stage, "settings")}
        return cls(retriever.space, retriever.reformulator, {"retriever": retriever.settings, **stages}, disabled)


def apply(nlp: Language, retriever: Any, before: Before, settings: dict[str, Setting]) -> None:
    """Give the components their settings as before, but for those that were tuned, and note these in the config.

    A pipeline without ``ontolink_fuse`` gets one if weights, calibration or threshold need it.

    Args:
        nlp: The pipeline.
        retriever: Its retriever.
        before: The state before.
        settings: What changes, by view, as in ``Tuned``.
    """
    for name in [name for name in nlp.disabled if name not in before.disabled]:
        nlp.enable_pipe(name)
    fused, own = settings["fused"], settings["retriever"]
    retriever.settings = replace(before.settings["retriever"], **own)
    retriever.reformulator, retriever.always_reformulate = before.reformulator, False
    pooling = before.space.pooling._replace(hierarchy=retriever.settings.pooling)
    space = before.space
    retriever.adopt(space if pooling == space.pooling else space.repooled(pooling, retriever.fresh_parts()[1]))
    nlp.get_pipe_config(retriever.name).update(own)
    stages = {stage.view: stage for stage in retriever.stages}
    for view in ("surface", "context"):
        if view in stages:
            stages[view].settings = replace(before.settings[view], **settings[view])
            nlp.get_pipe_config(stages[view].name).update(settings[view])
    if fuser := stages.get("fused"):
        fuser.weights = fused["weights"]
        if "calibration" in fused:
            fuser.calibration, fuser.threshold = Calibration.from_config(fused["calibration"]), fused["threshold"]
        nlp.get_pipe_config(fuser.name).update(fused)
    elif fused:
        name = FUSER if FUSER not in nlp.component_names else f"{retriever.name}_fuse"
        last = [other for other in linkers(nlp) if other in (retriever.name, *retriever.listening_components)][-1]
        nlp.add_pipe(FUSER, name, after=last, config={"upstream": retriever.name, **fused})
