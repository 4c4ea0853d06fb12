import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from content.corpora import make
from core import ngram_decode
from core.acceptance import expected_tokens, tokens_variance
from core.adaptive_draft import adaptive_path
from core.decoding import Decoding, Round
from core.ngram import Corpus, NGram, fit, read_corpus
from core.ngram_decode import acceptance_probability, decode, residual, target_alone
from core.ngram_draft import LookupDrafter, PromptLookup, draw_token
from core.requests import Xorshift32

CORPORA = Path(make.__file__).parent
NAMES = ("prose", "code", "records")
SYMBOLS = 6
ONE_IN_10_000 = 1e-4


def model_of(ids: np.ndarray, size: int, order: int) -> NGram:
    vocabulary = tuple(chr(97 + token) for token in range(size))
    return fit(Corpus("", vocabulary, {v: i for i, v in enumerate(vocabulary)}, ids), order)


@pytest.fixture(scope="module")
def toy() -> NGram:
    """An order-3 model over six symbols, whose two-symbol histories matter and all occur."""
    rng = np.random.default_rng(3)
    ids = rng.choice(SYMBOLS, 400, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    for i in range(2, ids.size):
        if rng.random() < 0.6:
            ids[i] = (2 * ids[i - 1] + ids[i - 2] + 1) % SYMBOLS
    return model_of(ids, SYMBOLS, 3)


@pytest.fixture(scope="module", params=NAMES)
def fitted(request: pytest.FixtureRequest) -> tuple[Corpus, NGram]:
    corpus = read_corpus((CORPORA / f"{request.param}.txt").read_text(encoding="utf-8"))
    return corpus, fit(corpus)


# Greedy


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_greedy_output_is_the_targets_own_token_for_token(
    fitted: tuple[Corpus, NGram], order: int
) -> None:
    corpus, model = fitted
    target = model.of_order(order)
    drafts = [*(model.of_order(k) for k in (1, 2, 3, 6)), PromptLookup(), PromptLookup(5, 2)]
    for start in (0, 4_000, 9_001):
        prompt = corpus.ids[start : start + 100].tolist()
        alone = list(prompt)
        for _ in range(120):
            alone.append(int(np.argmax(target.distribution(alone))))
        for draft, gamma in itertools.product(drafts, (0, 1, 4, 7, 16)):
            for adaptive in (False, True)[: 1 + (gamma > 0)]:
                run = decode(target, draft, prompt, 120, gamma, adaptive=adaptive)
                assert list(run.tokens) == alone[100:]
    assert list(target_alone(target, prompt, 120)) == alone[100:]


def test_a_draft_that_is_the_target_is_always_kept(fitted: tuple[Corpus, NGram]) -> None:
    corpus, model = fitted
    target = model.of_order(3)
    prompt = corpus.ids[:50].tolist()
    for rng in (None, np.random.default_rng(1)):
        run = decode(target, target, prompt, 100, 4, rng=rng)
        assert [len(each.kept) for each in run.rounds] == [4] * 20
        assert not any(each.struck for each in run.rounds)
        assert run.acceptance_rate == 1
        assert run.tokens_per_target_pass == run.predicted_tokens_per_target_pass == 5


# Sampled


def tail(statistic: float, degrees: int) -> float:
    """Chance that χ² with an even number of degrees exceeds `statistic`: a Poisson sum."""
    half = statistic / 2
    return math.fsum(
        math.exp(k * math.log(half) - half - math.lgamma(k + 1)) for k in range(degrees // 2)
    )


def chance_of(tokens: tuple[int, ...], target: NGram) -> float:
    """How likely the target is to give three-symbol counts as far from expectation as these.

    Given its two predecessors a symbol is one draw from the target's distribution, so each of the
    36 histories adds 5 degrees of freedom: 180 in all.
    """
    ids = np.array(tokens)
    counts = np.zeros((SYMBOLS,) * 3)
    np.add.at(counts, (ids[:-2], ids[1:-1], ids[2:]), 1)
    statistic = 0.0
    for first, second in itertools.product(range(SYMBOLS), repeat=2):
        seen = counts[first, second]
        expected = seen.sum() * target.distribution([first, second])
        assert expected.min() > 5
        statistic += float(((seen - expected) ** 2 / expected).sum())
    return tail(statistic, SYMBOLS**2 * (SYMBOLS - 1))


def test_chi_square_tail_matches_textbook_values() -> None:
    # Two degrees: exp(−x/2). Ten degrees: 18.307 is exceeded in 5 % of cases, 23.209 in 1 %.
    assert tail(3.0, 2) == pytest.approx(math.exp(-1.5), rel=1e-12)
    assert tail(18.307, 10) == pytest.approx(0.05, rel=1e-3)
    assert tail(23.209, 10) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(
    ("draft_order", "gamma", "adaptive"), [(2, 4, False), (1, 5, True), (None, 4, False)]
)
def test_sampled_output_is_distributed_as_the_targets(
    toy: NGram, draft_order: int | None, gamma: int, adaptive: bool
) -> None:
    draft = PromptLookup() if draft_order is None else toy.of_order(draft_order)
    rng = np.random.default_rng(11)
    run = decode(toy, draft, [], 200_000, gamma, adaptive=adaptive, rng=rng)
    assert len(run.tokens) == 200_000
    assert run.tokens_per_target_pass > 1.4
    assert chance_of(run.tokens, toy) > ONE_IN_10_000


def resample_from_p(p, q, token):
    return p


def keep_everything(p, q):
    return 1.0


def compare_the_wrong_way(p, q):
    return min(1.0, q / p)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("residual", resample_from_p),
        ("acceptance_probability", keep_everything),
        ("acceptance_probability", compare_the_wrong_way),
    ],
)
def test_the_same_chi_square_fails_a_broken_rule(
    toy: NGram, monkeypatch: pytest.MonkeyPatch, name: str, broken: object
) -> None:
    monkeypatch.setattr(ngram_decode, name, broken)
    run = decode(toy, toy.of_order(2), [], 200_000, 4, rng=np.random.default_rng(11))
    assert chance_of(run.tokens, toy) < ONE_IN_10_000


