"""``ontolink build``: ontology files in, a saved spaCy pipeline out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .reading import COLUMNS_HELP, OPTION_HELP, READING, OntologyFormat, reading_settings

if TYPE_CHECKING:
    from spacy.language import Language

Index = Literal["auto", "exact", "inverted", "hnsw", "ivf"]
_SETTINGS = (
    "encoder",
    "hybrid",
    "weight",
    "definitions",
    "index",
    "store",
    "pooling",
    "name_pooling",
    "k",
    "spans_key",
    "labels",
    "filter",
    "threshold",
    "base_model",
    "lang",
)


def build(
    ontologies: Annotated[
        list[Path],
        typer.Argument(
            metavar="ONTOLOGY", help="OBO, OBO Graphs, OWL, SKOS, CSV/TSV, JSONL, UMLS, MeSH or SNOMED CT; also .gz."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write the pipeline to.")],
    encoder: Annotated[
        str, typer.Option(help="lexical, a folder with a trained encoder, or the name of a model on Hugging Face.")
    ] = "lexical",
    hybrid: Annotated[bool, typer.Option("--hybrid", help="Lexical and --encoder together.")] = False,
    weight: Annotated[float, typer.Option(min=0, max=1, help="Share of the dense part with --hybrid.")] = 0.6,
    definitions: Annotated[
        bool,
        typer.Option("--definitions", help="Compare mentions with definitions, too: higher recall at twice the cost."),
    ] = False,
    index: Annotated[
        Index,
        typer.Option(help="exact; approximate: inverted for lexical, hnsw and ivf for dense vectors; auto: by size."),
    ] = "auto",
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URI[#TABLE]", help="Keep dense vectors in this LanceDB folder or bucket, which pipelines share."
        ),
    ] = None,
    pooling: Annotated[float, typer.Option(min=0, help="Weight of parents and children in an entity's rows.")] = 0.0,
    name_pooling: Annotated[float, typer.Option(min=0, help="Weight of an entity's other names in its rows.")] = 0.5,
    k: Annotated[int, typer.Option("-k", min=1, help="Candidates for each mention.")] = 64,
    spans_key: Annotated[str | None, typer.Option(help="Link this span group [default: doc.ents]")] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL,…", help="Link only mentions of these labels; may be repeated [default: all]"),
    ] = None,
    filter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=ID,…",
            help="Link only to entities of these branches, prefixes or types, such as branches=HP:0000118; may be "
            "repeated.",
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=-1, max=1, help="A best candidate of a lower score gives NIL [default: none]")
    ] = None,
    base_model: Annotated[
        str | None, typer.Option(help="Add the retriever to this pipeline, such as one that finds entities.")
    ] = None,
    lang: Annotated[str, typer.Option(help="Language of the tokeniser, without --base-model.")] = "en",
    format: Annotated[OntologyFormat | None, typer.Option(help="[default: by content and name]")] = None,
    columns: Annotated[str | None, typer.Option(help=COLUMNS_HELP)] = None,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first clause that is wrong.")] = False,
    names: Annotated[
        list[Path] | None,
        typer.Option(
            help="Annotated mentions (JSONL) to add as names, with how often each was meant; may be repeated."
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="spaCy config with all settings in place of those above, or the name of one of the library's; its "
            "kb_loader reads the ONTOLOGY."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT.")] = False,
    context: typer.Context = None,  # type: ignore[assignment]  # none when called from Python
) -> None:
    """Build a pipeline that links to one or more ontologies."""
    from ..errors import DataError, Errors
    from .building import check_parts, configured_loaders, fill, read_all
    from .configs import find_config
    from .console import bar, step
    from .pipelines import check_free

    start = time.perf_counter()
    config = find_config(config) if config else None
    for path in [*ontologies, *(names or []), *([config] if config else [])]:
        if not path.exists():
            raise DataError(Errors.FILE_MISSING.format(path=path))
    check_free(out, overwrite)
    if config:
        _refuse(context, _SETTINGS, f"--config {config}")
    block = describe_encoder(encoder, hybrid, weight)
    if definitions:
        block = {"@ontolink_encoders": "spacy-ontolink.DefinitionEncoder.v1", "encoder": block}
    parts = {"encoder": block, "index": _index(index, store)}
    settings = {
        **{"k": k, "pooling": pooling, "name_pooling": name_pooling, "spans_key": spans_key, "threshold": threshold},
        **{"labels": _listed(labels) or None, "filters": _filters(filter), **parts},
    }
    with step("Setting the pipeline up"):
        nlp = _from_config(config, ontologies) if config else _pipeline(base_model, lang, settings)
        check_parts(nlp)
        loaders = configured_loaders(nlp, config)
    if loaders:
        _refuse(context, (*READING, "names"), f"the kb_loader of --config {config}")
    reading = {**reading_settings(format, columns, option, strict), "names": [str(path) for path in names or ()]}
    with step(f"Reading {', '.join(path.name for path in ontologies)}"):
        kbs = read_all(nlp, ontologies, loaders, reading)
    total = sum({id(kb): kb.n_names for kb in kbs.values()}.values())
    with bar(f"Encoding and indexing {total:,} names") as report:
        fill(nlp, kbs, ontologies, report)
    with step(f"Saving {out}"):
        _save(nlp, out)
    _summarise(nlp, out, time.perf_counter() - start)


def _refuse(context: typer.Context | None, names: Sequence[str], other: str) -> None:
    """Raise if one of these options was given: something else says it."""
    from ..errors import ConfigError, Errors

    given = [name for name in names if context and context.get_parameter_source(name).name == "COMMANDLINE"]  # type: ignore[union-attr]
    if given:
        options = ", ".join(f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}" for name in given)
        reason = "set it in the config, or build without one"
        raise ConfigError(Errors.ONE_OR_OTHER.format(one=options, other=other, reason=reason))


def describe_encoder(name: str, hybrid: bool, weight: float) -> dict[str, Any]:
    """Return the config block of an encoder: the default one, a sentence encoder or a trained one, or a hybrid of two.

    Raises:
        ConfigError: A hybrid of the lexical encoder alone.
    """
    from ..encoders.learned import is_model
    from ..errors import ConfigError, Errors

    counted = {"@ontolink_encoders": "spacy-ontolink.LexicalEncoder.v1"}
    lexical = {"@ontolink_encoders": "spacy-ontolink.SynonymEncoder.v1", "encoder": counted}
    kind = "NgramEncoder" if is_model(name) else "SentenceEncoder"
    dense = {"@ontolink_encoders": f"spacy-ontolink.{kind}.v1", "model": name}
    if name == "lexical":
        if hybrid:
            reason = "give the dense part, a folder or name of a sentence encoder, with --encoder"
            raise ConfigError(Errors.ONE_OR_OTHER.format(one="--hybrid", other="--encoder lexical", reason=reason))
        return lexical
    parts: dict[str, Any] = {"lexical": lexical, "dense": dense, "weight": weight}
    if kind == "SentenceEncoder":  # the other is trained on the ontology's synonyms already
        parts["dense"] = {"@ontolink_encoders": "spacy-ontolink.AlignedEncoder.v1", "encoder": dense}
    return {"@ontolink_encoders": "spacy-ontolink.HybridEncoder.v1", **parts} if hybrid else dense


def _listed(texts: Sequence[str] | None) -> list[str]:
    return [value.strip() for text in texts or () for value in text.split(",") if value.strip()]


def _filters(texts: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Read filters such as ``branches=HP:0000118,HP:0012823``.

    Raises:
        ConfigError: There is no such kind, or no id.
    """
    from ..components.settings import FILTER_KEYS
    from ..errors import ConfigError, Errors

    filters: dict[str, list[str]] = {}
    for text in texts or ():
        kind, _, ids = text.partition("=")
        if kind not in FILTER_KEYS or not _listed([ids]):
            raise ConfigError(Errors.BAD_FILTER.format(text=text, kinds=", ".join(FILTER_KEYS)))
        filters.setdefault(kind, []).extend(_listed([ids]))
    return filters or None


