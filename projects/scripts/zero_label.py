"""Sci-ZSEL's experiment on one ontology: settings x strategies x seeds, each a cell of its own.

    python projects/scripts/zero_label.py OUT --ontology FILE --corpus FILE --test FILE [--settings gen synonym …] …

A cell trains a retriever on the pairs of its setting, then rerankers on its candidates, and writes what each reaches
on test mentions: OUT/<setting>/<strategy>/<seed>/{retriever,blink,res}.json. A cell that is there is left alone, so a
run that was stopped goes on. The ``ontolink`` command does the work; ``--dry`` prints what would be run. Rerankers
are trained for the strategies of ``--rerank`` only (the paper: PC-POS). Models are those of the last epoch. Weights are
taken away when a cell is measured unless ``--keep`` is given.

``--ngrams`` is for a small machine: in the place of two towers an encoder of n-grams, beside the lexical one, which
learns the ontology's synonyms before the pairs. ``none`` is then the lexical one alone.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
CONFIGS = HERE.parents[1] / "configs"
SETTINGS = ("none", "gen-unfiltered", "gen", "synonym", "gen+synonym", "p1+synonym", "p2+synonym")
STRATEGIES = ("BASE", "RM-PCS", "PC-POS")
SEEDS = (0, 42, 52313)
GENERATES = ("gen+synonym", "gen", "gen-unfiltered", "p2+synonym")
RERANKERS = {
    "blink": ("train_cross_encoder.cfg", "CrossEncoder"),
    "res": ("train_read_and_select.cfg", "ReadAndSelect"),
}


class Cell(NamedTuple):
    """One combination; a setting without training has one cell only."""

    setting: str
    strategy: str
    seed: int

    def folder(self, out: Path) -> Path:
        """Return where its measures are."""
        return out / self.setting / self.strategy / str(self.seed)


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Yield the combinations, those first that other ones take aliases from."""
    for setting in sorted(options.settings, key=lambda name: name != GENERATES[0]):
        if setting == "none":
            yield Cell("none", "-", 0)
            continue
        yield from (Cell(setting, strategy, seed) for strategy in options.strategies for seed in options.seeds)


class Runner:
    """Runs commands, or says what it would run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.out = options, options.out

    def run(self, *arguments: object) -> None:
        """Run a module of Python with arguments."""
        command = ["-m", *map(str, arguments)]
        self.say(f"python {shlex.join(command)}")
        if not self.options.dry:
            done = subprocess.run([sys.executable, *command], check=False)
            if done.returncode:  # it has said why
                sys.exit(done.returncode)

    def ontolink(self, *arguments: object) -> None:
        """Run the command line of this library."""
        self.run("spacy_ontolink", *arguments)

    def say(self, what: str) -> None:
        """Show what is done."""
        sys.stdout.write(f"$ {what}\n")
        sys.stdout.flush()

    def start(self) -> Path:
        """Return the two towers that all cells start from, made of a transformer unless they are two already."""
        from spacy_ontolink.encoders.bi_encoder import BiEncoder

        if self.options.ngrams:
            return self.start_lexical()
        towers = self.out / "base"
        if Path(self.options.base, "mention").is_dir():
            towers = Path(self.options.base)
        elif not towers.exists():
            self.say(f"two towers: {self.options.base} -> {towers}")
            if not self.options.dry:
                BiEncoder.untrained(self.options.base, towers)
        if not (self.out / "kb" / "meta.json").is_file():
            self.assemble(towers, self.out / "kb")
        return towers

    def start_lexical(self) -> Path:
        """Build the pipeline that a small machine starts from, and return it."""
        if not (self.out / "kb" / "meta.json").is_file():
            self.ontolink("build", self.options.ontology, self.out / "kb")
        return self.out / "kb"

    def assemble(self, towers: Path, out: Path) -> None:
        """Make a pipeline that only retrieves."""
        if self.options.ngrams:
            hybrid = ("--encoder", towers, "--hybrid", "--weight", 0.5, "--overwrite")
            self.ontolink("build", self.options.ontology, out, *hybrid)
            return
        paths = ("--paths.ontology", self.options.ontology, "--paths.bi_encoder", towers)
        self.run("spacy", "assemble", HERE / "bi_encoder.cfg", out, *paths, "--vars.tokens", self.options.tokens)

    def pairs(self, setting: str) -> Path:
        """Make the pairs of a setting, once; aliases of an earlier setting are used again."""
        out = self.out / "pairs" / setting
        if not (out / "report.json").is_file():
            given: list[object] = ["--setting", setting, "--mentions", self.options.mentions]
            if setting in GENERATES:
                known = self.out / "pairs" / GENERATES[0] / "aliases.jsonl"
                asked = ("--llm", self.options.llm, "--domain", self.options.domain)
                given += ("--aliases", known) if known.is_file() else asked
                given += ("--tau", self.options.tau)
                given += ("--encoder", self.options.judge) if self.options.judge else ()
            self.ontolink("pairs", self.out / "kb", self.options.corpus, out, *given)
        return out / "pairs.jsonl"

    def cell(self, cell: Cell, towers: Path) -> None:
        """Train and measure, unless it was done before."""
        folder, options = cell.folder(self.out), self.options
        wanted = options.rerankers if cell.strategy in options.rerank else []
        if cell.setting == "none":  # a head of random weights has nothing to say
            wanted = [
                kind for kind in options.rerankers if (Path(base_of(options, kind)) / "head.safetensors").is_file()
            ]
        if all((folder / f"{name}.json").is_file() for name in ("retriever", *wanted)):
            return
        model, pipeline = folder / "bi-encoder", folder / "pipeline"
        if cell.setting == "none":
            model, pipeline = towers, self.out / "kb"
        else:
            where: tuple[object, ...] = ("--paths.ontology", self.out / "kb", "--pairs", self.pairs(cell.setting))
            settings: tuple[str, ...] = (f"--sampling.strategy={cell.strategy}", f"--training.seed={cell.seed}")
            config = CONFIGS / ("train_ngrams.cfg" if options.ngrams else "train_bi_encoder.cfg")
            if options.ngrams:
                settings += (f"--alignment.seed={cell.seed}",)
            else:
                where += ("--paths.base", towers)
                settings += (f"--model.mention_tokens={options.tokens}", f"--model.entity_tokens={options.tokens}")
            more = (*settings, *shlex.split(options.retriever))
            self.ontolink("train", "retriever", config, *where, "--output", model, "--overwrite", *more)
            self.assemble(model, pipeline)
        self.ontolink("evaluate", pipeline, options.test, "--output", folder / "retriever.json")
        for kind in wanted:
            self.rerank(cell, kind, pipeline)
        if not options.keep and not options.dry:
            for name in ("bi-encoder", "pipeline", *RERANKERS, *(f"{kind}-pipeline" for kind in RERANKERS)):
                shutil.rmtree(folder / name, ignore_errors=True)

    def rerank(self, cell: Cell, kind: str, pipeline: Path) -> None:
        """Train a reranker on the retriever's candidates, and measure both together."""
        options, (config, name) = self.options, RERANKERS[kind]
        folder, base = cell.folder(self.out), base_of(options, kind)
        model, whole = folder / kind, folder / f"{kind}-pipeline"
        if cell.setting == "none":
            model = Path(base)
        else:
            where = ("--paths.pipeline", pipeline, "--paths.base", base, "--pairs", self.pairs(cell.setting))
            more = (f"--training.seed={cell.seed}", *shlex.split(options.reranker))
            self.ontolink("train", "reranker", CONFIGS / config, *where, "--output", model, "--overwrite", *more)
        self.say(f"{pipeline} + {name} {model} -> {whole}")
        if not options.dry:
            settings = model / "training.cfg"
            with_reranker(pipeline, name, model, settings if settings.is_file() else CONFIGS / config, whole)
        self.ontolink("evaluate", whole, options.test, "--output", folder / f"{kind}.json")


