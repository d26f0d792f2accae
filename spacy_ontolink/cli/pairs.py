"""``ontolink pairs``: training data from an unlabelled corpus."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .corpora import CorpusMentions
from .options import From, Pipeline

if TYPE_CHECKING:
    from spacy.language import Language

    from ..kb import KnowledgeBase
    from ..training.corpus import MentionFile
    from .alias_mentions import Search
    from .pair_aliases import Gathered

Setting = Literal["none", "gen-unfiltered", "gen", "synonym", "gen+synonym", "p1+synonym", "p2+synonym"]
Ambiguous = Literal["keep", "drop", "split"]
REPORT = "report.json"


def pairs(
    pipeline: Pipeline,
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="Text, or a corpus of any format, without labels.")],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="Folder for pairs.jsonl, pairs.spacy, aliases.jsonl and report.json; a run that was stopped goes on.",
        ),
    ],
    setting: Annotated[
        Setting, typer.Option(help="What mentions may equal: names (p1), generated aliases (p2), both (gen), synonyms.")
    ],
    llm: Annotated[
        str | None,
        typer.Option(
            help="What generates aliases: openai:MODEL@ENDPOINT, transformers:FOLDER_OR_NAME, llamacpp:FILE.gguf, or a "
            ".cfg or .json file with an @ontolink_llms block."
        ),
    ] = None,
    domain: Annotated[str, typer.Option(help="The field of the ontology, for the language model.")] = "science",
    tau: Annotated[float, typer.Option(min=0, max=1, help="Least similarity of an alias and its entity's name.")] = 0.9,
    seed: Annotated[int, typer.Option(help="Chooses the examples in the prompt.")] = 0,
    mentions: Annotated[
        CorpusMentions | None,
        typer.Option(
            help="Where mentions come from [default: the corpus, if one of its first 64 documents has any, else the "
            "pipeline's entities, else names]"
        ),
    ] = None,
    spans_key: Annotated[
        str | None, typer.Option(help="Span group: of a .spacy corpus, or with --mentions spans of the pipeline.")
    ] = None,
    whole_file: Annotated[bool, typer.Option("--whole-file", help="Text: one document, not one per line.")] = False,
    from_: From = None,
    ambiguous: Annotated[
        Ambiguous, typer.Option(help="A mention that fits several entities: a pair with each, none, or shared weight.")
    ] = "keep",
    encoder: Annotated[
        str | None, typer.Option(help="Judges aliases: lexical, or a folder or name [default: the pipeline's own]")
    ] = None,
    aliases: Annotated[
        Path | None, typer.Option(help="Aliases of another run, beside those of --llm or in their place.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the report here, too.")] = None,
    component: Annotated[
        str | None, typer.Option(help="The retriever to use, if the pipeline has several [default: the only one]")
    ] = None,
) -> None:
    """Make training pairs from an unlabelled corpus.

    Its mentions are paired with the entities that they name.
    """
    from ..errors import DataError, Errors
    from ..training.corpus import MentionFile
    from ..training.pair_table import skipped, table
    from .alias_mentions import Search
    from .console import count, say, seconds, track
    from .corpora import read_corpus
    from .pair_aliases import Wanted, gather
    from .pipelines import load_pipeline, only_retriever

    start = time.perf_counter()
    wanted = Wanted.checked(setting, llm, aliases, domain=domain, tau=tau, seed=seed, encoder=encoder)
    _check_free(out)
    nlp = load_pipeline(pipeline)
    space = only_retriever(nlp, component, pipeline).space
    read = partial(read_corpus, corpus, nlp, pipeline, spans_key=spans_key, whole_file=whole_file, format=from_)
    how, documents = read(mentions=mentions)
    with _folder(out), MentionFile(out) as found:
        found.write(track(documents, f"Finding mentions ({how})"))
        by_alias = how == "dictionary" and aliases is not None  # they may be there where no name is
        if not len(found) and not by_alias:
            hint = " Find some with another --mentions."
            raise DataError(Errors.NO_MENTIONS.format(path=corpus, verb="pair", hint=hint))
        gathered = gather(space, found, wanted, out)
        names = {"pipeline": Path(pipeline).name, "corpus": corpus.name, "setting": setting, "ambiguous": ambiguous}
        search = Search(found, how, corpus, lambda texts: read(mentions="dictionary", others=texts)[1], out)
        result = {**names, "mentions": {}, **gathered.facts}
        result |= _pair(out, search, gathered, setting, ambiguous, space.kb, nlp)
        _save(result, out / REPORT, report)
    say(table(result))
    if not result["pairs"]["total"] and setting != "none":
        reasons = "; ".join(skipped(result))
        total = count(result["mentions"]["total"], "mention")
        raise DataError(Errors.NO_PAIRS.format(path=corpus, mentions=total, reasons=reasons))
    say(f"{', '.join(result['files'])}, {REPORT}; {seconds(time.perf_counter() - start)} -> {out}")
    typer.echo(json.dumps(result, indent=2, ensure_ascii=False))


def _check_free(out: Path) -> None:
    """Raise unless the folder is new, empty, or that of an earlier run."""
    from ..atomic import is_empty
    from ..errors import ConfigError, Errors
    from .pair_aliases import ALIASES, ANSWERS, USAGE
    from .pair_files import PAIRS

    if out.exists() and not out.is_dir():
        raise ConfigError(Errors.OUT_IS_FILE.format(path=out))
    known = (PAIRS, ALIASES, ANSWERS, USAGE, REPORT)
    if out.exists() and not is_empty(out) and not any((out / name).is_file() for name in known):
        raise ConfigError(Errors.OUT_UNKNOWN.format(path=out))


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Make the folder, and take it away again if nothing came to be in it."""
    from ..atomic import naming_full_disk

    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with naming_full_disk(out):
            yield
    finally:
        if made and not any(out.iterdir()):
            out.rmdir()


