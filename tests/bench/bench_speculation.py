"""Measured times of section 6's core, and what its three corpora give.

`rows()` is for the bench command; run alone, this prints the rows and the table of the corpora.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from core.decoding import Decoding
from core.ngram import NGram, fit, read_corpus
from core.ngram_decode import decode, target_alone
from core.ngram_draft import PromptLookup
from core.requests import Xorshift32
from core.scenario import Scenario
from core.specs import DEVICES, MODELS
from core.speculation import adaptive_draft, simulate_tokens, speedup, speedup_by_batch

CORPORA = Path(__file__).parents[2] / "content" / "corpora"
NAMES = ("prose", "code", "records")
TARGET_ORDER, DRAFT_ORDER, GAMMA, COST_RATIO = 4, 2, 4, 0.1
PROMPT_TOKEN, NEW_TOKEN = 200, 500
Row = tuple[str, str, str]


def rows() -> list[Row]:
    """What was measured, the best of several runs, and the target."""
    texts = {name: _text(name) for name in NAMES}
    texts["200 kB of words, nearly all different"] = _many_words()
    return [
        _simulation_row(),
        _sweep_row(),
        *(row for name, text in texts.items() for row in _text_rows(name, text)),
    ]


def corpora_table(runs: int = 20) -> list[str]:
    """One line per corpus, draft and way of choosing: acceptance, tokens a pass, speedup.

    Each line joins `runs` runs of 500 tokens that start at evenly spaced places of the corpus.
    """
    lines = [
        "| corpus | draft | choice | α at draft position 1 2 3 4 | mean α | tokens/pass measured "
        "| by Equation 1 | speedup at c 0.1 | at c 0 | same as target alone | end in a loop |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in NAMES:
        corpus = read_corpus(_text(name))
        model = fit(corpus)
        starts = np.linspace(0, corpus.ids.size - PROMPT_TOKEN, runs).astype(int)
        prompts = [corpus.ids[start : start + PROMPT_TOKEN].tolist() for start in starts]
        for label, draft in _drafts(model).items():
            for greedy in (True, False):
                lines.append(f"| {name} | {label} | {_line(model, draft, prompts, greedy)} |")
    return lines


def _line(model: NGram, draft: NGram | PromptLookup, prompts: list[list[int]], greedy: bool) -> str:
    target = model.of_order(TARGET_ORDER)
    rounds, loops, same, runs = [], 0, 0, len(prompts)
    for seed, prompt in enumerate(prompts, start=1):
        rng = None if greedy else np.random.default_rng(seed)
        run = decode(target, draft, prompt, NEW_TOKEN, GAMMA, rng=rng)
        rounds += run.rounds
        if greedy:
            loops += run.loop() is not None
            alone = target_alone(target, prompt, NEW_TOKEN)
            same += sum(a == b for a, b in zip(alone, run.tokens, strict=True))
    joined = Decoding((), tuple(rounds))
    by_position = " ".join(f"{rate:.2f}" for rate in joined.acceptance_by_position()["rate"])
    at_cost, free = joined.speedup([COST_RATIO, 0.0])
    identity = f"{same:,} of {len(joined.tokens):,} tokens" if greedy else "in distribution"
    return (
        f"{'greedy' if greedy else 'sampled'} | {by_position} | {joined.acceptance_rate:.3f} "
        f"| {joined.tokens_per_target_pass:.2f} | {joined.predicted_tokens_per_target_pass:.2f} "
        f"| {at_cost:.2f} | {free:.2f} | {identity} | {f'{loops} of {runs}' if greedy else '—'}"
    )


def _simulation_row() -> Row:
    rng = Xorshift32(9)
    best_s = _best(lambda: simulate_tokens(rng, 0.8, 4, 200_000), 9)
    return ("200,000 simulated rounds at α 0.8, γ 4", f"{1e3 * best_s:.1f} ms", "≤ 20 ms")


def _sweep_row() -> Row:
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])

    def sweep() -> None:
        speedup(0.8, np.arange(33), COST_RATIO)
        speedup_by_batch(
            scenario, np.arange(1, 513), 2_048, alpha=0.8, gamma=GAMMA, draft=COST_RATIO
        )
        adaptive_draft(0.8)
        for gamma in range(1, 17):
            simulate_tokens(np.random.default_rng(gamma), 0.8, gamma, 2_000)

    what = "all of one slider move: 33 γ, 512 batches, adaptive rule, 16 simulated dots"
    return (what, f"{1e3 * _best(sweep, 9):.1f} ms", "≤ 15 ms")


def _text_rows(name: str, text: str) -> list[Row]:
    fit_s = _best(lambda: fit(read_corpus(text)), 3)
    corpus = read_corpus(text)
    model = fit(corpus)
    target = model.of_order(TARGET_ORDER)
    prompt = corpus.ids[1_000 : 1_000 + PROMPT_TOKEN].tolist()
    worst_s = max(
        _best(partial(decode, target, draft, prompt, NEW_TOKEN, GAMMA, rng=rng), 3)
        for draft in _drafts(model).values()
        for rng in (None, np.random.default_rng(1))
    )
    size = f"{len(text.encode()):,} B, {corpus.ids.size:,} tokens, {len(corpus.vocabulary):,} kinds"
    return [
        (f"fit {name} ({size}), all orders to 6", f"{1e3 * fit_s:.0f} ms", "≤ 1,000 ms"),
        (f"500 tokens on {name}, slowest draft and choice", f"{1e3 * worst_s:.0f} ms", "≤ 300 ms"),
    ]


def _drafts(model: NGram) -> dict[str, NGram | PromptLookup]:
    return {f"order {DRAFT_ORDER}": model.of_order(DRAFT_ORDER), "look-up": PromptLookup()}


def _many_words() -> str:
    """The paste that costs most: the longest text allowed, with the largest vocabulary."""
    letters = np.random.default_rng(1).integers(97, 123, (28_500, 6), dtype=np.uint8)
    return " ".join(row.tobytes().decode() for row in letters)


def _text(name: str) -> str:
    return (CORPORA / f"{name}.txt").read_text(encoding="utf-8")


def _best(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    for what, measured, target in rows():
        print(f"{what:85s} {measured:>10s}   {target}")
    print("\n".join(["", *corpora_table()]))
