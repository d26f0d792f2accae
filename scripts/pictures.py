"""Take the pictures of the documentation: python scripts/pictures.py (needs the extras demo and dev, and a browser).

The pages are those that the commands write, on the notes that come with the demo and with the project.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from spacy_ontolink.cli.demo import demo
from spacy_ontolink.cli.evaluate import evaluate
from spacy_ontolink.cli.explain import explain

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
NOTES = ROOT / "projects" / "hpo" / "assets" / "test.jsonl"
WIDTH = 900
MOST_BYTES = 150_000


def main() -> None:
    """Write displacy.png, explain.png and report.png."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        demo(folder)
        pipeline = str(folder / "hpo-pipeline")
        explain(pipeline, "Eight weeks of [[frequent nose bleeding]] and easy bruising.", output=folder / "why.html")
        evaluate(pipeline, NOTES, report=folder / "report.html")
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        take(opened, folder / "hpo.html", "displacy.png", 310)
        take(opened, folder / "why.html", "explain.png", 615)
        take(opened, folder / "report.html", "report.png", 722)
        opened.close()


def take(browser: Any, page: Path, name: str, height: int) -> None:
    """Picture the upper part of a page.

    Raises:
        SystemExit: The picture is too large for the documentation.
    """
    context = browser.new_context(viewport={"width": WIDTH, "height": height}, device_scale_factor=1.25)
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.screenshot(path=PICTURES / name)
    context.close()
    if (size := (PICTURES / name).stat().st_size) > MOST_BYTES:
        raise SystemExit(f"{name} has {size:,} bytes, more than {MOST_BYTES:,}")


if __name__ == "__main__":
    main()