def base_of(options: argparse.Namespace, kind: str) -> str:
    """Return what a reranker starts from."""
    base: str = getattr(options, f"{kind}_base")
    return base


def with_reranker(pipeline: Path, name: str, model: Path, settings: Path, out: Path) -> None:
    """Add a reranker that decides to a pipeline, and show it what it was shown in training."""
    import spacy
    from confection import Config

    given = Config().from_disk(settings, interpolate=False)
    shown: dict[str, Any] = {key: value for key, value in given["pool"].items() if key != "k"}
    tokens = {key: given["model"][key] for key in ("mention_tokens", "entity_tokens")}
    nlp = spacy.load(pipeline)
    reranker = {"@ontolink_rerankers": f"spacy-ontolink.{name}.v1", "model": str(model), **tokens}
    nlp.add_pipe("ontolink_context_rerank", config={**shown, "top_n": given["pool"].get("k"), "reranker": reranker})
    nlp.add_pipe("ontolink_fuse", config={"weights": {"retriever": 0.0, "surface": 0.0, "context": 1.0}})
    nlp.to_disk(out)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("out", type=Path, metavar="OUT")
    for name in ("ontology", "corpus", "test"):
        made.add_argument(f"--{name}", type=Path, required=True)
    made.add_argument("--mentions", default="given", help="where mentions of the corpus come from")
    made.add_argument("--settings", nargs="+", choices=SETTINGS, default=SETTINGS)
    made.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES)
    made.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    made.add_argument("--rerankers", nargs="*", choices=RERANKERS, default=tuple(RERANKERS))
    made.add_argument("--rerank", nargs="*", choices=STRATEGIES, default=("PC-POS",))
    made.add_argument("--base", required=True, help="of the retriever: two towers, or a transformer")
    made.add_argument("--ngrams", action="store_true", help="an encoder of n-grams instead; needs no base")
    made.add_argument("--blink-base", default="bert-large-uncased")
    made.add_argument("--res-base", default="roberta-base")
    made.add_argument("--tokens", type=int, default=128, help="of a mention, and of an entity, for the retriever")
    made.add_argument("--retriever", default="", help="more settings of its training")
    made.add_argument("--reranker", default="", help="more settings of the rerankers' training")
    made.add_argument("--llm", help="what generates aliases, as 'ontolink pairs' takes it")
    made.add_argument("--domain", default="science")
    made.add_argument("--tau", type=float, default=0.9)
    made.add_argument("--judge", help="the encoder that judges aliases [default: the retriever]")
    made.add_argument("--keep", action="store_true", help="keep models and pipelines")
    made.add_argument("--dry", action="store_true", help="say what would be run")
    options = made.parse_args()
    if not options.llm and (asking := [name for name in options.settings if name in GENERATES]):
        made.error(f"--settings {' '.join(asking)} need aliases: give --llm")
    return options


def main() -> None:
    """Run all cells."""
    options = arguments()
    runner = Runner(options)
    towers = runner.start()
    for cell in cells(options):
        runner.cell(cell, towers)


if __name__ == "__main__":
    main()