def _mentions(found: MentionFile, search: Search) -> dict[str, Any]:
    by_name = {} if found is search.found else {"total_by_name": len(search.found)}
    return {
        "found_by": search.how,
        "documents": found.documents,
        "total": len(found),
        "distinct": len(found.texts),
        "with_gold": found.with_gold,
        **by_name,
    }


def _pair(
    out: Path,
    search: Search,
    gathered: Gathered,
    setting: Setting,
    ambiguous: Ambiguous,
    kb: KnowledgeBase,
    nlp: Language,
) -> dict[str, Any]:
    """Make and write the pairs; return what there is to report of them."""
    from ..training.pair_report import PairCounts, filter_effect
    from ..training.pairs import SETTINGS, Matcher, make_pairs
    from .console import track
    from .pair_files import write_pairs

    recipe = SETTINGS[setting]
    every = [judged.alias for judged in gathered.aliases]
    kept = [judged.alias for judged in gathered.aliases if judged.kept]
    texts = [list(dict.fromkeys(alias.text for alias in some)) for some in (every, kept)]
    counts = PairCounts(kb.resolve)
    with ExitStack() as stack:
        before = stack.enter_context(search.including(texts[0], "all aliases"))
        same = texts[0] == texts[1]
        after = before if same else stack.enter_context(search.including(texts[1], "aliases that were kept"))
        used, found = (kept, after) if recipe.filtered else (every, before)
        stream = make_pairs(track(found, "Pairing"), Matcher(kb, recipe.sources, used), setting, ambiguous)
        files = write_pairs(out, counts.watch(stream), nlp)
        result: dict[str, Any] = {"mentions": _mentions(found, search)}
        result |= {"pairs": counts.facts(), "accuracy": counts.accuracy()}
        if recipe.generates:
            result["filter_effect"] = filter_effect(kb, (before, every), (after, kept), ambiguous)
    result["skipped"] = {
        "blank_mentions": found.blank,
        **gathered.skipped,
        "mentions_that_fit_nothing": counts.unmatched,
        "ambiguous_mentions": counts.ambiguous if ambiguous == "drop" else 0,
    }
    return {**result, "files": [*files, *gathered.files]}


def _save(result: dict[str, Any], *paths: Path | None) -> None:
    from ..files import replacing, write_json

    for path in filter(None, paths):
        with replacing(path) as scratch:
            write_json(scratch, result)