def test_the_target_alone_passes_the_same_chi_square(toy: NGram) -> None:
    tokens = target_alone(toy, [], 50_000, rng=np.random.default_rng(11))
    assert chance_of(tokens, toy) > ONE_IN_10_000


@given(
    st.lists(st.integers(0, 20), min_size=4, max_size=4),
    st.lists(st.integers(1, 20), min_size=4, max_size=4),
)
def test_kept_drafts_and_their_replacements_add_up_to_the_target(
    p_parts: list[int], q_parts: list[int]
) -> None:
    if sum(p_parts) == 0:
        p_parts = [1, 0, 0, 0]
    p, q = np.array(p_parts) / sum(p_parts), np.array(q_parts) / sum(q_parts)
    total = np.zeros(4)
    for token in range(4):
        kept = acceptance_probability(p[token], q[token])
        total[token] += q[token] * kept
        if kept < 1:
            total += q[token] * (1 - kept) * residual(p, q, token)
    assert total == pytest.approx(p, abs=1e-12)


@given(st.lists(st.integers(1, 20), min_size=4, max_size=4), st.integers(0, 3))
def test_a_certain_proposal_and_its_replacement_add_up_to_the_target(
    p_parts: list[int], token: int
) -> None:
    p = np.array(p_parts) / sum(p_parts)
    kept = acceptance_probability(p[token], 1.0)
    total = (1 - kept) * residual(p, None, token)
    total[token] += kept
    assert total == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("gamma", [1, 4])
def test_models_without_memory_meet_equation_1_at_their_overlap(gamma: int) -> None:
    # Order 1 makes acceptances independent with α = Σ min(p, q), Leviathan's Theorem 3.5.
    rng = np.random.default_rng(8)
    target = model_of(rng.choice(5, 300, p=[0.4, 0.3, 0.1, 0.1, 0.1]), 5, 1)
    draft = model_of(rng.choice(5, 300, p=[0.1, 0.3, 0.4, 0.1, 0.1]), 5, 1)
    alpha = float(np.minimum(target.distribution([]), draft.distribution([])).sum())
    run = decode(target, draft, [], 40_000, gamma, rng=rng)
    rounds = len(run.rounds)
    spread = (float(tokens_variance(alpha, gamma)) / rounds) ** 0.5
    assert abs(run.tokens_per_target_pass - float(expected_tokens(alpha, gamma))) < 5 * spread
    by_position = run.acceptance_by_position()
    for judged, rate in zip(by_position["judged"], by_position["rate"], strict=True):
        assert abs(rate - alpha) < 5 * (alpha * (1 - alpha) / judged) ** 0.5


