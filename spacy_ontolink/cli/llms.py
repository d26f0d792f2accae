"""Language models as the command line names them: a config file, or a short form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, Errors, OntolinkError

if TYPE_CHECKING:
    from ..types import LLM

FORMS = "openai:MODEL@ENDPOINT, transformers:FOLDER_OR_NAME, llamacpp:FILE.gguf, or a .cfg or .json file"
MAX_NEW_TOKENS = 128
"""Tokens of an answer with a short form: a list of names is longer than one name."""
_KEY = "@ontolink_llms"
_ADDRESS = re.compile(r"@([A-Za-z][A-Za-z+]*://.*)")


def make_llm(given: str) -> LLM:
    """Make the language model that ``--llm`` asks for; nothing is loaded or connected to yet.

    A file has the settings of a registered model, as in ``[llm]`` with ``@ontolink_llms = "spacy-ontolink.OpenAI.v1"``.

    Raises:
        ConfigError: It is none of the forms, or its settings make no sense.
        MissingExtraError: A package for it is not installed.
    """
    from spacy.util import registry

    from ..registry import check_part
    from ..types import LLM

    block = _from_file(Path(given)) if given.endswith((".cfg", ".json")) else _from_short(given)
    try:
        llm = registry.resolve({"llm": block})["llm"]
    except OntolinkError:
        raise
    except ValueError as error:  # confection's own
        raise ConfigError(Errors.LLM_CONFIG.format(given=given, reason=" ".join(str(error).split()))) from error
    return check_part(llm, LLM, "llm")


def _from_short(given: str) -> dict[str, Any]:
    kind, _, rest = given.partition(":")
    if not rest.strip():
        raise ConfigError(Errors.LLM_FORM.format(given=given, forms=FORMS))
    if kind == "openai":
        address = _ADDRESS.search(rest)  # the name of a model may have an @ in it, and so may a bad address
        model, where = (rest[: address.start()], {"endpoint": address[1]}) if address else (rest, {})
        return {_KEY: "spacy-ontolink.OpenAI.v1", "model": model, "max_new_tokens": MAX_NEW_TOKENS, **where}
    if kind == "transformers":
        return {_KEY: "spacy-ontolink.Transformers.v1", "model": rest, "max_new_tokens": MAX_NEW_TOKENS}
    if kind == "llamacpp":
        return {_KEY: "spacy-ontolink.LlamaCpp.v1", "path": rest, "max_new_tokens": MAX_NEW_TOKENS}
    raise ConfigError(Errors.LLM_FORM.format(given=given, forms=FORMS))


def _from_file(path: Path) -> dict[str, Any]:
    """Return the block of a file that names a model: the file itself, or one section of it."""
    from configparser import Error as ConfigParserError

    from thinc.api import Config

    if not path.is_file():
        raise ConfigError(Errors.LLM_CONFIG.format(given=path, reason="there is no such file"))
    try:
        text = path.read_text(encoding="utf-8")
        content: Any = json.loads(text) if path.suffix == ".json" else Config().from_str(text)
    except (ValueError, OSError, RecursionError, ConfigParserError) as error:
        raise ConfigError(Errors.LLM_CONFIG.format(given=path, reason=" ".join(str(error).split()))) from error
    sections = [content, *content.values()] if isinstance(content, dict) else []
    blocks = [section for section in sections if isinstance(section, dict) and _KEY in section]
    if len(blocks) != 1:
        reason = f"{len(blocks) or 'no'} blocks in it have '{_KEY}'; one must"
        raise ConfigError(Errors.LLM_CONFIG.format(given=path, reason=reason))
    return blocks[0]
