"""What an error of the OpenAI client means: try again, give this item up, or give up altogether; never with the key."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from ..errors import Errors, LLMError
from .replies import MALFORMED
from .retrying import UNREACHABLE, GaveUpError

NO_CONNECTION, NO_TIME = UNREACHABLE
_PASSING = {408, 409, 425, 429}  # and all from 500
_HINTS = {
    401: "Set the environment variable {variable} to a key that it takes",
    403: "Set the environment variable {variable} to a key that may use this model",
    404: "Check the model's name, and whether the endpoint should end in /v1",
}
_HOPELESS = {"model_not_found", "invalid_api_key", "insufficient_quota", "unsupported_parameter", "unsupported_value"}
_TRANSPORT = {"httpx", "httpx2", "httpcore", "httpcore2", "ssl"}
_LONGEST, _READ = 300, 10_000  # characters of what a server says: told, and looked at
_SHORTEST_KEY = 5  # letters; shorter ones are placeholders, and words of every message
_BEGINNING = 8  # letters of a key that are taken out without the rest: servers quote keys as "sk-abcde****"


def redact(text: str, key: str) -> str:
    """Put text on one line, without the key or a beginning of it, also where it is escaped as in JSON."""
    text = text[:_READ]
    if len(key) >= _SHORTEST_KEY:
        letters = [rf"(?:\\?{re.escape(letter)}|\\u(?i:{ord(letter):04x}))" for letter in key]
        beginning = re.compile("".join(letters[:_BEGINNING]))
        while match := beginning.search(text):
            end = match.end()
            for letter in letters[_BEGINNING:]:
                if (more := re.compile(letter).match(text, end)) is None:
                    break
                end = more.end()
            text = f"{text[: match.start()]}***{text[end:]}"
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def explain(error: Exception, endpoint: str, model: str, variable: str, key: str) -> Exception:
    """Return what to raise instead: ``GaveUpError`` for an item, ``LLMError`` for all, or an unknown error itself."""
    import openai

    reason = redact(_describe(error), key)
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        if status in _HINTS or _code(error) in _HOPELESS:
            hint = _HINTS.get(status, "Settings that it does not know can be set to null in extra_body")
            hint = hint.format(variable=variable) + "."
            return LLMError(Errors.LLM_REFUSED.format(endpoint=endpoint, model=model, reason=reason, hint=hint))
        again = status in _PASSING or status >= 500
        return GaveUpError(f"status {status}", reason, again=again, after=_retry_after(error) if again else 0.0)
    if "Timeout" in type(error).__name__:
        return GaveUpError(NO_TIME, reason, again=True)
    if isinstance(error, openai.APIConnectionError | OSError) or type(error).__module__.split(".")[0] in _TRANSPORT:
        return GaveUpError(NO_CONNECTION, reason, again=True)
    return GaveUpError(MALFORMED, reason) if isinstance(error, openai.OpenAIError) else error


def _describe(error: BaseException) -> str:
    """Return the server's own words, or those of the first cause."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    status = getattr(error, "status_code", None)
    if status is not None:
        return f"{status}: {said or body or 'no reason given'}"
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _code(error: Exception) -> str:
    body = getattr(error, "body", None)
    code = body.get("code") if isinstance(body, dict) else None
    return str(code or getattr(error, "code", None))


def _retry_after(error: Any) -> float:
    """Return the seconds that a server asks to wait, given as such or as a date; 0 if it does not ask."""
    headers: Mapping[str, str] = error.response.headers
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
