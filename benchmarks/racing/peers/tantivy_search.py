# /// script
# dependencies = ["tantivy"]
# ///
"""Tantivy, a search engine like Lucene: BM25 over stemmed words, in an index in memory."""

import re

import tantivy

PACKAGES = ("tantivy",)
DEPTH = 8  # names looked at for each entity wanted
WORD = re.compile(r"\w+")


def build(entities, folder):
    """Make one document of each name."""
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("name", tokenizer_name="en_stem")
    schema.add_unsigned_field("number", stored=True)
    index = tantivy.Index(schema.build())
    writer = index.writer(num_threads=1)
    owner = []
    for entity in entities:
        for name in [entity["name"], *entity["synonyms"]]:
            writer.add_document(tantivy.Document(name=name, number=len(owner)))
            owner.append(entity["id"])
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(texts, k):
        found = []
        for text in texts:
            query, _ = index.parse_query_lenient(" ".join(WORD.findall(text)).lower(), ["name"])
            hits = searcher.search(query, DEPTH * k).hits
            found.append(list(dict.fromkeys(owner[searcher.doc(place)["number"][0]] for _, place in hits))[:k])
        return found

    return search


METHODS = {"tantivy stems": build}
