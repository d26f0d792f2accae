"""llama.cpp in process: quantised GGUF models on a CPU, or in part on a GPU."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import Errors, check_setting, require
from ..models.transformer import unloadable
from ..types import Floats1d
from .gguf import GgufCoder, gguf_file
from .local import LocalLLM
from .prefixes import Tokens
from .tally import in_batches
from .weights import Weights

BLOCK = 32  # quantised kernels take rows by blocks: prefixes of whole blocks give the very scores of a plain pass


class LlamaCppLLM(LocalLLM):
    """A GGUF model that reads prompts one after another and keeps what a prompt shares with the one before.

    A process that was forked, or got a pickled copy, loads the model for itself and uses one thread: an inherited
    thread pool would hang.
    """

    kind = "llamacpp"
    label = "gguf"

    def __init__(
        self,
        path: str,
        *,
        n_ctx: int = 2048,
        n_threads: int | None = None,
        max_new_tokens: int = 64,
        seed: int = 0,
        n_gpu_layers: int = 0,
    ) -> None:
        require("llama_cpp", "llamacpp", "The llama.cpp backend")
        check_setting("n_threads", n_threads, n_threads is None or n_threads > 0, "a positive number or null")
        check_setting(
            "n_ctx", n_ctx, n_ctx > max_new_tokens + 1, f"more than max_new_tokens + 1 = {max_new_tokens + 1}"
        )
        check_setting("n_gpu_layers", n_gpu_layers, n_gpu_layers >= -1, "a number of layers, or -1 for all")
        super().__init__(path, Weights(path, opener=gguf_file), n_ctx - max_new_tokens, max_new_tokens)
        self.n_ctx, self.n_threads, self.seed, self.n_gpu_layers = n_ctx, n_threads, seed, n_gpu_layers
        self._home, self._loaded_in = os.getpid(), 0

    @property
    def engine(self) -> Any:
        """The loaded model, of this very process."""
        if self._loaded_in != os.getpid():
            self._engine = None
        return super().engine

    @property
    def coder(self) -> GgufCoder:
        """The model's own tokenizer and chat template."""
        coder: GgufCoder = self.engine[1]
        return coder

    def _load(self) -> tuple[Any, GgufCoder]:
        from llama_cpp import Llama

        folder = self.weights.model
        file = folder.path / next(iter(folder.files))
        threads = self.n_threads if os.getpid() == self._home else 1
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # it remarks on its caches whatever it is told
                llama = Llama(
                    model_path=str(file),
                    n_ctx=self.n_ctx,
                    n_threads=threads,
                    n_threads_batch=threads,
                    n_gpu_layers=self.n_gpu_layers,
                    seed=self.seed,
                    swa_full=True,  # without it, models with a sliding window forget prefixes
                    verbose=False,
                )
        except Exception as error:  # a foreign file can be wrong in any way; the cause stays chained
            raise unloadable(file, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}") from error
        self._loaded_in = os.getpid()
        return llama, GgufCoder(llama)

    def _continue(self, prompts: list[Tokens]) -> list[str | None]:
        return self._one_by_one(prompts, self._continue_one)

    def _score(self, prompts: list[Tokens], answers: list[int]) -> list[Floats1d | None]:
        return self._one_by_one(prompts, lambda prompt: self._score_one(prompt, answers))

    def _one_by_one(self, prompts: list[Tokens], run: Any) -> list[Any]:
        """Run prompts in an order in which neighbours share the longest beginnings."""

        def run_one(batch: Sequence[Tokens]) -> list[Any]:
            try:
                return [run(batch[0])]
            except RuntimeError:
                self.engine[0].reset()  # what is cached cannot be trusted
                raise

        order = sorted(prompts)
        done = dict(zip(order, in_batches(order, 1, run_one, self.tally), strict=True))
        return [done[prompt] for prompt in prompts]

    def _continue_one(self, prompt: Tokens) -> str:
        import llama_cpp

        llama = self.engine[0]
        vocabulary = llama_cpp.llama_model_get_vocab(llama.model)
        self._read(prompt)
        new: list[int] = []
        while not llama_cpp.llama_vocab_is_eog(vocabulary, best := int(self._logits().argmax())):
            new.append(best)
            if len(new) == self.max_new_tokens:
                break
            llama.eval([best])
        self.tally.answered(len(prompt), len(new))
        return str(llama.detokenize(new).decode("utf-8", "replace"))

    def _score_one(self, prompt: Tokens, answers: list[int]) -> Floats1d:
        self._read(prompt)
        logits = self._logits().astype(np.float64)
        self.tally.answered(len(prompt))
        return np.asarray(logits[answers] - np.logaddexp.reduce(logits), np.float32)

    def _read(self, prompt: Tokens) -> None:
        """Read what differs from the prompt before."""
        import llama_cpp

        llama = self.engine[0]
        known = np.asarray(llama.input_ids[: min(llama.n_tokens, len(prompt) - 1)])
        differs = np.flatnonzero(known != np.asarray(prompt[: len(known)]))
        shared = int(differs[0]) if len(differs) else len(known)
        shared -= shared % BLOCK
        if shared and llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(llama.ctx), -1, shared, -1):
            llama.n_tokens = shared
        else:  # nothing shared, or a recurrent model, which cannot go back
            llama.reset()
            shared = 0
        llama.eval(list(prompt[shared:]))

    def _logits(self) -> Floats1d:
        """Return the logits of the next token, (V,).

        Raises:
            ValueError: They are not numbers.
        """
        import llama_cpp

        llama = self.engine[0]
        logits = np.array(np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(llama.ctx, -1), (llama.n_vocab(),)))
        if np.isnan(logits).any():
            raise ValueError(Errors.NOT_A_NUMBER)
        return logits


def make_llamacpp_llm(
    path: str,
    n_ctx: int = 2048,
    n_threads: int | None = None,
    max_new_tokens: int = 64,
    seed: int = 0,
    n_gpu_layers: int = 0,
) -> LlamaCppLLM:
    """Make a ``LlamaCppLLM``, which runs llama.cpp in this process; loads nothing yet.

    Args:
        path: The ``.gguf`` file.
        n_ctx: Tokens of a prompt and its answer together.
        n_threads: Threads; null for what llama.cpp chooses.
        max_new_tokens: Tokens of an answer.
        seed: Given to the engine.
        n_gpu_layers: Layers that are computed on a GPU; -1 for all.
    """
    return LlamaCppLLM(
        path,
        n_ctx=n_ctx,
        n_threads=n_threads,
        max_new_tokens=max_new_tokens,
        seed=seed,
        n_gpu_layers=n_gpu_layers,
    )
