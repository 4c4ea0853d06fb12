"""Speculative decoding on real text: draft, verify, correct, round by round.

Greedy, a drafted token is kept where the target's most likely token is the same. Sampled, a token
x drawn from the draft's q is kept with probability min(1, p(x)/q(x)); the first refused one is
replaced by a draw from the normalised positive part of p − q. After a full match the target adds
a token of its own. Either way the output is the target's: token for token, or in distribution.
Source: Leviathan, Kalman and Matias 2023, Algorithm 1 and Appendix A.1.

A real target scores all drafted positions in one pass; here each position is scored when the
verification gets to it, which gives the same tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core import validate
from core.acceptance import MAX_DRAFT_LENGTH, Floats
from core.adaptive_draft import next_draft_length
from core.decoding import Decoding, Round
from core.mixture import Mixture
from core.ngram import NGram
from core.ngram_draft import (
    LookupDrafter,
    ModelDrafter,
    PromptLookup,
    Random,
    Scorer,
    draw_token,
    uniform_of,
)

MAX_NEW_TOKENS = 1_000_000


def decode(
    target: NGram,
    draft: NGram | PromptLookup,
    prompt: Sequence[int],
    new_tokens: int,
    gamma: int,
    *,
    adaptive: bool = False,
    rng: Random | None = None,
) -> Decoding:
    """Continue `prompt` by exactly `new_tokens` tokens, drafting `gamma` at a time.

    Greedy without `rng`, sampled with it. With `adaptive`, `gamma` is the first draft length and
    the rule of `core.adaptive_draft` sets the others. The last drafts are cut so that the output
    ends where it should; at γ = 0 the target decodes alone. Raises `ValueError` for token ids
    outside the vocabulary, for two models over different ones, and outside 1 … 1,000,000 tokens,
    γ from 0 (adaptive: 1) to 1,000.
    """
    size = target.vocabulary_size
    tokens = [validate.integer("prompt token", token, 0, size - 1) for token in prompt]
    end = len(tokens) + validate.integer("new_tokens", new_tokens, 1, MAX_NEW_TOKENS)
    length = validate.integer("gamma", gamma, int(adaptive), MAX_DRAFT_LENGTH)
    drafter: ModelDrafter | LookupDrafter
    if isinstance(draft, PromptLookup):
        drafter = LookupDrafter(draft)
    elif draft.vocabulary_size == size:
        drafter = ModelDrafter(draft)
    else:
        raise ValueError(
            f"draft must share the target's vocabulary of {size:,} tokens, "
            f"got one of {draft.vocabulary_size:,}"
        )
    uniform = None if rng is None else uniform_of(rng)
    scorer = Scorer(target)
    rounds = []
    while len(tokens) < end:
        wanted = min(length, end - len(tokens) - 1)
        drafted, proposals = drafter.propose(tokens, wanted, uniform)
        if uniform is None:
            kept, own = _verify_greedy(scorer, tokens, drafted)
        else:
            kept, own = _verify_sampled(scorer, tokens, drafted, proposals, uniform)
        rounds.append(Round(wanted, tuple(drafted[:kept]), tuple(drafted[kept:]), own))
        if adaptive:
            length = next_draft_length(length, rounds[-1].full_match)
    return Decoding(tuple(prompt), tuple(rounds))


def target_alone(
    target: NGram, prompt: Sequence[int], new_tokens: int, *, rng: Random | None = None
) -> tuple[int, ...]:
    """What the target gives without a draft, one token a pass; greedy without `rng`.

    A plain loop that shares nothing with `decode`, to hold it against: the same tokens where both
    are greedy, the same distribution where both are sampled.
    """
    tokens = list(prompt)
    uniform = None if rng is None else uniform_of(rng)
    for _ in range(validate.integer("new_tokens", new_tokens, 1, MAX_NEW_TOKENS)):
        if uniform is None:
            tokens.append(target.most_likely(tokens))
        else:
            tokens.append(draw_token(np.cumsum(target.distribution(tokens)), uniform()))
    return tuple(tokens[len(prompt) :])


def acceptance_probability(p: float, q: float) -> float:
    """The chance to keep a token that the draft gave q and the target p: min(1, p/q).

    A look-up is certain of what it proposes: its q is 1. Worked value: p 0.3, q 0.5 → 0.6.
    """
    return min(1.0, p / q)


def residual(p: Floats, q: Floats | None, token: int) -> Floats:
    """What a refused token is replaced from: the positive part of p − q, normalised.

    Kept drafts make up min(p, q) of the distribution and this makes up the rest. Worked value:
    p (0.2, 0.8), q (0.6, 0.4) → (0, 1).
    """
    rest = p.copy() if q is None else np.maximum(p - q, 0.0)
    if q is None:
        rest[token] = 0.0
    return np.asarray(rest / rest.sum())


def _verify_greedy(scorer: Scorer, tokens: list[int], drafted: Sequence[int]) -> tuple[int, int]:
    """Append the target's own tokens up to the first that differs from the draft, or one beyond."""
    for kept, token in enumerate(drafted):
        own = scorer.most_likely(tokens)
        tokens.append(own)
        if own != token:
            return kept, own
    own = scorer.most_likely(tokens)
    tokens.append(own)
    return len(drafted), own


def _verify_sampled(
    scorer: Scorer,
    tokens: list[int],
    drafted: Sequence[int],
    proposals: Sequence[Mixture | None],
    uniform: Callable[[], float],
) -> tuple[int, int]:
    """Append the drafted tokens that the rejection rule keeps, and one token of the target's."""
    for kept, (token, q) in enumerate(zip(drafted, proposals, strict=True)):
        p = scorer.mixture(tokens)
        certainty = 1.0 if q is None else q.probability(token)
        if uniform() >= acceptance_probability(p.probability(token), certainty):
            rest = residual(p.dense(), None if q is None else q.dense(), token)
            own = draw_token(np.cumsum(rest), uniform())
            tokens.append(own)
            return kept, own
        tokens.append(token)
    own = scorer.mixture(tokens).sample(uniform())
    tokens.append(own)
    return len(drafted), own
