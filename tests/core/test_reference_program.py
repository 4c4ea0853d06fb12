"""The reference program on our parts: its output, its path, and other seeds against vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.reference_program import Parts, run, stream_of
from core.sabotage import SearchedPool

DATA = json.loads((Path(__file__).parent / "data" / "reference_pool_program.json").read_text())
OUTPUT = """\
block pool: 7 cache hits, 5 evictions, all blocks returned
static batching: 343 steps, mean latency 137.9 steps, slot utilization 0.53
continuous batching: 216 steps, mean latency 55.4 steps, slot utilization 0.84
memory: 16 sequences fit with reservation, 64 with 16-token blocks
speculative decoding: 3.370 tokens per target pass measured, 3.362 expected"""


def by_the_book(state):
    """The program's generator, written out once more."""
    while True:
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        yield state / 2**32


def test_the_five_lines_are_those_of_the_compiled_program():
    assert "\n".join(run().lines()) == OUTPUT


def test_the_generator_ends_where_the_compiled_program_leaves_it():
    assert run().final_state == 3_748_894_531


def test_the_streams_own_draws_sit_2_470_standard_errors_from_equation_1():
    # (3.370455 - 3.3616) / sqrt(2.57004544 / 200,000)
    assert run().standard_errors_off == pytest.approx(2.4702059436878687, rel=1e-9)


def test_parts_draw_in_the_programs_order_at_any_seed():
    draws = by_the_book(77)
    for _ in range(88):
        next(draws)
    clock, rows = 0, []
    for _ in range(40):
        clock += int(next(draws) * 7)
        output = 8 + int(next(draws) * 57)
        rows.append((clock, 16 + int(next(draws) * 113), output))
    lengths = [50 + int(next(draws) * 451) for _ in range(64)]
    program = run(77)
    for stream in (program.stream, stream_of(77)):
        found = zip(
            stream.arrival.tolist(),
            stream.prompt_token.tolist(),
            stream.output_token.tolist(),
            strict=True,
        )
        assert list(found) == rows
    assert program.by_blocks.units == sum(-(-length // 16) for length in lengths)
    tokens = 0
    for _ in range(200_000):
        accepted = 0
        while accepted < 4 and next(draws) < 0.8:
            accepted += 1
        tokens += accepted + 1
    assert program.rounds.tokens == tokens


def test_tables_queues_and_evictions_are_those_traced_in_the_compiled_program():
    pool = run().pool
    assert pool.failure == ""
    assert list(pool.evicted) == DATA["evicted_ids_in_order"]
    assert list(map(list, pool.tables)) == [
        DATA["table_first"],
        DATA["table_second"],
        DATA["table_again"],
        *DATA["churn_tables"],
    ]
    assert [list(pool.moments[at].free_queue) for at in (1, 3, 5)] == [
        DATA["free_queue_after_release"],
        DATA["free_queue_after_again"],
        DATA["free_queue_end"],
    ]
    assert [moment.in_use for moment in pool.moments] == [7, 0, 5, 0, 16, 0]


def test_a_pool_that_breaks_down_leaves_its_failure_and_the_other_parts_run_on():
    class Breaks(SearchedPool):
        def release(self, table):
            raise KeyError("gone")

    broken, sound = run(9, Parts(pool=Breaks)), run()
    assert broken.pool.failure == "KeyError: 'gone'"
    assert len(broken.pool.moments) == 1
    assert broken.lines()[0] == "block pool: 3 cache hits, 0 evictions, KeyError: 'gone'"
    assert broken.lines()[1:] == sound.lines()[1:]
    assert broken.final_state == sound.final_state


@pytest.mark.parametrize("seed", [0, -1, 2**32, 1.5, "9"])
def test_a_seed_that_is_no_state_is_refused(seed):
    with pytest.raises(ValueError, match="must be"):
        run(seed)
