"""Streams under a scenario: published scheduler scenarios, laws of queues, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.devices import DEVICES
from core.models import MODELS
from core.requests import Lengths, RequestStream, fixed_batch, random_stream
from core.roofline import scenario_step_cost
from core.scenario import Scenario
from core.scheduling import StoppedError, simulate
from tests.core.oracles import step_by_step
from tests.core.scheduling_cases import rows, scenarios, servers, streams

TEXTBOOK = Scenario(MODELS["8B"], DEVICES["A100"])


def stream(prompts, outputs, arrivals=None):
    count = len(prompts)
    arrivals = np.zeros(count) if arrivals is None else np.array(arrivals)
    return RequestStream(arrivals, np.array(prompts), np.array(outputs))


def chunks_by_step(result):
    table = {}
    for step, request, _, tokens in zip(*result.chunks().values(), strict=True):
        table.setdefault(int(step), []).append((int(request), int(tokens)))
    return table


def test_when_the_cache_runs_out_the_youngest_is_preempted_and_recomputed_later():
    """Ten blocks of 16, two prompts of 80 (5 + 5): the first needs a sixth block to decode."""
    result = simulate(
        stream([80, 80], [20, 20]), TEXTBOOK, token_budget=1024, cache_token=160, block_token=16
    )
    (event,) = result.preemptions
    assert (event.step, event.request, event.generated_token) == (1, 1, 1)
    assert event.time == result.log.first_token[1]
    # The first goes on alone; the second comes back once it has finished, with prompt and token.
    assert chunks_by_step(result) == {0: [(0, 80), (1, 80)], 20: [(1, 81)]}
    request, begin, end = (result.gantt()[name] for name in ("request", "begin_s", "end_s"))
    assert request.tolist() == [0, 1, 1]
    assert begin[2] == end[0] == result.log.finish[0]
    gap = result.itl_of(1)[1][0]
    assert gap == result.worst_itl_s[1] == result.itl_s.worst_s
    recompute = float(scenario_step_cost(TEXTBOOK, [], [(0, 81)]).time_s)
    assert gap == pytest.approx(result.log.finish[0] - event.time + recompute, rel=1e-12)


def test_a_cap_on_long_prefills_shares_the_budget():
    result = simulate(stream([800] * 3, [50] * 3), TEXTBOOK, token_budget=1024, max_chunk_token=400)
    table = chunks_by_step(result)
    assert table[0] == [(0, 400), (1, 400), (2, 224)]
    assert table[1] == [(0, 400), (1, 400), (2, 224)]
    # Then 1 and 1, decoding, and 352 of the third prompt.
    assert table[2] == [(2, 352)]
    runs = result.runs()
    assert (runs["decoding"][2], runs["prefill_token"][2]) == (2, 352)
    assert 3 not in table


@pytest.mark.parametrize(
    ("chunked", "first_step"), [(True, [(0, 800), (1, 224)]), (False, [(0, 800)])]
)
def test_short_prompts_do_not_overtake_a_long_one(chunked, first_step):
    result = simulate(
        stream([800, 800, 10, 10], [5] * 4),
        TEXTBOOK,
        token_budget=1024,
        max_sequences=3,
        chunked=chunked,
    )
    assert chunks_by_step(result)[0] == first_step
    assert np.all(np.diff(result.log.first_token) >= 0)
    assert np.all(np.diff(result.log.admitted) >= 0)


def test_the_budget_trades_the_first_token_against_the_gaps():
    """32 sequences decode near context 2,048 when a prompt of 4,096 tokens arrives."""
    many = stream([2000] * 32 + [4096], [400] * 32 + [10], [0.0] * 32 + [4.0])
    worst, ttft = {}, {}
    for budget in (None, 2048, 512):
        result = simulate(many, TEXTBOOK, token_budget=budget)
        time, gap = result.itl_of(0)
        worst[budget] = gap[time > 4.0].max()
        ttft[budget] = result.ttft_s[32]
    assert worst[None] == pytest.approx(0.226, abs=0.001)
    assert worst[2048] == pytest.approx(0.115, abs=0.001)
    assert worst[512] == pytest.approx(0.029, abs=0.001)
    assert ttft[None] < ttft[2048] < ttft[512]


def test_at_a_light_load_nobody_waits_and_the_first_token_takes_a_prefill():
    light = random_stream(np.random.default_rng(1), 50, 0.02, Lengths(1000), Lengths(20))
    result = simulate(light, TEXTBOOK)
    alone = float(scenario_step_cost(TEXTBOOK, [], [(0, 1000)]).time_s)
    assert result.queue_s == pytest.approx(np.zeros(50), abs=1e-9)
    np.testing.assert_allclose(result.ttft_s, alone, rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(servers())
def test_the_requests_present_add_up_to_the_time_that_they_spend(server):
    """Little's law as an identity: the area under the number present is the sum of stays."""
    scenario, requests, options, _ = server
    result = simulate(requests, scenario, **options)
    table = result.occupancy()
    present = (table["busy"] + table["waiting"])[:-1]
    assert present @ np.diff(table["time"]) == pytest.approx(result.e2e_s.sum(), rel=1e-9)
    assert result.ttft_s + result.tpot_s * (requests.output_token - 1) == pytest.approx(
        np.where(requests.output_token > 1, result.e2e_s, np.nan), rel=1e-9, nan_ok=True
    )


