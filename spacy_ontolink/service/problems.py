"""What goes wrong, as RFC 9457 has it: a status, one sentence, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from ..errors import DataError, Errors, LLMError, OntolinkError

MEDIA_TYPE = "application/problem+json"
_SHOWN = 10


class Problem(Exception):
    """A request, or one of its documents, that cannot be answered."""

    def __init__(self, status: int, detail: str, retry_after: int | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail, self.retry_after, self.more = status, detail, retry_after, more

    def fields(self) -> dict[str, Any]:
        """Return it as plain values."""
        title = HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, **self.more}

    def response(self, headers: Mapping[str, str] | None = None) -> Response:
        """Return it as a response; ``Retry-After`` says when to ask again, where that may help."""
        headers = dict(headers or {})
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        return Response(json.dumps(self.fields()), self.status, headers, MEDIA_TYPE)


def problem_of(error: Exception) -> Problem:
    """Make a problem of what was raised while documents were linked; messages of foreign errors may hold their text."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, LLMError):
        return Problem(503, str(error), retry_after=10)
    if isinstance(error, OntolinkError):
        return Problem(422 if isinstance(error, DataError) else 500, str(error))
    return Problem(500, Errors.DOCUMENT_FAILED.format(kind=type(error).__name__))


def where(error: BaseException) -> str:
    """Say what was raised and at which line; its message is left out, since it may quote a document."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f", {trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{place}"


def refusal(error: RequestValidationError) -> Problem:
    """Make a problem of a body that is not JSON, or not what it should be."""
    errors: Sequence[Mapping[str, Any]] = error.errors()
    for one in errors:
        if one["type"] == "json_invalid":
            reason = f"{one.get('ctx', {}).get('error', 'malformed')} at character {one['loc'][-1]}"
            return Problem(400, Errors.NOT_JSON.format(reason=reason))
        if tuple(one["loc"]) == ("body",) and one["type"] in ("missing", "model_attributes_type"):
            return Problem(422, Errors.NOT_AN_OBJECT)
    listed = [
        {"where": ".".join(map(str, one["loc"][1:])) or "body", "what": one["msg"].removeprefix("Value error, ")}
        for one in errors[:_SHOWN]
    ]
    first = listed[0]
    more = Errors.MORE_ERRORS.format(n=len(errors) - 1) if len(errors) > 1 else ""
    return Problem(422, f"{first['where']}: {first['what']}{more}", errors=listed)
