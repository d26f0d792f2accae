"""A race against the peers: one ontology, one set of mentions and one machine for all, each method in its own process.

    python benchmarks/race.py WORK --minilm WEIGHTS

The folder WORK gets the environments of the peers, what they read and what they found. A run that is there already is
not repeated, so a long race may be stopped and taken up again; ``--sets`` and ``--only`` choose what is run now, and
every call scores all that there is. A peer that wants another Python takes ``pythonX.Y`` from the PATH. Linux only.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from common import HERE, parser, save
from racing import IN_DOCUMENTS, SURFACE
from racing.environments import PEERS, CannotInstall, python_of
from racing.scoring import LEVEL, difference, hits
from racing.sets import SEED, SETS, SHARE, WITH_TEXT, RaceSet, write_set

OURS = [f"{name}{surface}" for name in ("lexical", "hybrid, MiniLM") for surface in ("", SURFACE)]
METHODS = {
    "ontolink": [f"ontolink {name}{where}" for where in ("", IN_DOCUMENTS) for name in OURS],
    "scispacy_ngrams": ["scispaCy, new index", "scispaCy, opened", f"scispaCy{IN_DOCUMENTS}"],
    "gilda_grounder": ["gilda"],
    "tfidf_topn": ["TF-IDF char-3, exact"],
    "bm25s_ranking": ["bm25s char-3", "bm25s stems"],
    "rapidfuzz_cdist": ["rapidfuzz token_sort", "rapidfuzz ratio"],
    "simstring_trigrams": ["SimString, cosine 0.5"],
    "tantivy_search": ["tantivy stems"],
    "plain_minilm": ["MiniLM, exact"],
}
FRESH = dict.fromkeys(("scispaCy", "scispaCy, opened"), "scispaCy, new index")  # whose files these open
LIMIT = 900
FAR = 1.5  # a run that would take so many times the limit, going by the set before, is not started
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


def result_path(folder: Path, method: str) -> Path:
    """Return where a method's result for a set belongs."""
    return folder / "results" / (re.sub(r"[^A-Za-z0-9]+", "-", method).strip("-") + ".json")


def run(python: Path, peer: str, method: str, folder: Path, args: Any) -> dict[str, Any]:
    """Run a method in a process of its own; return what it wrote, or what went wrong."""
    out = result_path(folder, method)
    out.parent.mkdir(exist_ok=True)
    out.with_suffix(".built").unlink(missing_ok=True)
    command = [python, HERE / "racing" / "harness.py", PEERS / f"{peer}.py", method, folder, out, args.limit]
    environment = {**os.environ, **ONE_THREAD, "TOKENIZERS_PARALLELISM": "false", "RACE_MINILM": str(args.minilm)}
    with out.with_suffix(".log").open("w", encoding="utf-8") as log:
        code = subprocess.run(list(map(str, command)), env=environment, stdout=log, stderr=log, check=False).returncode
    if code == -signal.SIGXCPU:
        built = out.with_suffix(".built")
        facts = json.loads(built.read_text("utf-8")) if built.exists() else {}
        return {**facts, "problem": f"{'search' if facts else 'build'} over the limit of {args.limit} CPU-s"}
    if code:
        said = out.with_suffix(".log").read_text("utf-8").strip().splitlines()
        return {"problem": said[-1][:200] if said else f"exit code {code}"}
    return json.loads(out.read_text("utf-8"))


def foreseen(before: tuple[RaceSet, dict[str, Any]] | None, now: RaceSet, limit: float) -> str:
    """Say why a run need not be started: it would be far over the limit, going by the set before."""
    if before is None or "problem" in before[1]:
        return ""
    then, facts = before
    names = now.n_names / then.n_names
    texts = len(now.texts) / len(then.texts)
    for part, times in (("build", names), ("search", names * texts)):
        if (expected := facts[f"{part}_cpu"] * times) > FAR * limit:
            return f"{part} over the limit of {limit} CPU-s (not started: about {expected:,.0f})"
    return ""


