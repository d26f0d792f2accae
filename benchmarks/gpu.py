"""What a GPU makes of PILOT's reranker: ``python benchmarks/gpu.py``, or ``--tiny`` to try the script on a CPU.

Random weights of the published shapes of Qwen3-Reranker-0.6B and 4B, as the time does not depend on what weights say;
no spaCy, no network, no downloads. For each shape: mentions per GPU-second at K = 50 candidates, with and without
computing what a mention's prompts share (instruction, mention, context) once; LoRA training steps per second with
PILOT's settings (rank 16, all linear layers, batches of 8, 512 tokens at most); peak memory. Every part has a time of
its own, so that all of it ends within ``--minutes`` (8), and a part that fails is noted and does not stop the others.
Results go to standard output and, with ``--output``, to a JSON file that is written anew after each part.

PILOT reports 1.8 to 5.2 mentions per GPU-second for its whole pipeline on H100s (Table 3); this is the reranker alone.
Keys and values are shared as ``spacy_ontolink.llms`` shares them. Needs torch and transformers, and peft for training.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import torch

K, BATCH, LIMIT, SEED = 50, 8, 512, 0
RANK, ALPHA, RATE = 16, 32, 5e-5
COMMON, OWN = (150, 300), (40, 80)  # tokens of what the prompts of a mention share, and of each candidate
SHAPES: dict[str, dict[str, Any]] = {  # as the configs on the hub have them
    "Qwen3-Reranker-0.6B": {
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151_669,
    },
    "Qwen3-Reranker-4B": {
        "hidden_size": 2560,
        "intermediate_size": 9728,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151_669,
    },
}
TINY = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 500,
    "initializer_range": 0.3,
}

Case = tuple[list[int], list[list[int]]]
"""Token ids that all prompts of a mention begin with, and those of each candidate with the end of the prompt."""


class Clock:
    """How much time is left, for all and for a part."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left for all."""
        return self.end - time.monotonic()

    def rounds(self, seconds: float, most: int) -> Iterator[int]:
        """Count rounds until ``seconds`` are over; there is at least one, unless no time is left at all."""
        end = time.monotonic() + min(seconds, self.left())
        for number in range(most):
            if time.monotonic() > end:
                return
            yield number


def build(shape: dict[str, Any], device: str, dtype: torch.dtype) -> Any:
    """Draw the weights on the device itself."""
    from transformers import AutoModelForCausalLM, Qwen3Config

    config = Qwen3Config(tie_word_embeddings=True, max_position_embeddings=4096, **shape)
    torch.manual_seed(SEED)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa")
    return model.eval().to(device)


def cases(count: int, k: int, vocabulary: int, scale: float) -> list[Case]:
    """Draw token ids for mentions and their candidates."""
    chance = random.Random(SEED)

    def tokens(bounds: tuple[int, int]) -> list[int]:
        return [chance.randrange(vocabulary) for _ in range(max(2, int(chance.randint(*bounds) * scale)))]

    return [(tokens(COMMON), [tokens(OWN) for _ in range(k)]) for _ in range(count)]


def padded(rows: list[list[int]], device: str, width: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids padded on the right, (n, T), and their lengths, (n,)."""
    width = max(width, *map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
    return ids, torch.tensor([len(row) for row in rows], device=device)


def last(model: Any, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return the logits of two answers at the last token of each row, (n, 2) in float32."""
    ends = states[torch.arange(len(states), device=states.device), lengths - 1]
    return (ends @ model.get_output_embeddings().weight[:2].T).float()


@torch.inference_mode()
def score_plain(model: Any, case: Case, batch: int) -> torch.Tensor:
    """Score the candidates of a mention, each with its whole prompt, (K,)."""
    common, candidates = case
    found = []
    for start in range(0, len(candidates), batch):
        ids, lengths = padded([common + own for own in candidates[start : start + batch]], str(model.device))
        mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        states = model.model(input_ids=ids, attention_mask=mask.long(), use_cache=False).last_hidden_state
        found.append(last(model, states, lengths))
    logits = torch.cat(found)
    return logits[:, 0] - logits[:, 1]


@torch.inference_mode()
def score_shared(model: Any, case: Case, batch: int) -> torch.Tensor:
    """Score the candidates of a mention, what their prompts share being read once, (K,)."""
    common, candidates = case
    device = str(model.device)
    name = "cache" if "cache" in signature(model.forward).parameters else "past_key_values"  # as transformers has it
    read = model.model(input_ids=torch.tensor([common], device=device), use_cache=True)[name]
    found = []
    for start in range(0, len(candidates), batch):
        rows = candidates[start : start + batch]
        ids, lengths = padded(rows, device)
        cache = copy.copy(read)  # each row sees the same memory; what a layer appends is its own
        cache.layers = [copy.copy(layer) for layer in read.layers]
        for layer in cache.layers:
            layer.keys = layer.keys.expand(len(rows), -1, -1, -1)
            layer.values = layer.values.expand(len(rows), -1, -1, -1)
        own = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        mask = torch.cat([torch.ones(len(rows), len(common), dtype=torch.bool, device=ids.device), own], 1)
        places = len(common) + torch.arange(ids.shape[1], device=ids.device).expand(len(rows), -1)
        states = model.model(
            input_ids=ids, attention_mask=mask.long(), position_ids=places, use_cache=True, **{name: cache}
        ).last_hidden_state
        found.append(last(model, states, lengths))
    logits = torch.cat(found)
    return logits[:, 0] - logits[:, 1]


def speed(
    score: Callable[..., torch.Tensor], model: Any, made: list[Case], batch: int, clock: Clock, seconds: float
) -> dict[str, Any]:
    """Time the scoring of mentions, one after the other."""
    score(model, made[0], batch)  # warming up
    wait(model)
    start, done = time.perf_counter(), 0
    for number in clock.rounds(seconds, len(made)):
        score(model, made[number], batch)
        wait(model)
        done += 1
    spent = time.perf_counter() - start
    return {
        "mentions": done,
        "seconds": round(spent, 3),
        "mentions_per_second": round(done / spent, 3) if done else None,
    }


def wait(model: Any) -> None:
    """Wait for the device, which works on its own time."""
    if model.device.type == "cuda":
        torch.cuda.synchronize()


def training(model: Any, made: list[Case], clock: Clock, seconds: float, steps: int) -> dict[str, Any]:
    """Time steps of LoRA training: 8 prompts each, yes or no, with gradient checkpoints off."""
    import warnings

    from peft import LoraConfig, get_peft_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear", task_type="CAUSAL_LM")
        tuned = get_peft_model(model, config)
    tuned.train()
    for weight in tuned.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()
    weights = [weight for weight in tuned.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=RATE)
    prompts = [(common + own)[:LIMIT] for common, candidates in made for own in candidates]
    chance = random.Random(SEED)
    device, losses, start = str(model.device), [], 0.0
    dtype = next(iter(model.parameters())).dtype
    for number in clock.rounds(seconds, steps + 1):
        if number == 1:  # the first step warms up
            wait(model)
            start = time.perf_counter()
        ids, lengths = padded(chance.sample(prompts, BATCH), device)
        right = torch.tensor([float(chance.random() < 0.5) for _ in range(BATCH)], device=device)
        mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        with torch.autocast(model.device.type, torch.bfloat16, enabled=dtype != torch.float32):
            states = model.model(input_ids=ids, attention_mask=mask.long(), use_cache=False).last_hidden_state
        logits = last(model, states, lengths)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0] - logits[:, 1], right)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        wait(model)
        losses.append(loss.item())
    timed, spent = len(losses) - 1, time.perf_counter() - start
    rate = round(timed / spent, 3) if timed > 0 else None
    return {"steps": max(timed, 0), "steps_per_second": rate, "trained_weights": sum(w.numel() for w in weights),
            "prompts_per_step": BATCH, "last_loss": round(losses[-1], 4) if losses else None}  # fmt: skip