def test_a_run_repeats_from_the_same_seed_with_either_generator(toy: NGram) -> None:
    draft = toy.of_order(2)
    for make_rng in (np.random.default_rng, Xorshift32):
        first, again, other = (
            decode(toy, draft, [], 200, 4, rng=make_rng(seed)).tokens for seed in (9, 9, 10)
        )
        assert first == again
        assert first != other


@pytest.mark.parametrize(("draw", "token"), [(0.0, 0), (0.19, 0), (0.2, 2), (1 - 2**-53, 2)])
def test_a_draw_falls_on_the_token_whose_share_it_lies_in(draw: float, token: int) -> None:
    assert draw_token(np.array([0.2, 0.2, 1.0]), draw) == token


# Look-up


def longest_match(tokens: list[int], longest: int, shortest: int, length: int) -> list[int]:
    """Prompt look-up by scanning the text from its end."""
    for size in range(longest, shortest - 1, -1):
        for start in range(len(tokens) - size - 1, -1, -1):
            if tokens[start : start + size] == tokens[-size:]:
                return tokens[start + size : start + size + length]
    return []


@given(
    st.lists(st.integers(0, 3), max_size=40),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 6),
)
def test_lookup_proposes_what_a_scan_of_the_text_finds(
    tokens: list[int], longest: int, shortest: int, length: int
) -> None:
    shortest = min(shortest, longest)
    drafter = LookupDrafter(PromptLookup(longest, shortest))
    text: list[int] = []
    for token in tokens:
        text.append(token)
        if token != 3:  # an index that grows by several tokens at a time
            drafted, proposals = drafter.propose(text, length, None)
            assert drafted == longest_match(text, longest, shortest, length)
            assert proposals == [None] * len(drafted)


def test_lookup_beats_waiting_on_records_and_hardly_on_prose() -> None:
    rates = {}
    for name in NAMES:
        corpus = read_corpus((CORPORA / f"{name}.txt").read_text(encoding="utf-8"))
        target = fit(corpus, 4)
        prompt = corpus.ids[1_000:1_500].tolist()
        run = decode(target, PromptLookup(), prompt, 1_000, 4, rng=np.random.default_rng(7))
        rates[name] = run.acceptance_rate
    assert rates["records"] > 0.5
    assert rates["prose"] < 0.3


# Records of a run


@pytest.mark.parametrize("new_tokens", [1, 2, 5, 6, 119])
@pytest.mark.parametrize("gamma", [0, 1, 4, 30])
def test_a_run_gives_exactly_the_tokens_asked_for(toy: NGram, new_tokens: int, gamma: int) -> None:
    for draft, rng in itertools.product(
        (toy.of_order(1), PromptLookup()), (None, np.random.default_rng(2))
    ):
        run = decode(toy, draft, [0, 1], new_tokens, gamma, rng=rng)
        assert len(run.tokens) == new_tokens
        assert run.prompt == (0, 1)


def test_rounds_by_hand() -> None:
    # Target and look-up both know "abcabd": after "ab" the target says c (first on a tie).
    target = model_of(np.array([0, 1, 2, 0, 1, 3]), 4, 3)
    run = decode(target, PromptLookup(2, 2), [0, 1, 3, 0, 1], 4, 2)
    # Look-up: "ab" was followed by d a. The target says c: both struck, c instead. "bc" is new,
    # so the second round drafts nothing; the target gives a. "ca" is new: b. Then one is left.
    assert run.rounds == (
        Round(2, (), (3, 0), 2),
        Round(2, (), (), 0),
        Round(1, (), (), 1),
        Round(0, (), (), 2),
    )
    assert run.tokens == (2, 0, 1, 2)
    assert run.loop() is None