def measured(race_set: RaceSet, facts: dict[str, Any], built: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the figures of a result, and which mentions were hit; with ``built``, what was built before it."""
    places = race_set.place if facts["documents"] else race_set.text_of
    hit = hits([facts["found"][place] for place in places], race_set.gold)
    n_looked_up = len(facts["found"])
    return {
        "build_cpu": facts["build_cpu"] + built.get("build_cpu", 0.0),
        "opened": bool(built),
        "per_cpu_second": n_looked_up / max(facts["search_cpu"], 0.001),
        "peak_mb": max(facts["peak_mb"], built.get("peak_mb", 0.0)),
        "search_mb": facts["peak_mb"],
        **{f"recall_at_{depth}": float(values.mean()) for depth, values in hit.items()},
    }, hit


def rows_of(name: str, race_set: RaceSet, results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Score all results of a set, and compare each peer with each of ours."""
    figures, hit = {}, {}
    for method, facts in results.items():
        if "problem" not in facts:
            figures[method], hit[method] = measured(race_set, facts, results.get(facts["after"] or "", {}))
    rows = []
    for method, facts in results.items():
        row = {"set": name, "method": method, "n": len(race_set.gold), "n_texts": len(race_set.texts),
               "n_names": race_set.n_names, "versions": facts.get("versions", {})}  # fmt: skip
        if method not in figures:
            rows.append({**row, "problem": facts["problem"]})
            continue
        ours = [other for other in figures if other.startswith("ontolink") and other != method]
        against = {
            other: {
                f"recall_at_{at}": difference(hit[other][at], hit[method][at], race_set.document) for at in hit[method]
            }
            for other in ([] if method.startswith("ontolink") else ours)
        }
        rows.append({**row, **figures[method], "ours_minus_this": against})
    return rows


def main() -> None:
    """Run what is asked for and was not run yet, score everything, save."""
    made = parser(__doc__)
    made.add_argument("work", type=Path, help="folder for environments and runs; may be used again")
    made.add_argument("--minilm", type=Path, help="folder of MiniLM's weights; without it, what needs it is left out")
    made.add_argument("--sets", choices=SETS, nargs="*", default=[*SETS], help="sets to run now")
    made.add_argument("--only", nargs="*", default=[""], help="run now only methods with one of these in their name")
    made.add_argument("--limit", type=int, default=LIMIT, help="CPU-seconds allowed for a build, and for a search")
    args = made.parse_args()
    args.work = args.work.resolve()
    rows: list[dict[str, Any]] = []
    before: dict[str, tuple[RaceSet, dict[str, Any]]] = {}
    for name in SETS:
        folder = args.work / "sets" / name
        if not (folder.exists() or name in args.sets):
            continue
        race_set = write_set(name, args.data, folder)
        results: dict[str, dict[str, Any]] = {}
        for peer, methods in METHODS.items():
            for method in methods:
                if (IN_DOCUMENTS in method and name not in WITH_TEXT) or ("MiniLM" in method and not args.minilm):
                    continue
                path = result_path(folder, method)
                if path.exists():
                    results[method] = json.loads(path.read_text("utf-8"))
                elif name in args.sets and any(text in method for text in args.only):
                    results[method] = attempt(peer, method, race_set, before.get(method), results, args)
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(json.dumps(results[method]), "utf-8")
                    said = {key: value for key, value in results[method].items() if key != "found"}
                    sys.stderr.write(f"{name:14} {method:36} {said}\n")
                if method in results:
                    before[method] = (race_set, results[method])
        rows += rows_of(name, race_set, results)
    save("race", "python benchmarks/race.py WORK --minilm WEIGHTS --data FOLDER", rows, seed=SEED, share=SHARE,
         limit=args.limit, level=LEVEL)  # fmt: skip


def attempt(
    peer: str, method: str, race_set: RaceSet, before: Any, results: dict[str, dict[str, Any]], args: Any
) -> dict[str, Any]:
    """Run a method unless that is bound to fail; return its result, or why there is none."""
    opened = method.removesuffix(IN_DOCUMENTS).removesuffix(SURFACE)
    if problem := results.get(FRESH.get(opened, opened), {}).get("problem"):  # it would open what was not built
        return {"problem": problem}
    if reason := foreseen(before, race_set, args.limit):
        return {"problem": reason}
    try:
        return run(python_of(PEERS / f"{peer}.py", args.work / "environments"), peer, method, race_set.folder, args)
    except CannotInstall as error:
        return {"problem": f"would not install: {error}"}


if __name__ == "__main__":
    main()
