"""The pool inside the scheduler: unshared it is the counted cache; shared, prefill falls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.cache_room import CountedRoom
from core.devices import DEVICES
from core.model_spec import MAX_TOKENS
from core.models import MODELS
from core.pool_room import PoolRoom, block_names
from core.prefix_reuse import prefix_reuse
from core.requests import RequestStream
from core.scenario import Scenario
from core.scheduling import simulate
from core.step_terms import StepTerms

S = Scenario(MODELS["8B"], DEVICES["A100"])


def stream(
    arrival: list[float],
    prompt: list[int],
    output: list[int],
    hash_ids: tuple[tuple[int, ...], ...] | None = None,
) -> RequestStream:
    return RequestStream(
        np.array(arrival, float),
        np.array(prompt, float),
        np.array(output, float),
        hash_ids=hash_ids,
    )


requests = st.lists(
    st.tuples(st.floats(0, 0.4), st.integers(1, 90), st.integers(1, 60)), min_size=1, max_size=7
)


@settings(max_examples=150, deadline=None)
@given(
    rows=requests,
    block_token=st.sampled_from([1, 4, 16]),
    blocks=st.integers(40, 70),
    token_budget=st.sampled_from([8, 64, None]),
)
def test_without_sharing_the_pool_runs_as_the_counted_cache_does(
    rows: list[tuple[float, int, int]], block_token: int, blocks: int, token_budget: int | None
) -> None:
    """Two owners of the cache that share no code, the same schedule to the last preemption."""
    arrival, prompt, output = map(list, zip(*sorted(rows), strict=True))
    blocks = max(
        blocks, *(-(-(p + o - 1) // block_token) for p, o in zip(prompt, output, strict=True))
    )
    load = stream(arrival, prompt, output)
    terms = StepTerms.of(S)
    counted = CountedRoom(terms, blocks * block_token * terms.cache_byte, block_token)
    pool = PoolRoom(blocks, block_token, [()] * len(rows), caching=False)
    by_count = simulate(load, S, token_budget=token_budget, room=counted)
    by_pool = simulate(load, S, token_budget=token_budget, room=pool)
    lost = [
        [(p.step, p.request, p.generated_token) for p in run.preemptions]
        for run in (by_pool, by_count)
    ]
    assert lost[0] == lost[1]
    assert by_pool.log.finish == pytest.approx(by_count.log.finish, rel=1e-12)
    assert by_pool.ttft_s == pytest.approx(by_count.ttft_s, rel=1e-12)
    assert pool.pool.in_use == 0
    assert pool.skipped_token == 0


def test_a_shared_prefix_skips_its_prefill() -> None:
    """By hand: 48 tokens, 32 shared, blocks of 16: the second computes 16."""
    load = stream([0.0, 1.0], [48, 48], [4, 4])
    room = PoolRoom(100, 16, [(1, 2), (1, 2)])
    run = simulate(load, S, room=room)
    assert room.skipped_token == 32
    assert run.chunks()["chunk_token"].tolist() == [48, 16]
    assert run.chunks()["offset_token"].tolist() == [0, 32]


def test_a_prompt_found_whole_still_computes_its_last_token() -> None:
    room = PoolRoom(100, 16, [(1, 2), (1, 2)])
    run = simulate(stream([0.0, 1.0], [32, 32], [1, 1]), S, room=room)
    assert run.chunks()["chunk_token"].tolist() == [32, 16]
    assert room.skipped_token == 16


def test_prefix_caching_brings_the_first_token_sooner_and_changes_no_answer() -> None:
    rng = np.random.default_rng(3)
    arrival = np.cumsum(rng.exponential(0.05, 60))
    load = stream(arrival.tolist(), rng.integers(3000, 4000, 60).tolist(), [20] * 60)
    cold = simulate(load, S, room=PoolRoom.of(load, S, caching=False))
    warm = simulate(load, S, room=PoolRoom.of(load, S, shared_token=2048))
    assert np.median(warm.ttft_s) < 0.6 * np.median(cold.ttft_s)
    assert warm.itl_s.count == cold.itl_s.count == 60 * 19


def test_what_is_skipped_is_what_an_endless_cache_would_reuse() -> None:
    """One request at a time: the pool skips the leading full blocks that came before."""
    ids = ((1, 2, 3), (1, 2, 9), (4,), (1, 2, 3), (4, 5))
    prompt = [3 * 512 + 7, 3 * 512 + 1, 512 + 100, 3 * 512 + 50, 2 * 512 + 5]
    load = stream([0.0, 100.0, 200.0, 300.0, 400.0], prompt, [2] * 5, ids)
    room = PoolRoom.of(load, S, block_token=512)
    simulate(load, S, room=room)
    reuse = prefix_reuse(ids, np.array(prompt))
    # Every id here is a full block, so tokens are 512 an id on both sides.
    assert room.skipped_token == int(reuse.unbounded().hit_tokens[0]) == 512 * (2 + 3 + 1)


def test_a_small_pool_evicts_and_admits_by_its_own_state() -> None:
    ids = tuple((i, i + 1000) for i in range(20))
    load = stream([0.0] * 20, [1024 + 10] * 20, [5] * 20, ids)
    small = replace(S, device=replace(DEVICES["A100"], memory_byte=18.5e9))
    room = PoolRoom.of(load, small, block_token=512)
    run = simulate(load, small, room=room)
    assert room.pool.num_blocks == 9
    assert run.occupancy()["busy"].max() == 3
    assert room.pool.evictions > 0
    assert room.pool.in_use == 0


def test_names_follow_hash_ids_or_a_common_prefix() -> None:
    load = stream([0, 1], [40, 20], [1, 1])
    assert [list(names) for names in block_names(load, 16, 32)] == [[0, 1], [0]]
    traced = stream([0], [1100], [1], ((7, 8, 9),))
    assert list(block_names(traced, 256)[0]) == [14, 15, 16, 17]


@pytest.mark.parametrize(
    ("model", "said"),
    [("Gemma-2-9B", "windows or states"), ("Qwen3.5-27B", "windows or states"), ("70B", "no room")],
)
def test_models_that_cannot_be_shown_are_refused(model: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PoolRoom.of(stream([0], [10], [1]), Scenario(MODELS[model], DEVICES["A100"]))


def test_a_request_longer_than_the_pool_and_an_odd_block_are_refused() -> None:
    with pytest.raises(ValueError, match="longer than the cache"):
        PoolRoom.of(stream([0], [MAX_TOKENS - 1], [1]), S)
    with pytest.raises(ValueError, match="must divide the 512"):
        PoolRoom.of(stream([0], [600], [1], ((1,),)), S, block_token=24)