@settings(max_examples=40, deadline=None)
@given(scenarios(), streams())
def test_twice_the_devices_and_twice_the_rate_is_the_same_run_twice_as_fast(scenario, requests):
    scenario = replace(scenario, overhead_s=0.0)
    twice = replace(scenario, devices=2 * scenario.devices)
    faster = replace(requests, arrival=requests.arrival / 2)
    slow = simulate(requests, scenario, token_budget=64, reserved_fraction=None)
    fast = simulate(faster, twice, token_budget=64, reserved_fraction=None)
    np.testing.assert_allclose(fast.log.finish, slow.log.finish / 2, rtol=1e-9)
    assert fast.steps == slow.steps


def test_two_tokens_of_answer_make_one_gap_and_one_token_none():
    result = simulate(stream([10, 10], [2, 1]), TEXTBOOK)
    assert result.itl_s.count == 1
    assert np.isnan(result.tpot_s[1])
    assert np.isnan(result.worst_itl_s[1])
    assert result.itl_of(1)[0].size == 0
    assert result.tpot_s[0] == result.worst_itl_s[0] == result.itl_of(0)[1][0]


def test_goodput_counts_those_who_meet_both_targets():
    # Two at once, budget for one prompt a step: the second waits for the first one's prefill.
    result = simulate(stream([1000, 1000], [5, 5]), TEXTBOOK, token_budget=1000)
    first, second = result.ttft_s
    slowest = result.worst_itl_s.max()
    duration = result.duration_s
    assert result.goodput_per_s(second, slowest, judge="worst") == pytest.approx(2 / duration)
    assert result.goodput_per_s(first, slowest, judge="worst") == pytest.approx(1 / duration)
    assert result.goodput_per_s(second, 0.0) == 0
    # The first one's pause spoils its worst gap but not its mean.
    mean = float(result.tpot_s.max())
    assert mean < slowest
    assert result.goodput_per_s(second, mean) == pytest.approx(2 / duration)
    assert result.goodput_per_s(second, mean, judge="worst") == pytest.approx(1 / duration)


def test_columns_have_one_length_and_runs_follow_one_another():
    requests = random_stream(np.random.default_rng(2), 40, 5.0, Lengths(500, 1.0), Lengths(50, 1.0))
    result = simulate(requests, TEXTBOOK, token_budget=256)
    for table, length in ((result.columns(), 40), (result.runs(), result.log.start.size)):
        assert {len(values) for values in table.values()} == {length}
    runs = result.runs()
    assert np.all(runs["start_s"][1:] >= runs["end_s"][:-1] - 1e-12)
    together = replace(requests, arrival=np.zeros(40))
    busy = simulate(together, TEXTBOOK, token_budget=256).runs()
    np.testing.assert_allclose(busy["start_s"][1:], busy["end_s"][:-1], rtol=1e-12)
    assert runs["step"][-1] + runs["steps"][-1] == result.steps
    assert runs["end_s"][-1] == pytest.approx(result.log.end)


