"""A language model judges each candidate by a yes or a no: PILOT's contextual reranker (section 3.2)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from ..errors import Errors, StateError, check_setting
from ..files import REBUILD, read_checked_json, replacing, write_checked_json
from ..prompts.context import centred
from ..prompts.entity_text import render
from ..prompts.template import PromptTemplate
from ..registry import check_part
from ..types import LLM, EntityText, Floats1d, Mention, Prompt

SETTINGS = "yes_no.json"
FIELDS = ("context", "mention")
CONTEXT = 1000  # characters of text around a mention, and the mention

# The template that Qwen3-Reranker was trained with, as its authors publish it; any other wording costs accuracy.
QWEN3_FRAME = (
    "<|im_start|>system\n"
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n",
    "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
)
QWEN3_BODY = "<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}"
CHAT_SYSTEM = '{instruction} Answer with "{yes}" or "{no}" only.'
CHAT_BODY = "Text: {query}\nOntology entry: {document}"

_OPEN = re.compile(r"\[(?=\[)|\](?=\])")  # of two brackets in a row

Template = Literal["qwen3-reranker", "chat"]


class YesNo:
    """Scores a candidate by ``log p(yes) - log p(no)``, which is the difference of the two logits.

    What is equal for all candidates of a mention comes first in a prompt, so that it need be computed only once.
    """

    def __init__(self, llm: LLM, instruction: str | None, yes: str, no: str, template: Template) -> None:
        self.llm = check_part(llm, LLM, "llm")
        check_setting("template", template, template in ("qwen3-reranker", "chat"), '"qwen3-reranker" or "chat"')
        check_setting("yes", yes, bool(yes) and yes != no, "two different words as yes and no")
        check_setting("no", no, bool(no), "two different words as yes and no")
        check_setting(
            "instruction", instruction, instruction is None or bool(instruction.strip()), "null (the usual) or a text"
        )
        self._given: dict[str, str | None] = {"instruction": instruction, "yes": yes, "no": no, "template": template}
        self._template = PromptTemplate.load("yes_no", FIELDS, FIELDS)
        self._settings = {setting: value or self._template.system for setting, value in self._given.items()}

    @property
    def id(self) -> str:
        """The id of the language model, and a hash of what it is asked."""
        asked = (sorted(self._settings.items()), self._template.user)
        digest = hashlib.sha256(repr(asked).encode()).hexdigest()
        return f"yes-no:{self.llm.id}:{digest[:16]}"

    def score(self, mentions: Sequence[Mention], candidates: Sequence[Sequence[EntityText]]) -> list[Floats1d]:
        """Score each mention's candidates one by one, (K_i,): raw margins, NaN for those that the model failed on.

        Raises:
            LLMError: The model cannot answer at all, or does not tell the probability of both words.
        """
        queries = {mention: self._query(mention) for mention in mentions}
        documents = {text: render(text) for texts in candidates for text in texts}
        prompts = [
            [self._prompt(queries[mention], documents[text]) for text in texts]
            for mention, texts in zip(mentions, candidates, strict=True)
        ]
        place = {prompt: number for number, prompt in enumerate(dict.fromkeys(p for own in prompts for p in own))}
        margins = np.zeros(0, np.float32)
        if place:
            chances = self.llm.choose(list(place), (self._settings["yes"], self._settings["no"]))
            with np.errstate(invalid="ignore"):  # of two impossible answers neither is the better one: NaN
                margins = np.asarray(chances[:, 0] - chances[:, 1], np.float32)
        return [margins[np.array([place[prompt] for prompt in own], np.intp)] for own in prompts]

    def prompt(self, mention: Mention, candidate: EntityText) -> Prompt:
        """Return what the model is asked about one candidate; training uses the same prompts."""
        return self._prompt(self._query(mention), render(candidate))

    def _query(self, mention: Mention) -> str:
        return self._template.fill(context=_marked(mention), mention=mention.text).text

    def _prompt(self, query: str, document: str) -> Prompt:
        settings = self._settings
        if settings["template"] == "chat":
            system = CHAT_SYSTEM.format(instruction=settings["instruction"], yes=settings["yes"], no=settings["no"])
            return Prompt(CHAT_BODY.format(query=query, document=document), system)
        body = QWEN3_BODY.format(instruction=settings["instruction"], query=query, document=document)
        return Prompt(body, frame=QWEN3_FRAME)

    def to_disk(self, path: Path) -> None:
        """Write the settings, and the language model's state as a subfolder."""
        with replacing(Path(path)) as folder:
            folder.mkdir()
            write_checked_json(folder / SETTINGS, {**self._settings, "prompt": self._template.text})
            self.llm.to_disk(folder / "llm")

    def from_disk(self, path: Path) -> YesNo:
        """Take over the saved settings and the language model's state.

        Raises:
            StateError: The folder is damaged, or was saved with other settings; an instruction left open takes the
                saved one. The saved wording holds, whatever this version of the library brings.
        """
        path = Path(path)
        record = read_checked_json(path / SETTINGS)
        try:
            saved = {setting: str(record[setting]) for setting in self._given}
            prompt = str(record["prompt"])
        except (KeyError, TypeError) as error:
            reason = f"no {error}"
            raise StateError(
                Errors.FILE_DAMAGED.format(path=path / SETTINGS, reason=reason, rebuild=REBUILD)
            ) from error
        for setting, value in saved.items():
            if (given := self._given[setting]) not in (None, value):
                raise StateError(Errors.MODEL_SETTING.format(path=path, setting=setting, saved=value, given=given))
        self.llm = self.llm.from_disk(path / "llm")
        self._settings, self._template = saved, PromptTemplate.parse("yes_no", prompt, FIELDS, FIELDS)
        return self


def make_yes_no(
    llm: LLM,
    instruction: str | None = None,
    yes: str = "yes",
    no: str = "no",
    template: Template = "qwen3-reranker",
) -> YesNo:
    """Make a ``YesNo`` reranker.

    Args:
        llm: The language model that judges; its ``choose`` is used.
        instruction: What it is to judge by; null means the wording in ``prompts/yes_no.txt``.
        yes: The answer that speaks for a candidate, a single token of the model.
        no: The answer that speaks against it, the same.
        template: "qwen3-reranker" for models of that family, "chat" for any other, through its own chat template.

    Source:
        PILOT (arXiv 2608.04144), section 3.2: the margin of yes over no.
    """
    return YesNo(llm, instruction, yes, no, template)


def _marked(mention: Mention) -> str:
    """Return the text around a mention, which alone stands in ``[[ … ]]``."""
    near = centred(mention, CONTEXT)
    left, text, right = (_OPEN.sub(r"\g<0> ", part) for part in (near.left, near.text, near.right))
    return f"{left} [[ {text.strip()} ]] {right}"