def _index(kind: Index, store: str | None) -> dict[str, Any]:
    from ..errors import ConfigError, Errors

    if store is not None:
        if kind != "auto":
            reason = "the store searches in its own way"
            raise ConfigError(Errors.ONE_OR_OTHER.format(one="--store", other=f"--index {kind}", reason=reason))
        uri, _, table = store.partition("#")
        named = {"table": table} if table else {}
        uri = uri if "://" in uri else str(Path(uri).absolute())
        return {"@ontolink_indexes": "spacy-ontolink.LanceIndex.v1", "uri": uri, **named}
    if kind in ("hnsw", "ivf"):
        return {"@ontolink_indexes": "spacy-ontolink.FaissIndex.v1", "kind": kind}
    return {"@ontolink_indexes": f"spacy-ontolink.{kind.capitalize()}Index.v1"}


def _pipeline(base_model: str | None, lang: str, settings: dict[str, Any]) -> Language:
    import spacy

    from ..errors import ConfigError, Errors
    from .pipelines import RETRIEVER, retrievers

    try:
        nlp = spacy.load(base_model) if base_model else spacy.blank(lang)
    except (OSError, ImportError) as error:
        raise ConfigError(Errors.NO_BASE.format(name=base_model or lang, reason=error)) from error
    if retrievers(nlp):
        raise ConfigError(Errors.NO_BASE.format(name=base_model, reason=f"it has an {RETRIEVER} already"))
    nlp.add_pipe(RETRIEVER, config=settings)
    return nlp


def _from_config(path: Path, ontologies: Sequence[Path]) -> Language:
    from spacy.util import load_config, load_model_from_config

    from ..errors import ConfigError, Errors, OntolinkError
    from .building import set_paths
    from .pipelines import RETRIEVER, bad_block, retrievers

    try:
        config = load_config(path, interpolate=False)
        set_paths(config, ontologies)
        nlp = load_model_from_config(config, auto_fill=True)
    except OntolinkError:
        raise
    except (ValueError, KeyError) as error:
        if isinstance(error, ValueError) and (wrong := bad_block(path, error)):
            raise wrong from error
        raise ConfigError(Errors.BAD_CONFIG.format(path=path, reason=error)) from error
    if not retrievers(nlp):
        raise ConfigError(Errors.BAD_CONFIG.format(path=path, reason=f"no component of the factory {RETRIEVER}"))
    return nlp


def _save(nlp: Language, out: Path) -> None:
    from ..files import replacing

    with replacing(out) as path:
        nlp.to_disk(path)


def _summarise(nlp: Language, out: Path, duration: float) -> None:
    from .console import count, say, seconds, size_of
    from .pipelines import retriever

    space = retriever(nlp).space
    counts = {
        "entity": len(space.kb),
        "name": space.kb.n_names,
        "row": len(space.rows.owner),
        "warning": sum(space.kb.statistics()["problems"].values()),
    }
    parts = [count(number, noun, "entities" if noun == "entity" else "") for noun, number in counts.items()]
    if stopped := space.kb.statistics()["stop_synonyms"]:
        parts.append(f"{count(sum(stopped.values()), 'synonym')} left out as shared by dozens of entities")
    index = space.index.describe()
    found = f", recall@64 {index['recall']}" if index.get("recall") not in (None, 1) else ""
    say(f"{', '.join(parts)}; {index['kind']} index{found}; {size_of(out)}, {seconds(duration)} -> {out}")
