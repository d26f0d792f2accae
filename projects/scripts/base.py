"""Start a small BERT from nothing: a vocabulary of an ontology's own words, and random weights to be trained.

    python projects/scripts/base.py PIPELINE OUT

For those who have no weights at hand; ``ontolink train`` takes the folder like any other base. PIPELINE is what
``ontolink build`` wrote.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from spacy_ontolink.cli.pipelines import load_pipeline, retriever
from spacy_ontolink.files import replacing
from spacy_ontolink.kb import KnowledgeBase
from spacy_ontolink.models.devices import import_torch, quiet

WORDS, SEED = 6000, 0
SHAPE = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 192}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def texts(kb: KnowledgeBase) -> Iterator[str]:
    """Yield the names of all entities, and their definitions."""
    for number, id in enumerate(kb.ids_of(range(len(kb)))):
        entity = kb[id]
        yield entity.name
        yield from (synonym.text for synonym in entity.synonyms)
        yield kb.definition_of(number)


def main(pipeline: str, out: Path) -> None:
    """Train the tokenizer, draw the weights, and write both as a Hugging Face folder."""
    torch = import_torch()
    import tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece()
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=WORDS, special_tokens=SPECIAL, show_progress=False)
    made.train_from_iterator(texts(retriever(load_pipeline(pipeline)).kb), trainer)
    ends = [(token, made.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    made.post_processor = tokenizers.processors.BertProcessing(*ends)
    names = {f"{token.strip('[]').lower()}_token": token for token in SPECIAL}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=128, **names)
    torch.manual_seed(SEED)
    model = BertModel(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=128, **SHAPE))
    with quiet(), replacing(out) as scratch:
        tokenizer.save_pretrained(scratch)
        model.save_pretrained(scratch)
    sys.stderr.write(f"{len(tokenizer):,} word pieces, {model.num_parameters():,} random weights -> {out}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
