"""The event-driven engine against a server simulated one step at a time, and its own invariants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.admission import UNLIMITED, Policy
from core.cache_room import CountedRoom
from core.devices import DEVICES
from core.engine import Engine, StoppedError
from core.models import MODELS
from core.requests import RequestStream, fixed_batch
from core.roofline import cost_of_totals, scenario_step_cost, step_costs
from core.scenario import Scenario
from core.scheduling import simulate
from core.step_terms import StepTerms
from tests.core.oracles import step_by_step
from tests.core.scheduling_cases import crowded_servers, rows, scenarios, servers, streams

close = {"rtol": 1e-9, "atol": 1e-15}


def both(server):
    scenario, stream, options, slow = server
    return simulate(stream, scenario, **options), step_by_step.run(rows(stream), scenario, **slow)


def each_step(log):
    """(run, number within the run) of every step."""
    run = np.repeat(np.arange(log.steps.size), log.steps)
    return run, np.arange(run.size) - np.repeat(np.cumsum(log.steps) - log.steps, log.steps)


@settings(max_examples=120, deadline=None)
@given(servers())
def test_every_request_is_admitted_preempted_and_finished_when_it_is_step_by_step(server):
    result, slow = both(server)
    log = result.log
    np.testing.assert_allclose(log.admitted, [job.admitted for job in slow.jobs], **close)
    np.testing.assert_allclose(log.first_token, [j.token_times[0] for j in slow.jobs], **close)
    np.testing.assert_allclose(log.finish, [job.token_times[-1] for job in slow.jobs], **close)
    assert result.steps == len(slow.steps)
    preempted = [(event.step, event.request, event.generated_token) for event in result.preemptions]
    assert preempted == slow.preempted


@settings(max_examples=120, deadline=None)
@given(crowded_servers())
def test_a_cache_that_is_always_full_preempts_as_it_does_step_by_step(server):
    result, slow = both(server)
    preempted = [(event.step, event.request, event.generated_token) for event in result.preemptions]
    assert preempted == slow.preempted
    np.testing.assert_allclose(
        result.log.finish, [job.token_times[-1] for job in slow.jobs], **close
    )


@pytest.mark.parametrize(
    "requests",
    [
        [(0.0, 32, 47), (0.0, 48, 100), (0.59, 60, 61), (0.62, 43, 32), (0.75, 11, 52)],
        [(0.0, 56, 96), (0.0, 48, 113), (0.13, 21, 82), (0.17, 58, 28), (1.2, 23, 56)],
    ],
)
def test_room_granted_to_some_is_not_kept_when_another_joins(requests):
    """Twenty blocks, found to last for a while; then a short prompt is let in, and grows too."""
    stream = RequestStream(*(np.array(column) for column in zip(*requests, strict=True)))
    options = {"token_budget": None, "cache_token": 320, "block_token": 16}
    slow = {"capacity_byte": 320 * 131_072.0, "block": 16}
    scenario = Scenario(MODELS["8B"], DEVICES["A100"])
    result, slow = both((scenario, stream, options, slow))
    preempted = [(event.step, event.request, event.generated_token) for event in result.preemptions]
    assert preempted == slow.preempted
    assert len(preempted) > 0


@settings(max_examples=120, deadline=None)
@given(servers())
def test_every_step_has_the_composition_and_the_time_that_it_has_step_by_step(server):
    result, slow = both(server)
    log = result.log
    run, nth = each_step(log)
    assert log.decoding[run].tolist() == [len(step.contexts) for step in slow.steps]
    contexts = log.context_token[run] + nth * log.decoding[run]
    assert contexts.tolist() == [sum(step.contexts) for step in slow.steps]
    chunks = result.chunks()
    assert sorted(zip(*(column.tolist() for column in chunks.values()), strict=True)) == [
        (i, *chunk) for i, step in enumerate(slow.steps) for chunk in step.chunks
    ]
    prefill = [sum(length for _, _, length in step.chunks) for step in slow.steps]
    assert log.prefill_token[run].tolist() == prefill
    durations = [step.duration for step in slow.steps]
    np.testing.assert_allclose(log.first[run] + nth * log.growth[run], durations, **close)
    starts = log.start[run] + nth * log.first[run] + log.growth[run] * nth * (nth - 1) / 2
    np.testing.assert_allclose(starts, [step.start for step in slow.steps], **close)


@settings(max_examples=80, deadline=None)
@given(servers())
def test_the_distribution_of_gaps_is_that_of_all_gaps_step_by_step(server):
    result, slow = both(server)
    gaps = np.concatenate([np.diff(job.token_times) for job in slow.jobs])
    distribution = result.itl_s
    assert distribution.count == gaps.size
    if gaps.size:
        shares = [0, 0.1, 0.5, 0.9, 0.99, 1]
        expected = np.quantile(gaps, shares)
        np.testing.assert_allclose(distribution.quantile(shares), expected, rtol=1e-9, atol=1e-12)
        assert distribution.mean_s == pytest.approx(gaps.mean(), rel=1e-9)


@settings(max_examples=80, deadline=None)
@given(servers())
def test_each_watcher_sees_the_gaps_that_it_sees_step_by_step(server):
    result, slow = both(server)
    worst = result.worst_itl_s
    for job in slow.jobs:
        time, gap = result.itl_of(job.index)
        np.testing.assert_allclose(time, job.token_times[1:], **close)
        np.testing.assert_allclose(gap, np.diff(job.token_times), rtol=1e-9, atol=1e-12)
        if job.output > 1:
            assert worst[job.index] == pytest.approx(gap.max(), rel=1e-9)
        else:
            assert np.isnan(worst[job.index])


@settings(max_examples=80, deadline=None)
@given(servers())
def test_every_prompt_token_and_every_answer_token_is_made_once(server):
    """Recomputed prefills come on top, and are exactly what preemptions threw away."""
    scenario, stream, options, _ = server
    log = simulate(stream, scenario, **options).log
    tokens = np.bincount(log.chunk_request, log.chunk_token, len(stream))
    resumed = {int(request) for request in log.resumed[:, 1]}
    fresh = [i for i in range(len(stream)) if i not in resumed]
    assert np.array_equal(tokens[fresh], stream.prompt_token[fresh])
    assert np.all(tokens >= stream.prompt_token)
    made = log.steps @ log.decoding + len(stream) + log.recomputed.shape[0]
    assert made == stream.output_token.sum()
    assert np.all(log.finish >= log.first_token)
    assert np.all(log.first_token > log.admitted)
    assert np.all(log.admitted >= stream.arrival)


@settings(max_examples=60, deadline=None)
@given(servers())
def test_the_engines_books_are_empty_when_everybody_has_finished(server):
    scenario, stream, options, slow = server
    terms = StepTerms.of(scenario)
    policy = Policy(
        continuous=slow["continuous"],
        token_budget=options["token_budget"] or UNLIMITED,
        chunked=options["chunked"],
        max_sequences=options["max_sequences"],
        max_chunk_token=options["max_chunk_token"] or UNLIMITED,
    )
    room = None
    if "cache_token" in options:
        room = CountedRoom(terms, slow["capacity_byte"], options["block_token"])
    engine = Engine(stream, terms, policy, room)
    engine.run()
    assert (engine.batch, engine.context, engine.live, engine.commit) == (0, 0, 0, 0.0)
    assert not engine.finishing
    assert not engine.pending
    assert not engine.resumed
    assert not engine.kept
    if engine.windows is not None:
        assert engine.windows.flop == engine.windows.flop_growth == 0
        assert engine.windows.byte == pytest.approx(0, abs=1e-6)


@settings(max_examples=80, deadline=None)
@given(servers())
def test_no_step_exceeds_the_token_budget_or_the_slots(server):
    scenario, stream, options, _ = server
    result = simulate(stream, scenario, **options)
    log = result.log
    if options["token_budget"] is not None:
        assert np.all(log.decoding + log.prefill_token <= options["token_budget"])
    assert result.occupancy()["busy"].max() <= options["max_sequences"]


@settings(max_examples=80, deadline=None)
@given(servers())
def test_no_gap_is_shorter_than_the_decode_step_of_those_who_see_it(server):
    scenario = server[0]
    result, slow = both(server)
    run, nth = each_step(result.log)
    durations = (result.log.first[run] + nth * result.log.growth[run]).tolist()
    for duration, step in zip(durations, slow.steps, strict=True):
        if step.contexts:
            alone = float(scenario_step_cost(scenario, step.contexts).time_s)
            assert duration >= alone * (1 - 1e-9)


@settings(max_examples=60, deadline=None)
@given(scenarios(), streams(), st.sampled_from([7, 64, None]))
def test_a_run_of_decodes_costs_what_the_roofline_says_of_each_step(scenario, stream, budget):
    """Straight from the columns to `core.roofline`, for plain models."""
    if any(group.window_token for group in scenario.model.attention):
        return
    log = simulate(stream, scenario, token_budget=budget, reserved_fraction=None).log
    run, nth = each_step(log)
    only = log.prefill_token[run] == 0
    batch, context = (
        log.decoding[run][only],
        (log.context_token[run] + nth * log.decoding[run])[only],
    )
    if not batch.size:
        return
    model = scenario.model
    flop = sum(group.decode_flop_per_pair for group in model.attention) * context
    byte = model.kv_bytes_per_token(scenario.cache_byte) * context
    byte = byte + model.state_byte_per_sequence * batch
    expected = cost_of_totals(scenario, batch, flop, byte).time_s
    np.testing.assert_allclose((log.first[run] + nth * log.growth[run])[only], expected, rtol=1e-12)


def test_one_request_alone_takes_its_prefill_and_then_one_decode_step_a_token():
    textbook = Scenario(MODELS["8B"], DEVICES["A100"])
    stream = RequestStream(np.array([3.0]), np.array([1000]), np.array([101]))
    result = simulate(stream, textbook, token_budget=None)
    prefill = float(scenario_step_cost(textbook, [], [(0, 1000)]).time_s)
    decodes = step_costs(textbook, decode_batch=1, context=np.arange(1001, 1101)).time_s
    assert result.ttft_s[0] == pytest.approx(prefill, rel=1e-12)
    assert result.e2e_s[0] == pytest.approx(prefill + decodes.sum(), rel=1e-12)
    np.testing.assert_allclose(result.itl_of(0)[1], decodes, rtol=1e-12)


def test_the_hook_hears_of_progress_and_can_stop_the_run():
    stream = fixed_batch(20_000, 1, 2, unit="steps")
    heard = []
    policy = Policy(max_sequences=1)
    Engine(stream, StepTerms.unit(), policy).run(lambda *done: heard.append(done))
    finished = [done for done, _ in heard]
    assert len(heard) > 3
    assert finished == sorted(finished)
    assert 0 < finished[0] < 20_000
    assert heard[-1] == (20_000, 20_000)
    with pytest.raises(StoppedError, match=r"stopped after .* of 20,000 requests"):
        Engine(stream, StepTerms.unit(), policy).run(lambda *_: False)


def test_a_long_stream_is_no_different_from_a_short_one_repeated():
    """Runs are packed away every few thousand turns; nothing may be lost at the seams."""
    one = fixed_batch(3, 5, 7, unit="steps")
    repeats = 4_000
    many = RequestStream(
        np.repeat(np.arange(repeats) * 50.0, 3),
        np.tile(one.prompt_token, repeats),
        np.tile(one.output_token, repeats),
        unit="steps",
    )
    policy = Policy(max_sequences=2)
    log = Engine(many, StepTerms.unit(), policy).run()
    expected = Engine(one, StepTerms.unit(), policy).run().finish
    assert np.array_equal(log.finish - many.arrival, np.tile(expected, repeats))
    assert log.steps.sum() == log.total_steps == 14 * repeats
    assert log.chunk_token.sum() == many.prompt_token.sum()
