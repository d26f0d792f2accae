"""What OpenAI-compatible servers send back, read without trust: any of it may be missing or of another type."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .retrying import GaveUpError

MALFORMED = "malformed answer"
_ROUNDING = 0.001  # a log-probability of 0 that was computed in half precision may come out above it
_SHOWN = 80  # characters of what makes no sense
_SPACES = " \t\n\r\u2581\u0120\u010a"  # white space as it is, and as tokenizers write it


def parse(body: bytes, clean: Callable[[str], str]) -> dict[str, Any]:
    """Read a body, with ``clean`` applied to each string in it, names included.

    Raises:
        GaveUpError: It is not a JSON object.
    """
    try:
        value = _each_string(json.loads(body), clean)
    except (ValueError, RecursionError) as error:
        raise GaveUpError(MALFORMED, f"not JSON: {_start(body)}") from error
    if not isinstance(value, dict):
        raise GaveUpError(MALFORMED, f"not a JSON object: {_start(body)}")
    return value


def _each_string(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {clean(name): _each_string(item, clean) for name, item in value.items()}
    if isinstance(value, list):
        return [_each_string(item, clean) for item in value]
    return clean(value) if isinstance(value, str) else value


def first_choice(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the first choice.

    Raises:
        GaveUpError: There is none.
    """
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise GaveUpError("no choices", "an answer without choices")
    return choices[0]


def text_of(choice: dict[str, Any]) -> str:
    """Return the text of a choice, of a chat or of a completion.

    Raises:
        GaveUpError: It has none.
    """
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    if not isinstance(text, str):
        why = choice.get("finish_reason")
        raise GaveUpError("no content", f"an answer without content (finish_reason: {str(why)[:40]})")
    return joined(text)


def token_counts(reply: dict[str, Any]) -> tuple[int, int]:
    """Return the numbers of prompt and completion tokens, 0 where the server does not count or counts below 0."""
    usage = reply.get("usage")
    counts = [usage.get(key) if isinstance(usage, dict) else 0 for key in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (max(0, count) if type(count) is int else 0 for count in counts)
    return prompt, completion


def top_tokens(choice: dict[str, Any]) -> list[tuple[str, float]] | None:
    """Return the most probable first tokens with their log-probabilities; None where the server reports none.

    Servers use two forms: chats have a list of tokens, older completions one mapping per place.

    Raises:
        GaveUpError: The model ended its answer before the first token, or what should be a log-probability is none.
    """
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict):
        return None
    places = next((logprobs[key] for key in ("content", "top_logprobs") if isinstance(logprobs.get(key), list)), None)
    if places is None:
        return None
    if not places:
        raise GaveUpError("no token", "an answer of no token at all")
    first = places[0]
    if isinstance(first, dict) and "logprob" in first:
        first = first.get("top_logprobs") or [first]
    return list(_pairs(first))


def _pairs(tokens: Any) -> Iterator[tuple[str, float]]:
    """Yield the pairs of either form but those of the probability 0."""
    if isinstance(tokens, dict):
        tokens = [{"token": token, "logprob": logprob} for token, logprob in tokens.items()]
    if not isinstance(tokens, list):
        raise GaveUpError(MALFORMED, f"log-probabilities in the form of {tokens!r}"[:_SHOWN])
    for entry in tokens:
        token = entry.get("token") if isinstance(entry, dict) else None
        if isinstance(token, str) and (logprob := _logprob(entry.get("logprob"))) > -math.inf:
            yield token, logprob


def _logprob(value: Any) -> float:
    try:
        logprob = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:  # JSON has integers of any size
        logprob = math.nan
    if not logprob <= _ROUNDING:
        raise GaveUpError(MALFORMED, f"a log-probability of {str(value)[:40]}")
    return min(logprob, 0.0)


def logprob_of(answer: str, tokens: Sequence[tuple[str, float]]) -> float | None:
    """Return the log-probability of an answer, with or without white space around it; None if it is missing."""
    found = [logprob for token, logprob in tokens if token.strip(_SPACES) == answer.strip()]
    if not found:
        return None
    top = max(found)
    return top + math.log(sum(math.exp(logprob - top) for logprob in found))


def joined(text: str) -> str:
    """Put halves of surrogate pairs together, and the replacement character for lone ones, which no JSON may hold."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _start(body: bytes) -> str:
    return repr(body[:_SHOWN].decode("utf-8", "replace"))
