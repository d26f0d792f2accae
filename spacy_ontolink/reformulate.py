"""Query reformulation with a language model: a standard name and a broader term for each mention (PILOT, 3.1)."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path

from .errors import ConfigError, Errors, StateError, Warnings, check_setting
from .files import REBUILD, read_checked_json, replacing, write_checked_json
from .prompts.cleaning import MOST_WORDS, clean
from .prompts.context import centred, count_words
from .prompts.template import PromptTemplate
from .registry import check_part
from .text import normalise
from .types import LLM, Mention, Reformulation

FIELDS = Reformulation._fields
FOLDER = "llm"
PROMPTS = "prompts.json"
CONTEXT_WORDS = 200  # a sentence that is longer is none
_log = logging.getLogger(__name__)


class LLMReformulator:
    """Asks twice, independently, per distinct mention and sentence; what is of no use is "", and is counted.

    Attributes:
        answers: Number of answers so far, for each field.
        unusable: How many of them were of no use.
    """

    def __init__(self, llm: LLM, *, standard_name: str, hypernym: str, domain: str, max_words: int) -> None:
        self.llm = check_part(llm, LLM, "llm")
        check_setting("domain", domain, bool(domain.strip()), "a word such as biomedical")
        check_setting("max_words", max_words, max_words > 0, "1 or more")
        self.domain, self.max_words = domain, max_words
        self._sources = dict(zip(FIELDS, (standard_name, hypernym), strict=True))
        self._templates: dict[str, PromptTemplate] = {}
        for field, source in self._sources.items():
            # A saved pipeline brings its prompts along, so that the file it was made with may be gone.
            if not _is_path(source) or Path(source).expanduser().exists():
                self._templates[field] = PromptTemplate.load(source)
        self.answers = dict.fromkeys(FIELDS, 0)
        self.unusable = dict.fromkeys(FIELDS, 0)
        self._told: set[str] = set()

    @property
    def id(self) -> str:
        """The model, the versions of the prompts and the settings."""
        versions = "+".join(self._template(field).version for field in FIELDS)
        return f"{self.llm.id}:{versions}:{self.domain}:{self.max_words}"

    def reformulate(self, mentions: Sequence[Mention]) -> list[Reformulation]:
        """Ask for each distinct pair of a mention's text and its sentence (``left + text + right``)."""
        questions = [_question(mention) for mention in mentions]
        distinct = [question for question in dict.fromkeys(questions) if question[0]]
        names, broader = ([*self._ask(field, distinct)] for field in FIELDS)
        found = {question: Reformulation(*pair) for question, *pair in zip(distinct, names, broader, strict=True)}
        return [found.get(question, Reformulation()) for question in questions]

    def to_disk(self, path: Path) -> None:
        """Write the prompts' text and the model."""
        prompts = {field: {"name": self._template(field).name, "text": self._template(field).text} for field in FIELDS}
        with replacing(Path(path)) as folder:
            folder.mkdir()
            write_checked_json(folder / PROMPTS, prompts)
            self.llm.to_disk(folder / FOLDER)

    def from_disk(self, path: Path) -> LLMReformulator:
        """Take over prompts and model; the saved prompts hold, whatever this version of the library brings.

        Raises:
            StateError: A file is missing or damaged.
        """
        file = Path(path) / PROMPTS
        saved = read_checked_json(file)
        try:
            self._templates = {
                field: PromptTemplate.parse(str(saved[field]["name"]), str(saved[field]["text"])) for field in FIELDS
            }
        except (KeyError, TypeError, ConfigError) as error:
            raise StateError(Errors.FILE_DAMAGED.format(path=file, reason=error, rebuild=REBUILD)) from error
        self.llm = self.llm.from_disk(Path(path) / FOLDER)
        return self

    def _template(self, field: str) -> PromptTemplate:
        if field not in self._templates:
            self._templates[field] = PromptTemplate.load(self._sources[field])
        return self._templates[field]

    def _ask(self, field: str, questions: Sequence[tuple[str, str]]) -> list[str]:
        template = self._template(field)
        prompts = [template.fill(mention=text, context=context, domain=self.domain) for text, context in questions]
        answers = self.llm.generate(prompts) if prompts else []
        names = [
            clean(answer or "", text, self.max_words) for (text, _), answer in zip(questions, answers, strict=True)
        ]
        if field == "hypernym":  # nothing is broader than itself
            names = [
                "" if normalise(name) == normalise(text) else name
                for name, (text, _) in zip(names, questions, strict=True)
            ]
        self._count(field, names)
        return names

    def _count(self, field: str, names: Sequence[str]) -> None:
        unusable = sum(not name for name in names)
        self.answers[field] += len(names)
        self.unusable[field] += unusable
        if unusable and field not in self._told:
            self._told.add(field)
            _log.warning(Warnings.REFORMULATIONS_UNUSABLE.format(
                unusable=unusable, total=len(names), share=unusable / len(names),
                field=field.replace("_", " ")))  # fmt: skip


def make_llm_reformulator(
    llm: LLM,
    standard_name: str = "standard_name",
    hypernym: str = "hypernym",
    domain: str = "biomedical",
    max_words: int = MOST_WORDS,
) -> LLMReformulator:
    """Make an ``LLMReformulator``.

    Args:
        llm: Any language model.
        standard_name: The prompt for the standard name: a packaged one, or a file.
        hypernym: The prompt for the broader term.
        domain: What the prompts say that the texts are about.
        max_words: An answer with more words than these is no name.

    Source:
        PILOT (arXiv 2608.04144), section 3.1: query reformulation.
    """
    return LLMReformulator(llm, standard_name=standard_name, hypernym=hypernym, domain=domain, max_words=max_words)


def _question(mention: Mention) -> tuple[str, str]:
    text = " ".join(mention.text.split())
    cut = centred(mention, CONTEXT_WORDS, count_words)
    return text, " ".join(f"{cut.left}{cut.text}{cut.right}".split())


def _is_path(source: str) -> bool:
    return not re.fullmatch(r"\w+", source)
