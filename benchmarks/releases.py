"""Reading a UMLS release: rows per CPU-second and peak memory, of the reader alone and with the knowledge base.

    python benchmarks/releases.py --rows 1000000

The release is made up (seed 0), in the columns and the order of the real one: two names a concept, of which one in five
is Spanish and one in twenty suppressible, a semantic type for each, a definition for one in ten, two relations in both
directions. Each figure is from a process of its own; memory is the highest resident size of that process.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from common import cpu_seconds, parser, save

from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.kb.readers import ReadReport, read_entities

WORDS = "acute bovine cardiac distal fatty gastric hepatic lesion lipid milk mural node renal swelling udder".split()
STEPS = ("import", "read", "build")
SEED = 0


def write_release(folder: Path, n_rows: int) -> int:
    """Write the tables; return how many rows they have in all."""
    chance, rows = Random(SEED), 0
    names = ("MRCONSO", "MRSTY", "MRDEF", "MRREL")
    files = {name: (folder / f"{name}.RRF").open("w", encoding="utf-8") for name in names}
    for number in range(1, n_rows // 2 + 1):
        cui = f"C{number:07}"
        for atom in range(2):
            name = " ".join([*chance.sample(WORDS, 3), str(number)])
            language, suppress = "SPA" if chance.random() < 0.2 else "ENG", "O" if chance.random() < 0.05 else "N"
            aui = f"A{2 * number + atom:08}"
            files["MRCONSO"].write(f"{cui}|{language}|{'PS'[atom]}|L{number:07}|PF|S{number:07}|Y|{aui}||M{number}|"
                                   f"D{number}|MSH|MH|D{number}|{name}|0|{suppress}||\n")  # fmt: skip
        files["MRSTY"].write(f"{cui}|T047|B2.2.1.2.1|Disease or Syndrome|AT{number}||\n")
        rows += 3
        if number % 10 == 0:
            files["MRDEF"].write(f"{cui}|A{2 * number:08}|AT{number}||MSH|{' '.join(WORDS)}|N||\n")
            rows += 1
        for other, relation in ((number // 2, "PAR"), (number // 3, "PAR"), (2 * number, "CHD"), (3 * number, "CHD")):
            if other:
                ends = f"{cui}|A{2 * number:08}|AUI|{relation}|C{other:07}|A{2 * other:08}|AUI"
                files["MRREL"].write(f"{ends}||R{number}||MSH|MSH|||N||\n")
                rows += 1
    for file in files.values():
        file.close()
    return rows


def run(step: str, folder: Path) -> None:
    """Do one step in this process and print CPU-seconds, entities and peak memory in MB."""
    report = ReadReport(folder)
    if step == "read":
        seconds, n = cpu_seconds(lambda: sum(1 for _ in read_entities(folder, report)))
    elif step == "build":
        seconds, n = cpu_seconds(lambda: len(KnowledgeBase.from_entities(read_entities(folder, report), report=report)))
    else:
        seconds, n = 0.0, 0
    print(seconds, n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--rows", type=int, nargs="+", default=[500_000, 1_000_000], help="rows of MRCONSO")
    made.add_argument("--step", choices=STEPS, help="for the processes that the script starts")
    made.add_argument("--folder", type=Path)
    arguments = made.parse_args()
    if arguments.step:
        run(arguments.step, arguments.folder)
        return
    results = []
    for n_rows in arguments.rows:
        with tempfile.TemporaryDirectory() as scratch:
            total = write_release(Path(scratch), n_rows)
            for step in STEPS:
                command = [sys.executable, __file__, "--step", step, "--folder", scratch]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                seconds, n, memory = (float(value) for value in out.split())
                speed = round(total / seconds) if seconds else None
                row = {"names": n_rows, "rows": total, "step": step, "entities": int(n), "peak_mb": round(memory),
                       "cpu_seconds": round(seconds, 2), "rows_per_cpu_second": speed}  # fmt: skip
                results.append(row)
                print(row, flush=True)
    save("releases", f"python benchmarks/releases.py --rows {' '.join(map(str, arguments.rows))}", results, seed=SEED)


if __name__ == "__main__":
    main()
