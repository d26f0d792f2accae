"""Configs of trainings: spaCy's format, blocks that are dataclasses, and nothing that goes unnoticed."""

from __future__ import annotations

import difflib
import json
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors

FREE = ("paths", "vars")
"""Blocks that hold variables only, to be named like ``${paths.ontology}``."""

Block = type[Any] | Mapping[str, type[Any]]
"""A dataclass; or several, by what the block's setting ``kind`` says; or ``dict`` for a block that is left as it is."""


def parse_overrides(arguments: Sequence[str]) -> dict[str, Any]:
    """Read settings from a command line as spaCy does: ``--training.epochs 2`` or ``--training.epochs=2``.

    Values are JSON, or else text; an option without a value means true.

    Raises:
        ConfigError: An argument is no setting.
    """
    found: dict[str, Any] = {}
    left = list(arguments)
    while left:
        option, equals, value = left.pop(0).partition("=")
        name = option.removeprefix("--").replace("-", "_")
        if not option.startswith("--") or "." not in name.strip("."):
            raise ConfigError(Errors.BAD_OVERRIDE.format(option=option, reason="it is not of the form --block.setting"))
        if not equals:
            value = left.pop(0) if left and not left[0].startswith("--") else "true"
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    return found


def read_config(
    path: Path, blocks: Mapping[str, Block], overrides: Mapping[str, Any], optional: Iterable[str] = ()
) -> dict[str, Any]:
    """Read a config and make its blocks.

    Args:
        path: A ``.cfg`` file; variables such as ``${paths.ontology}`` are filled in.
        blocks: The dataclasses that blocks are made into; what the file leaves out is their default.
        overrides: Settings by dotted name that replace those of the file.
        optional: Blocks that are None where the file and the overrides leave them out.

    Returns:
        The blocks by name.

    Raises:
        ConfigError: The file cannot be read, or a block, setting or value makes no sense; the message names it.
    """
    from confection import Config, ConfigValidationError

    try:
        config = Config().from_disk(path, interpolate=False)
        for name, value in overrides.items():
            block, _, setting = name.partition(".")
            config.setdefault(block, {})[setting] = value
        config = config.interpolate()
    except FileNotFoundError as error:
        raise ConfigError(Errors.FILE_MISSING.format(path=path)) from error
    except (ValueError, OSError, ConfigValidationError) as error:  # configparser's errors come as one of these
        reason = " ".join(str(error).split())
        raise ConfigError(Errors.BAD_TRAINING_CONFIG.format(path=path, reason=reason)) from error
    try:
        if unknown := [name for name in config if name not in (*blocks, *FREE)]:
            raise ConfigError(_unknown(Errors.NO_BLOCK, unknown[0], [*blocks, *FREE]))
        left_out = set(optional) - set(config)
        made = {
            name: _make(name, block, config.get(name, {})) for name, block in blocks.items() if name not in left_out
        }
    except ConfigError as error:
        raise ConfigError(Errors.BAD_TRAINING_CONFIG.format(path=path, reason=error)) from error
    return {name: made.get(name) for name in blocks}


def write_config(blocks: Mapping[str, Any]) -> str:
    """Return the text of a config with these blocks and all their settings; what is None is left out."""
    from confection import Config

    values = {name: block if isinstance(block, dict) else asdict(block) for name, block in blocks.items() if block}
    return str(Config(values).to_str())


def _make(name: str, block: Block, given: Mapping[str, Any]) -> Any:
    """Check a block's values and make its dataclass."""
    if block is dict:
        return dict(given)
    if isinstance(block, Mapping):
        kind = given.get("kind", next(iter(block)))
        if kind not in block:
            wanted = " or ".join(json.dumps(kind) for kind in block)
            raise ConfigError(Errors.BAD_VALUE.format(block=name, name="kind", given=kind, wanted=wanted))
        block = block[kind]
    hints, known = typing.get_type_hints(block), [field.name for field in fields(block)]
    for setting, value in given.items():
        if setting not in known:
            raise ConfigError(_unknown(Errors.NO_SETTING, setting, known, block=name))
        if not _fits(value, hints[setting]):
            wanted = _describe(hints[setting])
            raise ConfigError(Errors.BAD_VALUE.format(block=name, name=setting, given=value, wanted=wanted))
    needed = [field.name for field in fields(block) if field.default is MISSING and field.default_factory is MISSING]
    if missing := [setting for setting in needed if setting not in given]:
        raise ConfigError(f"{name}.{missing[0]} is not set")
    values = {setting: float(value) if hints[setting] is float else value for setting, value in given.items()}
    return block(**values)


def _unknown(message: str, name: str, known: Sequence[str], **more: str) -> str:
    close = difflib.get_close_matches(name, known, 1)
    guess = f" (did you mean '{close[0]}'?)" if close else ""
    return message.format(name=name, guess=guess, known=", ".join(known), **more)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of a config is of a type; numbers are no truth values."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is list:
        return isinstance(value, list) and all(_fits(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict)
    if hint in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if hint is float else hint)


def _describe(hint: Any) -> str:
    """Say in words what a type is."""
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "null"}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_describe(argument) for argument in arguments)
    if origin is typing.Literal:
        return " or ".join(json.dumps(argument) for argument in arguments)
    if origin is list:
        return f"a list ({_describe(arguments[0])} each)"
    return words.get(hint, "a block of its own")
