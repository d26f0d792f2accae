"""``ontolink serve``: a pipeline behind HTTP."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .mentions import Mentions
from .options import Pipeline

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..service.app import Service
    from ..service.settings import Limits

logger = logging.getLogger(__name__)


def serve(
    pipeline: Pipeline,
    host: Annotated[str, typer.Option(help="Address to listen on; only this machine can reach the default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    mentions: Annotated[
        Mentions | None,
        typer.Option(
            help="Where mentions come from in documents that are sent without any [default: the pipeline's entities, "
            "else names of the ontology]"
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Most documents to link together.")] = 64,
    batch_wait: Annotated[float, typer.Option(min=0, help="Milliseconds to wait for other requests.")] = 5.0,
    queue: Annotated[int, typer.Option(min=1, help="Most documents that wait; over it, 429.")] = 1024,
    max_documents: Annotated[int, typer.Option(min=1, help="Most documents in a request.")] = 256,
    max_body: Annotated[int, typer.Option(min=1, help="Most bytes of a request.")] = 1_000_000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to answer a request.")] = 30.0,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name in the header Host to answer to, beside those of this machine; may be given several times "
            "[default: any, if --host is not of this machine]",
        ),
    ] = None,
) -> None:
    """Answer requests over HTTP.

    The paths are /link, /search, /health, /metrics, and /docs about them.
    """
    from ..errors import Warnings, require
    from .console import say, seconds
    from .pipelines import load_pipeline

    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, "serve", "'ontolink serve'")
    from ..service.app import make_app
    from ..service.server import address_of, bind, serve
    from ..service.settings import Limits

    start = time.perf_counter()
    with bind(host, port) as bound:  # before the pipeline, which may take long to open
        address, only_here = address_of(bound)
        names = frozenset(map(str.lower, allow_host or ())) if allow_host or only_here else None
        limits = Limits(batch_size, batch_wait / 1000, queue, max_documents, max_body, timeout, names)
        service = make_service(load_pipeline(pipeline), pipeline, mentions, limits)
        if not only_here:
            logger.warning(Warnings.EXPOSED.format(address=address))
        opened = seconds(time.perf_counter() - start)
        app = make_app(service, f"ontolink: {Path(pipeline).name}")
        ready = f"{pipeline} opened in {opened}; {address}/docs (Ctrl-C stops)"
        # Every request is answered within its time limit, so a little more is enough for those that run.
        serve(app, bound, timeout + 1, ready=lambda: say(ready))
    say("Stopped.")


def make_service(nlp: Language, pipeline: str, mentions: Mentions | None, limits: Limits) -> Service:
    """Make a service of a pipeline, and link a word with it, so that the first request finds everything loaded."""
    from ..documents import SPANS_KEY
    from ..service.app import Service
    from ..service.linking import Item, Linker
    from .mentions import choose, finder, run
    from .pipelines import adjust, own_label, retriever, retrievers

    mentions = mentions or choose(nlp, False)
    key, find = finder(nlp, mentions, pipeline)
    adjust(nlp, spans_key=SPANS_KEY, k=1)

    def link(docs: Iterable[Doc]) -> Iterator[Doc]:
        return run(nlp, docs, _unless_given(find, key), batch_size=limits.batch_size)

    facts = facts_of(nlp, pipeline, mentions)
    linker = Linker(nlp, link, own_label(retriever(nlp)))
    linker([Item("warm", 1, whole=True)])
    components: list[Any] = [nlp.get_pipe(name) for name in retrievers(nlp)]
    k = min(component.settings.k for component in components)
    return Service(linker, k, facts, limits)


def _unless_given(find: Callable[[Doc], None], key: str | None) -> Callable[[Doc], None]:
    """Return what finds the mentions of documents that came without; all mentions end up in one group."""
    from ..documents import SPANS_KEY

    def find_missing(doc: Doc) -> None:
        if SPANS_KEY not in doc.spans:
            find(doc)
            if key is None:
                doc.spans[SPANS_KEY] = list(doc.ents)

    return find_missing


def facts_of(nlp: Language, pipeline: str, mentions: str) -> dict[str, Any]:
    """Say what a pipeline links to: for each retriever its knowledge base and encoder."""
    from .pipelines import retrievers

    components: dict[str, Any] = {name: nlp.get_pipe(name) for name in retrievers(nlp)}
    spaces = {name: component.space for name, component in components.items()}
    return {
        "pipeline": {"name": Path(pipeline).name, "version": nlp.meta["version"], "components": list(nlp.pipe_names)},
        "mentions": mentions,
        "knowledge_bases": {
            name: {
                "name": space.kb.name,
                "hash": space.kb.hash,
                "entities": len(space.kb),
                "names": space.kb.n_names,
                "encoder": space.encoder.id,
            }
            for name, space in spaces.items()
        },
    }