class SharedPrefix:
    """A room that keeps its own books: every prompt begins with tokens that are held already."""

    follows = True
    safe_byte = -np.inf
    block_token = 1

    def __init__(self, skip, capacity):
        self.skip, self.capacity, self.held, self.released = skip, capacity, {}, []

    def admit(self, request, tokens, held):
        if sum(self.held.values()) + tokens > self.capacity:
            return -1
        self.held[request] = tokens
        return min(self.skip, tokens - 1)

    def grow(self, growing, held, steps):
        for fits in range(steps, 0, -1):
            longer = self.held | {request: context + fits - 1 for request, context in growing}
            if sum(longer.values()) <= self.capacity:
                self.held = longer
                return fits
        return 0

    def release(self, request):
        self.released.append(request)
        del self.held[request]


@settings(max_examples=60, deadline=None)
@given(scenarios(), streams(), st.integers(0, 100), st.sampled_from([1.0, 1.3, 3.0]), st.booleans())
def test_another_owner_of_the_cache_bounds_admission_and_skips_prefill(
    scenario, requests, skip, spare, static
):
    scenario = replace(scenario, model=replace(scenario.model, state_byte_per_sequence=0))
    if any(group.window_token for group in scenario.model.attention):
        return
    longest = int((requests.prompt_token + requests.output_token - 1).max())
    room = SharedPrefix(skip, int(longest * spare))
    result = simulate(
        requests,
        scenario,
        token_budget=64,
        policy="static" if static else "continuous",
        room=room,
    )
    slow = step_by_step.run(
        rows(requests),
        scenario,
        budget=64,
        continuous=not static,
        capacity_byte=room.capacity * scenario.model.kv_bytes_per_token(scenario.cache_byte),
        skip=lambda job: min(skip, job.target - 1),
    )
    expected = [job.token_times[-1] for job in slow.jobs]
    np.testing.assert_allclose(result.log.finish, expected, rtol=1e-9)
    assert len(result.preemptions) == len(slow.preempted)
    assert room.held == {}
    assert len(room.released) == len(requests) + len(result.preemptions)


def test_a_room_that_never_admits_is_found_out():
    room = SharedPrefix(0, 5)
    with pytest.raises(ValueError, match="the cache refuses request 0 although nothing else runs"):
        simulate(stream([10], [2]), TEXTBOOK, room=room)
    with pytest.raises(ValueError, match="the cache cannot hold request 0 although nothing else"):
        simulate(stream([5], [2]), TEXTBOOK, room=room)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token_budget": 0}, "token_budget must be in"),
        ({"token_budget": 1.5}, "token_budget must be a whole number"),
        ({"max_sequences": 0}, "max_sequences must be in"),
        ({"max_chunk_token": 0}, "max_chunk_token must be in"),
        ({"max_chunk_token": 10, "chunked": False}, "max_chunk_token needs chunked"),
        ({"policy": "lottery"}, "policy must be one of continuous, static; got 'lottery'"),
        ({"reserved_fraction": 0.0}, "reserved_fraction must be in"),
        ({"block_token": 0}, "block_token must be in"),
        ({"cache_token": 0}, "cache_token must be in"),
        (
            {"cache_token": 100},
            "request 1 comes to 109 tokens and 0.01468 GB of cache, but the cache holds 0.01311 GB",
        ),
        (
            {"chunked": False, "token_budget": 100},
            "request 1 comes to 109 tokens, but token_budget without chunked prefill is 100",
        ),
    ],
)
def test_what_cannot_run_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        simulate(stream([10, 100], [10, 10]), TEXTBOOK, **options)


def test_a_model_that_does_not_fit_is_an_answer_in_words():
    large = Scenario(MODELS["70B"], DEVICES["A100"])
    with pytest.raises(ValueError, match="70B does not fit: 140 GB of weights into 72 GB"):
        simulate(stream([10], [10]), large)


def test_steps_in_place_of_seconds_and_a_watcher_who_is_not_there_are_refused():
    with pytest.raises(ValueError, match="unit of the stream must be one of s; got 'steps'"):
        simulate(fixed_batch(1, 1, 1, unit="steps"), TEXTBOOK)
    result = simulate(stream([10], [10]), TEXTBOOK)
    with pytest.raises(ValueError, match=r"request must be in \[0, 0\], got 1"):
        result.itl_of(1)
    with pytest.raises(ValueError, match="judge must be one of mean, worst"):
        result.goodput_per_s(1.0, 1.0, judge="median")


def test_a_run_can_be_stopped():
    long = random_stream(np.random.default_rng(3), 5_000, 4.0, Lengths(100), Lengths(10))
    with pytest.raises(StoppedError):
        simulate(long, TEXTBOOK, progress=lambda finished, _: finished < 2_000)