def peak(device: str) -> float | None:
    """Return the most memory that was in use since the last call, in GiB, on a GPU."""
    if device != "cuda":
        return None
    used = torch.cuda.max_memory_allocated() / 2**30
    torch.cuda.reset_peak_memory_stats()
    return round(used, 2)


def measure(
    name: str, shape: dict[str, Any], options: argparse.Namespace, clock: Clock, share: float
) -> Iterator[dict[str, Any]]:
    """Yield one row for each part of a shape; ``share`` is the part of the time left that it may take."""
    seconds = clock.left() * share
    tiny, device = options.tiny, options.device
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    k, batch = (4, 4) if tiny else (K, options.batch)
    start = time.perf_counter()
    model = build(shape, device, dtype)
    made = cases(3 if tiny else 200, k, shape["vocab_size"], 0.1 if tiny else 1.0)
    facts = {"weights": model.num_parameters(), "seconds": round(time.perf_counter() - start, 1)}
    yield {"model": name, "what": "loading", **facts, "peak_gib": peak(device)}
    scores = [score(model, made[0], batch) for score in (score_plain, score_shared)]
    off = float((scores[0] - scores[1]).abs().max())
    yield {"model": name, "what": "greatest difference of scores", "value": float(f"{off:.2g}"),
           "largest_score": float(f"{scores[0].abs().max():.2g}")}  # fmt: skip
    for what, score in (("plain", score_plain), ("prefix shared", score_shared)):
        found = speed(score, model, made, batch, clock, seconds * 0.25)
        yield {"model": name, "what": what, "k": k, "batch": batch, **found, "peak_gib": peak(device)}
    found = training(model, made, clock, seconds * 0.25, 2 if tiny else 200)
    yield {"model": name, "what": "LoRA training", **found, "peak_gib": peak(device)}


def machine(device: str) -> dict[str, Any]:
    """Say what it ran on."""
    import transformers

    what = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} thread(s)"
    return {"device": what, "torch": torch.__version__, "transformers": transformers.__version__}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--tiny", action="store_true", help="a tiny shape on the CPU, to try the script")
    made.add_argument("--minutes", type=float, default=7.5, help="end within these")
    made.add_argument("--batch", type=int, default=K, help="prompts at a time")
    made.add_argument("--output", type=Path, help="JSON file for the results")
    options = made.parse_args()
    options.device = "cpu" if options.tiny else "cuda"
    if not options.tiny and not torch.cuda.is_available():
        made.error("no GPU here; --tiny tries the script on the CPU")
    return options


def main() -> None:
    """Measure shape by shape."""
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    options = arguments()
    clock = Clock(60 * options.minutes)
    result: dict[str, Any] = {
        "command": "python benchmarks/gpu.py",
        "seed": SEED,
        **machine(options.device),
        "rows": [],
    }
    shapes = {"tiny": TINY} if options.tiny else SHAPES
    for number, (name, shape) in enumerate(shapes.items()):
        rows = measure(name, shape, options, clock, (0.9 if number == len(shapes) - 1 else 0.4))
        while True:
            try:
                row = next(rows)
            except StopIteration:
                break
            except (RuntimeError, ImportError) as error:
                row = {"model": name, "what": "failed", "reason": " ".join(str(error).split())[:300]}
            result["rows"].append(row)
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
            if options.output:
                options.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        del rows
        gc.collect()
        if options.device == "cuda":
            torch.cuda.empty_cache()
    sys.stderr.write(f"{machine(options.device)}; {60 * options.minutes - clock.left():.0f} s\n")


if __name__ == "__main__":
    main()
