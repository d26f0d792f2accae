"""Prompts as text files with fields, so that they can be read, changed and told apart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from ..errors import ConfigError, Errors
from ..types import Prompt
from .neutral import neutral

FIELDS = ("mention", "context", "domain")
REQUIRED = ("mention",)
_SECTION = re.compile(r"^\[(\w+)\]\s*$", re.MULTILINE)
_SECTIONS = ("system", "user")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt with fields such as ``$mention`` in a section ``[system]`` (which may be left out) and one ``[user]``.

    Attributes:
        name: The packaged name or the file's name, without its folder.
        text: What the file holds; ``parse`` makes the same template of it.
        system, user: The two sections.
    """

    name: str
    text: str
    system: str
    user: str

    @classmethod
    def load(cls, source: str, fields: Sequence[str] = FIELDS, required: Sequence[str] = REQUIRED) -> PromptTemplate:
        """Read a packaged prompt (``standard_name``, ``hypernym``, ``yes_no``) or a file.

        Args:
            source: A packaged name, or the path of a file.
            fields: The fields that may stand in it.
            required: Those that must.

        Raises:
            ConfigError: There is no such file, it has no ``[user]``, a field is unknown or a required one missing.
        """
        packaged = resources.files(__package__) / f"{source}.txt"
        try:
            if re.fullmatch(r"\w+", source) and packaged.is_file():
                text = packaged.read_text(encoding="utf-8")
            else:
                text = Path(source).expanduser().read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(
                Errors.PROMPT_UNREADABLE.format(path=source, reason=reason, known=", ".join(names()))
            ) from error
        return cls.parse(Path(source).name, text, fields, required)

    @classmethod
    def parse(
        cls, name: str, text: str, fields: Sequence[str] = FIELDS, required: Sequence[str] = REQUIRED
    ) -> PromptTemplate:
        """Make a template of a file's text; raises as ``load`` does."""
        text = text.replace("\r\n", "\n")
        first, *rest = _SECTION.split(text)
        sections = dict(zip(rest[::2], (part.strip() for part in rest[1::2]), strict=True))
        if first.strip() or sections.keys() - set(_SECTIONS) or len(sections) < len(rest) // 2:
            raise _bad(name, "it must consist of a section [system] (or none) and one [user]")
        if not sections.get("user"):
            raise _bad(name, "it has no text in a section [user]")
        found = _fields_of(name, text)
        if unknown := sorted(found - set(fields)):
            raise _bad(name, f"unknown field(s) ${', $'.join(unknown)}; there are ${', $'.join(fields)}")
        if missing := [field for field in required if field not in found]:
            raise _bad(name, f"the field(s) ${', $'.join(missing)} must stand in it")
        return cls(name, text, sections.get("system", ""), sections["user"])

    @property
    def version(self) -> str:
        """A short hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def fill(self, **fields: str | Sequence[str]) -> Prompt:
        """Put values in the fields, each made neutral; values of fields that the prompt does not use are ignored.

        Args:
            fields: A text is put on one line; of several texts, each is put on a line of its own.

        Raises:
            ConfigError: A field has no value.
        """
        values = {
            name: neutral(value) if isinstance(value, str) else "\n".join(map(neutral, value))
            for name, value in fields.items()
        }
        try:
            return Prompt(Template(self.user).substitute(values), Template(self.system).substitute(values))
        except KeyError as error:
            raise _bad(self.name, f"no value for the field ${error.args[0]}") from error


def names() -> list[str]:
    """Return the names of the packaged prompts."""
    files = resources.files(__package__).iterdir()
    return sorted(file.name.removesuffix(".txt") for file in files if file.name.endswith(".txt"))


def _fields_of(name: str, text: str) -> set[str]:
    found = set()
    for match in Template.pattern.finditer(text):
        if match["invalid"] is not None:
            line = text.count("\n", 0, match.start()) + 1
            raise _bad(name, f"a $ without a field in line {line}; write $$ for the sign itself")
        found.add(match["named"] or match["braced"] or "")
    return found - {""}


def _bad(name: str, reason: str) -> ConfigError:
    return ConfigError(Errors.BAD_PROMPT.format(path=name, reason=reason))