def test_figures_of_a_run_by_hand() -> None:
    run = Decoding(
        prompt=(),
        rounds=(
            Round(3, (1, 2), (3,), 4),
            Round(3, (1, 2, 3), (), 4),
            Round(3, (), (5, 6, 7), 8),
            Round(3, (1,), (), 2),
        ),
    )
    assert run.tokens == (1, 2, 4, 1, 2, 3, 4, 8, 1, 2)
    assert run.tokens_per_target_pass == 2.5
    by_position = run.acceptance_by_position()
    assert by_position["position"].tolist() == [1, 2, 3]
    assert by_position["judged"].tolist() == [4, 2, 2]
    assert by_position["kept"].tolist() == [3, 2, 1]
    assert by_position["rate"].tolist() == [0.75, 1.0, 0.5]
    assert run.acceptance_rate == 0.75
    # Three rounds drafted 3 tokens and one drafted 1: (3·(1 + .75 + .75² + .75³) + 1.75)/4.
    assert run.predicted_tokens_per_target_pass == pytest.approx((3 * 2.734375 + 1.75) / 4)
    # Ten tokens for four passes and ten drafted tokens at a tenth of a pass each.
    assert run.speedup([0.0, 0.1]) == pytest.approx([2.5, 2.0])
    assert [each.full_match for each in run.rounds] == [False, True, False, True]
    columns = run.columns()
    assert columns["drafted"].tolist() == [3, 3, 3, 1]
    assert columns["kept"].tolist() == [2, 3, 0, 1]
    assert columns["struck"].tolist() == [1, 0, 3, 0]
    assert columns["tokens"].tolist() == [3, 7, 8, 10]
    assert columns["draft_length"].tolist() == [3] * 4
    assert columns["round"].tolist() == [1, 2, 3, 4]


def test_a_run_without_drafts_has_no_acceptance_and_one_token_a_pass(toy: NGram) -> None:
    run = decode(toy, toy, [], 10, 0)
    assert np.isnan(run.acceptance_rate)
    assert run.acceptance_by_position()["rate"].size == 0
    assert run.tokens_per_target_pass == run.predicted_tokens_per_target_pass == 1
    assert float(run.speedup(0.1)) == 1


@settings(deadline=None)
@given(st.integers(1, 2**32 - 1), st.booleans())
def test_adaptive_draft_lengths_follow_the_rule(seed: int, lookup: bool) -> None:
    ids = np.array([0, 1, 2, 0, 1, 3, 0, 1, 2, 2, 1, 0] * 5)
    target = model_of(ids, 4, 3)
    draft = PromptLookup() if lookup else target.of_order(2)
    run = decode(target, draft, [0], 80, 5, adaptive=True, rng=Xorshift32(seed))
    path = adaptive_path([each.full_match for each in run.rounds[:-1]])
    left = 80 - np.array([0, *run.columns()["tokens"][:-1]])
    assert run.columns()["draft_length"].tolist() == np.minimum(path, left - 1).tolist()


def test_an_empty_draft_is_not_a_full_match() -> None:
    assert not Round(4, (), (), 1).full_match
    assert Round(4, (2,), (), 1).full_match


@pytest.mark.parametrize(
    ("tokens", "loop"),
    [
        ([5, 1, 2, 1, 2, 1, 2], (1, 2)),
        ([1, 2, 1, 2, 1], None),
        ([5, 6, 7, 1, 2, 1, 2], None),
        ([3, 4, 4, 4], (1, 1)),
        ([1, 2, 3], None),
        ([2, 1, 1, 2, 1, 1, 2, 1, 1, 2], (0, 3)),
    ],
)
def test_a_loop_at_the_end_is_found(tokens: list[int], loop: tuple[int, int] | None) -> None:
    assert Decoding((), tuple(Round(0, (), (), token) for token in tokens)).loop() == loop


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"prompt": [6]}, "prompt token must be in"),
        ({"prompt": [-1]}, "prompt token must be in"),
        ({"new_tokens": 0}, "new_tokens must be in"),
        ({"gamma": -1}, "gamma must be in"),
        ({"gamma": 0, "adaptive": True}, "gamma must be in"),
        ({"draft": model_of(np.array([0, 1] * 9), 2, 2)}, "draft must share the target's"),
    ],
)
def test_impossible_values_are_refused_by_name(toy: NGram, changes: dict, named: str) -> None:
    arguments = {"draft": toy, "prompt": [0], "new_tokens": 5, "gamma": 4, **changes}
    with pytest.raises(ValueError, match=named):
        decode(toy, **arguments)


@pytest.mark.parametrize("sizes", [(0, 1), (3, 0), (2, 3)])
def test_impossible_lookups_are_refused_by_name(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="est must be in"):
        PromptLookup(*sizes)
