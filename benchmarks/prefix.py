"""Yes-no reranking with and without computing the candidates' common beginning once, in one run, one thread.

    python benchmarks/prefix.py

Needs the extra 'transformers'. A small Qwen3 shape with random weights and a tokenizer trained here on made-up words,
since the time does not depend on what weights say. Each mention has a context of 150 tokens and 50 candidates with
synonyms, parents, children and siblings (40 to 80 tokens); the reranker writes its usual prompts. Both ways read the
same token ids, batched by length, and take turns at each mention, so that noise hits both alike. CPU-seconds are the
process's own.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from common import cpu_seconds, parser, save

from spacy_ontolink.llms.transformers import make_transformers_llm
from spacy_ontolink.models.devices import import_torch, quiet
from spacy_ontolink.prompts.entity_text import render
from spacy_ontolink.rerankers.yes_no import YesNo, make_yes_no
from spacy_ontolink.types import EntityText, Mention

K, MENTIONS, CONTEXT, SEED = 50, 7, 150, 0
SHAPE = {
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "max_position_embeddings": 2048,
}
SYLLABLES = "ba co di fer gen hyp lac mer neu os pro ren sis tic um ver".split()
PLAIN = "the of in and was with patients showed after a from increased level study during yes no".split()

Case = tuple[Mention, list[EntityText]]


def words_of(chance: random.Random) -> list[str]:
    """Make up technical words."""
    return ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(800)]


def tokenizer_in(folder: Path, words: list[str]) -> Any:
    """Train a byte-level BPE tokenizer that knows the words and those of the reranker's prompt."""
    import tokenizers
    from transformers import PreTrainedTokenizerFast

    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=4000,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    lists = [("name",)] * 4
    prompt = make_yes_no(Writes()).prompt(Mention("mention"), EntityText("name", lists[0], "", *lists[1:]))
    text = [*(prompt.frame or ()), prompt.text, *PLAIN, *(f"{word} {word}" for word in words)]
    made.train_from_iterator(text * 3, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.save_pretrained(folder)
    return tokenizer


class Writes:
    """In the place of a language model where only prompts are wanted."""

    id = usage = generate = choose = to_disk = from_disk = ""


def model_in(folder: Path, vocabulary: int) -> int:
    """Save a random model and return how many weights it has."""
    torch = import_torch()
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(SEED)
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=vocabulary, tie_word_embeddings=True, **SHAPE))
    model.save_pretrained(folder)
    return int(model.num_parameters())


def case_of(chance: random.Random, words: list[str], count: Callable[[str], int]) -> Case:
    """Make up a mention in the middle of its context, and its K candidates."""

    def name() -> str:
        return " ".join(chance.choices(words, k=chance.randint(1, 3)))

    def names(low: int, high: int) -> tuple[str, ...]:
        return tuple(name() for _ in range(chance.randint(low, high)))

    def side() -> str:
        text: list[str] = []
        while count(" ".join(text)) < CONTEXT // 2:
            text.append(chance.choice(words if chance.random() < 0.2 else PLAIN))
        return " ".join(text)

    candidates: list[EntityText] = []
    while len(candidates) < K:
        candidate = EntityText(name(), names(1, 4), "", names(1, 2), names(0, 3), names(1, 4))
        if 40 <= count(render(candidate)) <= 80:
            candidates.append(candidate)
    return Mention(name(), side(), side()), candidates


def race(made: dict[str, YesNo], cases: list[Case]) -> list[dict[str, Any]]:
    """Score each mention in both ways, in turn; the first one is for warming up."""
    seconds: dict[str, list[float]] = {name: [] for name in made}
    difference, turn = 0.0, list(made)
    for mention, candidates in cases:
        scores = {}
        for name in turn:
            run = made[name].score
            spent, (scores[name],) = cpu_seconds(lambda run=run, m=mention, c=candidates: run([m], [c]))
            seconds[name].append(spent)
        difference = max(difference, float(np.abs(scores["shared"] - scores["plain"]).max()))
        turn.reverse()
    shared, plain = (seconds[name][1:] for name in ("shared", "plain"))
    usage = made["plain"].llm.usage
    ratio = median(p / s for p, s in zip(plain, shared, strict=True))
    return [
        {"what": "tokens of a prompt, on average", "value": round(usage.prompt_tokens / usage.calls)},
        {"what": "candidates per CPU-second, plain", "value": round(K / median(plain), 1)},
        {"what": "candidates per CPU-second, beginnings shared", "value": round(K / median(shared), 1)},
        {"what": "plain against shared, CPU-seconds", "value": round(ratio, 2), "unit": "x"},
        {"what": "greatest difference between scores", "value": float(f"{difference:.1e}")},
    ]


def main() -> None:
    """Measure and save."""
    parser(__doc__).parse_args()
    chance = random.Random(SEED)
    words = words_of(chance)
    with tempfile.TemporaryDirectory() as scratch, quiet():
        folder = Path(scratch)
        tokenizer = tokenizer_in(folder, words)
        weights = model_in(folder, len(tokenizer))
        import_torch().set_num_threads(1)
        cases = [case_of(chance, words, lambda text: len(tokenizer(text)["input_ids"])) for _ in range(MENTIONS + 1)]
        made = {
            name: make_yes_no(make_transformers_llm(str(folder), device="cpu", share_prefix=name == "shared"))
            for name in ("shared", "plain")
        }
        rows = race(made, cases)
    for row in rows:
        sys.stderr.write(f"{row['what']}: {row['value']} {row.get('unit', '')}\n")
    sys.stderr.write(f"seed {SEED}, {os.cpu_count()} cores, one thread, {weights:,} weights, {SHAPE}\n")
    facts = {"shape": SHAPE | {"vocab_size": len(tokenizer), "weights": weights}, "mentions": MENTIONS, "threads": 1}
    save("prefix", "python benchmarks/prefix.py", rows, seed=SEED, k=K, context=CONTEXT, **facts)


if __name__ == "__main__":
    main()
