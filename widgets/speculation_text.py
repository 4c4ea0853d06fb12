"""Section 6 on real text: which text, which draft, and the runs, made once per server.

The models, the runs and what they count come from core; here they are read, named and kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from core.decoding import Decoding, Round
from core.ngram import Corpus, NGram, fit, read_corpus
from core.ngram_decode import decode, target_alone
from core.ngram_draft import PromptLookup
from core.units import counted, exact
from widgets.base import Strip

CORPORA = Path(__file__).parent.parent / "content" / "corpora"
OWN = "yours"
LOOKUP = "lookup"
PROMPT_TOKEN = 200
SEED = 1
MAX_GAMMA = 16

CORPUS_WORDS: Mapping[str, str] = {
    "prose": "prose",
    "code": "code",
    "records": "records",
    OWN: "your own text",
}
DRAFTER_WORDS: Mapping[str, str] = {
    **{str(order): f"n-gram of order {order}" for order in range(1, 6)},
    LOOKUP: "prompt look-up",
}

# Up to here a single run takes well under 300 ms and is made at once; beyond, it is a job.
QUICK_TOKENS = 500
QUICK_VOCABULARY = 10_000

_STRIP_TOKENS = 48


@dataclass(frozen=True, slots=True)
class TextChoice:
    """Everything that a run on text hangs on but γ: text, models, choosing, length."""

    corpus: str
    own_text: str
    target_order: int
    drafter: str
    sampled: bool
    tokens: int

    @property
    def quick(self) -> bool:
        """Whether one run of it may be waited for."""
        vocabulary = len(fitted(self.corpus, self.own_text)[0].vocabulary)
        return self.tokens <= QUICK_TOKENS and vocabulary <= QUICK_VOCABULARY


@dataclass(frozen=True, slots=True)
class TextRun:
    """One run and what it adds up to, counted once."""

    decoding: Decoding
    tokens: int
    drafted: int
    tokens_per_pass: float
    standard_error: float
    predicted: float
    alpha: float
    lengths: np.ndarray
    share: np.ndarray
    positions: Mapping[str, np.ndarray]

    @property
    def passes(self) -> int:
        """Target passes."""
        return len(self.decoding.rounds)


def own_corpus(text: str) -> Corpus:
    """The reader's text cut into tokens; `ValueError` says in words what is wrong with it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"text must be plain text, got half a character at position {error.start:,}"
        ) from error
    return _own(text)


def fitted(corpus: str, own_text: str = "") -> tuple[Corpus, NGram]:
    """A text and the model fitted on it, of the highest order; shorter ones are part of it."""
    if corpus == OWN:
        return _own(own_text), _own_model(own_text)
    return _shipped(corpus)


@lru_cache(maxsize=256)
def text_run(choice: TextChoice, gamma: int, adaptive: bool = False) -> TextRun:
    """Continue the beginning of the text; with `adaptive` γ is only where the rule starts."""
    corpus, model = fitted(choice.corpus, choice.own_text)
    target = model.of_order(choice.target_order)
    draft = PromptLookup() if choice.drafter == LOOKUP else model.of_order(int(choice.drafter))
    rng = np.random.default_rng(SEED) if choice.sampled else None
    run = decode(
        target,
        draft,
        prompt_of(corpus),
        choice.tokens,
        max(1, gamma) if adaptive else gamma,
        adaptive=adaptive,
        rng=rng,
    )
    return _counted(run)


@lru_cache(maxsize=64)
def same_as_target(choice: TextChoice, gamma: int, adaptive: bool) -> int:
    """How many tokens of a greedy run are those that the target alone would have given."""
    corpus, model = fitted(choice.corpus, choice.own_text)
    alone = target_alone(model.of_order(choice.target_order), prompt_of(corpus), choice.tokens)
    tokens = text_run(choice, gamma, adaptive).decoding.tokens
    return sum(a == b for a, b in zip(alone, tokens, strict=True))


