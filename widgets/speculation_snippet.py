"""Section 6's snippet: the same readouts from core alone, for each of the three sources."""

from __future__ import annotations

from core.scenario import Scenario
from widgets.snippets import scenario_lines
from widgets.speculation_readouts import Settings
from widgets.speculation_sources import (
    FORMULA,
    REFERENCE_STATE,
    SIMULATION,
    reference_rounds,
)
from widgets.speculation_text import LOOKUP, OWN, PROMPT_TOKEN, SEED

_FORMULA = """
expected, lengths, share = float(expected_tokens(alpha, gamma)), np.array([gamma]), np.ones(1)
tokens = expected
print("gap in standard errors:", 0)
print("acceptance as set:", alpha)
"""
_RULE = """
rule = adaptive_draft(alpha)
lengths, share = np.arange(rule.share.size), rule.share
tokens = float(rule.tokens_per_target_pass)
print("gap in standard errors:", 0)
print("acceptance as set:", alpha)
"""
_SIMULATION = """
from core.requests import Xorshift32
from core.speculation import simulate_tokens

rounds = simulate_tokens(Xorshift32({state}), alpha, gamma, {trials})
tokens, lengths, share = rounds.mean, np.array([gamma]), np.ones(1)
kept = int((rounds.counts * np.arange(gamma + 1)).sum())
judged = kept + int(rounds.counts[:gamma].sum())
print("gap in standard errors:", rounds.standard_errors_off)
print("acceptance, measured:", kept / judged if judged else "none judged")
"""
_TEXT = """
from core.ngram import fit, read_corpus
from core.ngram_decode import decode
from core.ngram_draft import PromptLookup

corpus = read_corpus(open({path!r}, encoding="utf-8").read())
model = fit(corpus)
prompt = corpus.ids[: min({prompt}, corpus.ids.size // 2)].tolist()
run = decode(
    model.of_order({order}),
    {draft},
    prompt,
    {tokens},
    {gamma},
    adaptive={adaptive},
    rng={rng},
)
tokens = run.tokens_per_target_pass
lengths, passes = np.unique([len(r.drafted) for r in run.rounds], return_counts=True)
share = passes / len(run.rounds)
yields = np.array([len(r.tokens) for r in run.rounds])
spread = yields.std(ddof=1) / len(yields) ** 0.5 if len(yields) > 1 else 0.0
off = tokens - run.predicted_tokens_per_target_pass
print("gap in standard errors:", off / spread if spread else off)
print("acceptance, measured:", run.acceptance_rate)
if not np.isnan(run.acceptance_rate):
    alpha = run.acceptance_rate
"""
_REST = """
mean = float((lengths * share).sum())
each = speedup_by_batch(
    scenario, batch, context, alpha=0, gamma=lengths, draft=cost
)
round_s = float((each.round_s * share).sum())
print("tokens a pass:", tokens)
print("speedup:", tokens / (mean * cost + 1))
print("best γ by the formula:", int(optimal_gamma(alpha, cost)))
print("speedup at the batch:", tokens * float(each.plain_s[0]) / round_s)
print("arithmetic for a token:", (mean + 1) / tokens)
print("with adaptive γ, formula:", float(adaptive_draft(alpha).speedup(cost)))
"""


def snippet(scenario: Scenario, settings: Settings) -> str:
    """Python that prints the readouts; a text of the reader's own is read from a file."""
    return "\n".join(
        [
            *scenario_lines(scenario),
            "import numpy as np",
            "from core.speculation import (",
            "    adaptive_draft, expected_tokens, optimal_gamma, speedup_by_batch",
            ")",
            "",
            f"alpha, gamma, cost = {settings.alpha!r}, {settings.gamma}, {settings.cost!r}",
            f"batch, context = {settings.batch}, {settings.context}",
            _source(settings).strip("\n"),
            _REST.strip("\n"),
        ]
    )


def _source(settings: Settings) -> str:
    if settings.source == FORMULA:
        return _RULE if settings.adaptive else _FORMULA
    if settings.source == SIMULATION:
        trials = reference_rounds(settings.alpha, settings.gamma).trials
        return _SIMULATION.format(state=REFERENCE_STATE, trials=trials)
    text = settings.text
    lookup = text.drafter == LOOKUP
    return _TEXT.format(
        path="your.txt" if text.corpus == OWN else f"content/corpora/{text.corpus}.txt",
        prompt=PROMPT_TOKEN,
        order=text.target_order,
        draft="PromptLookup()" if lookup else f"model.of_order({text.drafter})",
        tokens=text.tokens,
        gamma="max(1, gamma)" if settings.adaptive else "gamma",
        adaptive=settings.adaptive,
        rng=f"np.random.default_rng({SEED})" if text.sampled else "None",
    )
