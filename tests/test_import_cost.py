"""Nobody who does not use torch, faiss and the like pays for them, or needs them."""

import subprocess
import sys

HEAVY = ("torch", "faiss", "transformers", "sentence_transformers", "vllm", "ray", "peft")


def run(code):
    # thinc imports torch wherever it is installed, so "not imported" is tested as "can do without".
    absent = f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r}))"
    result = subprocess.run([sys.executable, "-c", f"{absent}\n{code}"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_blank_pipeline():
    run("import spacy; spacy.blank('en')")


def test_retriever_in_a_pipeline():
    run("import spacy; spacy.blank('en').add_pipe('ontolink_retriever')")


def test_listing_all_parts_imports_them_all():
    run(
        "from spacy_ontolink.registry import CATALOGUES\n"
        "from spacy.util import registry\n"
        "assert all(getattr(registry, name).get_all() for name in CATALOGUES)"
    )


def test_saved_lexical_pipeline(tmp_path):
    ontology = tmp_path / "toy.jsonl"
    ontology.write_text('{"id": "T:1", "name": "milk yield"}\n{"id": "T:2", "name": "fat"}\n', "utf-8")
    run(
        "import spacy\n"
        f"nlp = spacy.blank('en'); nlp.add_pipe('ontolink_retriever', config={{'ontology': {str(ontology)!r}}})\n"
        f"nlp.to_disk({str(tmp_path / 'out')!r})\n"
        f"nlp = spacy.load({str(tmp_path / 'out')!r})\n"
        "doc = nlp.make_doc('milk yield'); doc.ents = [spacy.tokens.Span(doc, 0, 2, label='X')]\n"
        "assert nlp(doc).ents[0].kb_id_ == 'T:1'"
    )