def prompt_of(corpus: Corpus) -> list[int]:
    """Where every run starts: the beginning of the text, half of it where it is short."""
    return corpus.ids[: min(PROMPT_TOKEN, corpus.ids.size // 2)].tolist()


def text_notes(choice: TextChoice, run: TextRun, gamma: int, adaptive: bool) -> tuple[str, ...]:
    """What is to be known about a run: its text, that it lost nothing, and where it loops."""
    corpus, _ = fitted(choice.corpus, choice.own_text)
    size = len(corpus.text.encode())
    notes = [
        f"{CORPUS_WORDS[choice.corpus].capitalize()}: {counted(size, 'byte')}, "
        f"{counted(corpus.ids.size, 'token')}, {exact(len(corpus.vocabulary))} of them different. "
        f"The run continues its first {counted(len(run.decoding.prompt), 'token')}."
    ]
    if not choice.sampled:
        same = same_as_target(choice, gamma, adaptive)
        notes.append(
            f"{exact(same)} of {counted(run.tokens, 'token')} are the ones that the target alone "
            "gives."
        )
        loop = run.decoding.loop()
        if loop is not None:
            start, period = loop
            every = "token" if period == 1 else counted(period, "token")
            notes.append(
                f"From new token {exact(start + 1)} on the greedy output repeats itself every "
                f"{every}, so the acceptance is mostly that of the loop."
            )
    return tuple(notes)


def strips(choice: TextChoice, run: TextRun, at: int) -> tuple[Strip, ...]:
    """The text after pass `at`, and what that pass drafted; 0 is before the first."""
    corpus, _ = fitted(choice.corpus, choice.own_text)
    rounds = run.decoding.rounds
    items = [(token, "prompt") for token in run.decoding.prompt]
    for each in rounds[: max(0, at - 1)]:
        items += [(token, "kept") for token in each.kept] + [(each.corrected, "corrected")]
    if at == 0:
        return (Strip("text", "prompt", _shown(corpus, items)),)
    this = rounds[at - 1]
    items += [(token, "now") for token in this.tokens]
    drafted = [(token, "kept") for token in this.kept]
    drafted += [(token, "struck") for token in this.struck]
    return (
        Strip("text", "text after this pass", _shown(corpus, items)),
        Strip(
            "pass",
            f"pass {at:,}: {_said(this)}",
            _shown(corpus, [*drafted, (this.corrected, "corrected")]),
        ),
    )


def _said(this: Round) -> str:
    if not this.drafted:
        return "nothing drafted, 1 added"
    own = "replaced" if this.struck else "added"
    return f"{len(this.kept)} of {len(this.drafted)} kept, 1 {own}"


def _shown(corpus: Corpus, items: list[tuple[int, str]]) -> tuple[tuple[str, str], ...]:
    tail = items[-_STRIP_TOKENS:]
    shown = [(_visible(corpus.vocabulary[token]), kind) for token, kind in tail]
    return (*((("…", "prompt"),) if len(items) > len(tail) else ()), *shown)


def _visible(piece: str) -> str:
    """A token with its line breaks, tabs and lone spaces made visible."""
    marked = piece.replace("\r", "").replace("\n", "⏎").replace("\t", "⇥")
    return marked if marked.strip() else "␣" * max(1, len(marked))


@cache
def _shipped(name: str) -> tuple[Corpus, NGram]:
    corpus = read_corpus((CORPORA / f"{name}.txt").read_text(encoding="utf-8"))
    return corpus, fit(corpus)


@lru_cache(maxsize=8)
def _own(text: str) -> Corpus:
    return read_corpus(text)


@lru_cache(maxsize=8)
def _own_model(text: str) -> NGram:
    return fit(_own(text))


def _counted(run: Decoding) -> TextRun:
    tokens = np.array([len(each.tokens) for each in run.rounds])
    lengths, passes = np.unique([len(each.drafted) for each in run.rounds], return_counts=True)
    deviation = float(tokens.std(ddof=1)) if tokens.size > 1 else 0.0
    return TextRun(
        decoding=run,
        tokens=int(tokens.sum()),
        drafted=int((lengths * passes).sum()),
        tokens_per_pass=run.tokens_per_target_pass,
        standard_error=deviation / tokens.size**0.5,
        predicted=run.predicted_tokens_per_target_pass,
        alpha=run.acceptance_rate,
        lengths=lengths,
        share=passes / tokens.size,
        positions=run.acceptance_by_position(),
    )
