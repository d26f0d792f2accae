"""The application: four paths and a page about them."""

# No "from __future__ import annotations" here: FastAPI reads the annotations of its functions at run time.
import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import Errors
from .batching import Batcher, Job, QueueFullError
from .gate import ClientGone, Gate, busy
from .linking import Item, Linked, Linker
from .metrics import CONTENT_TYPE, Metrics
from .page import page
from .problems import MEDIA_TYPE, Problem, problem_of, refusal
from .schema import LinkRequest, LinkResponse, ProblemFields, SearchRequest, SearchResponse
from .settings import Limits

PATHS = frozenset({"/link", "/search", "/health", "/metrics", "/docs", "/openapi.json"})
_LAST = 1.0
_STATUSES = {
    400: "The body is not JSON.",
    408: "The request did not arrive in time.",
    413: "The request is too large, or has too many documents.",
    421: "The server does not answer to the name in the header `Host`.",
    422: "The request is not what it should be; `detail` says where.",
    429: "The queue is full; `Retry-After` says when to ask again.",
    500: "The pipeline failed on every document.",
    503: "The server was too busy to begin in time, or a language model that it needs does not answer.",
    504: "The documents took too long.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {MEDIA_TYPE: {"schema": ProblemFields.model_json_schema()}}}
    for status, text in _STATUSES.items()
}


class Service:
    """A linker behind a queue.

    Args:
        linker: Links batches of documents.
        k: The most candidates that it gives a mention.
        facts: What ``/health`` tells.
        limits: Limits.
    """

    def __init__(self, linker: Linker, k: int, facts: Mapping[str, Any], limits: Limits) -> None:
        self.linker, self.k, self.facts, self.limits = linker, k, facts, limits
        self.metrics = Metrics()
        self.batcher: Batcher[Item, Linked] = Batcher(linker, lambda item: len(item.text), limits, self.metrics.batch)
        self.metrics.watch(self.batcher.__len__)

    async def answer(self, items: Sequence[Item], request: Request) -> list[Linked]:
        """Link items among those of other requests.

        Raises:
            Problem: There are too many, there is no room or no time for them, or each of them failed.
            ClientGone: The client went away.
        """
        what = "mentions" if items[0].whole else "documents"
        if len(items) > self.limits.documents:
            raise Problem(413, Errors.TOO_MANY.format(n=len(items), what=what, most=self.limits.documents))
        if items[0].k > self.k:
            raise Problem(422, Errors.K_TOO_HIGH.format(k=items[0].k, most=self.k))
        try:
            job = self.batcher.submit(items)
        except QueueFullError as error:
            raise busy(error.retry_after) from None
        try:
            rows = await self._results(job, request)
        finally:
            self.batcher.withdraw(job)  # what is left of it, if nobody waits any more
        failed = [row.problem for row in rows if row.problem]
        self.metrics.documents(len(rows) - len(failed), len(failed), sum(row.mentions for row in rows))
        if len(failed) == len(rows):
            raise failed[0]
        return rows

    async def _results(self, job: Job[Item, Linked], request: Request) -> list[Linked]:
        done: asyncio.Future[Any] = asyncio.wrap_future(job.done)
        gone: asyncio.Future[Any] = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait([done, gone], timeout=self.limits.timeout, return_when=asyncio.FIRST_COMPLETED)
            if done.done():
                return list(done.result())
        except Exception as error:
            raise problem_of(error) from error
        finally:
            gone.cancel()
            done.cancel()
        if gone.done() and not gone.cancelled():
            raise ClientGone
        if job.taken:
            raise Problem(504, Errors.NOT_IN_TIME.format(seconds=self.limits.timeout))
        retry_after = self.batcher.retry_after() or 1
        raise Problem(503, Errors.NOT_BEGUN.format(seconds=self.limits.timeout), retry_after=retry_after)


def make_app(service: Service, title: str) -> FastAPI:
    """Make the application of a service."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        # By now every request is answered or given up, so a worker that still works does so for nobody.
        await asyncio.to_thread(service.batcher.close, _LAST)

    started = time.time()
    about = "Gives mentions in text the ids of an ontology."
    app = FastAPI(title=title, version=__version__, description=about, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.add_middleware(
        Gate, limits=service.limits, metrics=service.metrics, busy=service.batcher.retry_after, paths=PATHS
    )

    @app.exception_handler(RequestValidationError)
    async def refuse(request: Request, error: RequestValidationError) -> Response:
        return refusal(error).response()

    @app.exception_handler(HTTPException)
    async def no_such_path(request: Request, error: HTTPException) -> Response:
        return Problem(error.status_code, str(error.detail)).response(error.headers)

    @app.post("/link", response_model=LinkResponse, responses=PROBLEMS)
    async def link(body: LinkRequest, request: Request) -> Response:
        """Link the mentions in texts, or in documents with mentions of their own.

        A document that cannot be linked has an `error` instead of `mentions`; the others are not affected.
        """
        documents = body.documents or ()
        items = [Item(text, body.k, str(number)) for number, text in enumerate(body.texts or (), start=1)] + [
            Item(
                document.text,
                body.k,
                str(document.id) or str(number),
                None if document.mentions is None else [one.model_dump() for one in document.mentions],
            )
            for number, document in enumerate(documents, start=1)
        ]
        return _listed("documents", await service.answer(items, request))

    @app.post("/search", response_model=SearchResponse, responses=PROBLEMS)
    async def search(body: SearchRequest, request: Request) -> Response:
        """Rank what mentions without a text around them may mean."""
        items = [Item(text, body.k, whole=True) for text in body.mentions]
        return _listed("mentions", await service.answer(items, request))

    @app.get("/health")
    async def health() -> JSONResponse:
        """Say that the pipeline is open, and what it links to."""
        return JSONResponse(
            {
                "status": "ready",
                "version": __version__,
                "uptime_seconds": round(time.time() - started),
                "waiting": len(service.batcher),
                **service.facts,
            }
        )

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Give counts and times to Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse("docs")  # relative, for proxies that put a path before it

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        return HTMLResponse(page(app.openapi(), str(request.base_url)))

    return app


async def _gone(request: Request) -> None:
    """Wait until the client goes away: the body was read, so nothing else can come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _listed(key: str, rows: Sequence[Linked]) -> Response:
    """Put the rows into a response as they are; checking them against their model would cost more than linking."""
    text = f'{{"{key}":[{",".join(row.json for row in rows)}]}}'
    # What the client sent along may hold half a character, which JSON allows and UTF-8 does not.
    return Response(text.encode("utf-8", "replace"), media_type="application/json")
