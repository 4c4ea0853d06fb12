"""Reading requests from text, and running them: hand-worked lines and the design document's run."""

from __future__ import annotations

import pytest

from core.pool_events import EventKind
from core.pool_rules import Rules
from core.pool_script import MAX_LINES, Operation, check_fits, parse_script, run_script
from core.pool_state import replay

ASKS_AND_ENDS = "A: a b c\nrelease A"


def kinds(text):
    return [(operation.kind, operation.request) for operation in parse_script(text)]


def final(run):
    return replay(run.start, run.events)


def test_each_form_of_line_is_read_and_notes_and_empty_lines_are_not():
    text = "# a note\n\n  A: x y  \nA + z\nrelease A\nb2 salt=t: x\nb2 +  7\n"
    assert kinds(text) == [
        ("allocate", "A"),
        ("append", "A"),
        ("release", "A"),
        ("allocate", "b2"),
        ("append", "b2"),
    ]
    assert [operation.line for operation in parse_script(text)] == [3, 4, 5, 6, 7]
    assert parse_script(text)[3].salt == "t"


def test_equal_words_are_equal_tokens_and_no_word_equals_a_number():
    first, grown, second = parse_script("A: the cat 7 the 007\nA + cat\nB: cat The")
    the, cat = first.tokens[:2]
    assert first.tokens == (the, cat, 7, the, 7)
    assert grown.tokens == (cat,)
    assert second.tokens[0] == cat
    assert len({the, cat, second.tokens[1], *range(2**31)[:10], 2**31 - 1}) == 14


def test_digits_of_other_scripts_are_words():
    (operation,) = parse_script("A: ٣ 3 ²")
    assert operation.tokens[1] == 3
    assert min(operation.tokens[0], operation.tokens[2]) >= 2**32


def test_a_colon_may_stand_in_a_prompt():
    (operation,) = parse_script("A: note: this")
    assert len(operation.tokens) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "line 1: “abc” must be “A: some words”, “A \\+ more words” or “release A”"),
        ("A: x\n\nalice: y", "line 3: a name must be one or two letters or digits, got “alice”"),
        ("release É", "line 1: a name must be"),
        ("A:", "line 1: A must have at least one word or number"),
        ("A: x\nA +", "line 2: A must have at least one word"),
        ("A: x\nA: y", "line 2: A holds blocks since line 1 and must be released before"),
        ("release A", "line 1: A cannot be released: no line before this one asks for it"),
        (f"{ASKS_AND_ENDS}\nrelease A", "line 3: A cannot be released: it was released in line 2"),
        (f"{ASKS_AND_ENDS}\nA + d", "line 3: A cannot grow: it was released in line 2"),
        ("B + d", "line 1: B cannot grow: no line before"),
        ("A: 2147483648", "line 1: a number must be at most 2,147,483,647, got “2147483648”"),
        ("A: " + "9" * 5_000, "line 1: a number must be at most"),
        ("A salt=: x", "line 1: the salt must be 1 to 1,024 bytes long, got 0"),
        (f"A: y\nB salt={'s' * 10_240}: x", "line 2: the salt must be .* long, got 10,240"),
        (f"A salt={'ß' * 513}: x", "line 1: the salt must be .* got 1,026"),
        ("", "the requests must be at least one line"),
        ("# only a note", "the requests must be at least one line"),
        ("A: x\x07\ty\nq\x07uit", "line 2: “q·uit” must be"),
    ],
)
def test_a_mistake_is_named_by_its_line(text, message):
    with pytest.raises(ValueError, match=message):
        parse_script(text)


def test_too_many_lines_are_refused_and_as_many_as_allowed_are_read():
    rounds = "\n".join([ASKS_AND_ENDS] * (MAX_LINES // 2))
    assert len(parse_script(rounds)) == MAX_LINES
    with pytest.raises(ValueError, match="line 201: there must be at most 200 lines"):
        parse_script(f"{rounds}\nB: x")


def test_a_long_mistake_is_cut_short_in_its_message():
    with pytest.raises(ValueError, match=r"^.{1,150}$"):
        parse_script("x" * 100_000)


def test_a_name_may_ask_again_once_it_has_been_released():
    assert kinds(f"{ASKS_AND_ENDS}\n{ASKS_AND_ENDS}")[2:] == [("allocate", "A"), ("release", "A")]


def test_the_design_documents_example_runs_as_it_stands_there():
    """S14: tables and queues of the document, hand-copied."""
    numbers = " ".join(map(str, range(15)))
    start, longer = (" ".join(map(str, range(n))) for n in (10, 12))
    new = " ".join(map(str, range(60, 77)))
    text = (
        f"A: {numbers}\nA + 15 16\nB: {start} 50 51 52 53\nrelease A\nrelease B\nC: {longer} {new}"
    )
    run = run_script(parse_script(text), num_blocks=10, block_size=4)
    states = [replay(run.start, run.events[:end]) for end in run.ends]
    assert states[0].tables == {"A": (0, 1, 2, 3)}
    assert states[1].tables == {"A": (0, 1, 2, 3, 4)}
    assert states[2].tables["B"] == (0, 1, 5, 6)
    assert states[3].free_queue == (7, 8, 9, 4, 3, 2)
    assert states[4].free_queue == (7, 8, 9, 4, 3, 2, 6, 5, 1, 0)
    assert states[5].tables == {"C": (0, 1, 2, 7, 8, 9, 4, 3)}
    assert (states[5].cache_hits, states[5].evictions) == (5, 1)


def test_events_are_counted_for_the_operation_that_caused_them():
    text = "A: 1 2 3 4 5 6 7 8 9\nB: 1 2 3 4 5 6 7 8 8\nrelease A\nA: 1 2 3 4 0"
    run = run_script(parse_script(text), num_blocks=8, block_size=4)
    touches = run.count(EventKind.TOUCH, len(run.events))
    assert [(operation.line, found) for operation, found in touches] == [(2, 2), (4, 1)]
    third = run.ends[0] + 3  # two hits and the first of two touches
    assert [found for _, found in run.count(EventKind.TOUCH, third)] == [1]
    assert run.count(EventKind.TOUCH, run.ends[0]) == []
    assert [run.operation_at(step) for step in (0, 1, run.ends[0], run.ends[0] + 1)] == [
        -1,
        0,
        0,
        1,
    ]
    assert run.operation_at(len(run.events)) == 3


def test_a_refused_request_is_an_event_and_its_later_lines_come_to_nothing():
    text = "A: 1 2 3 4 5 6\nB: 9 9 9\nB + 8\nrelease B\nA + 7\nA + 5 5\nrelease A"
    run = run_script(parse_script(text), num_blocks=4, block_size=2)
    assert [event.kind for event in run.events].count(EventKind.REFUSE) == 2
    assert final(run).in_use == 0
    assert run.skipped == (
        "“B + 1” comes to nothing: B was refused and holds no block.",
        "“release B” comes to nothing: B was refused and holds no block.",
    )
    assert replay(run.start, run.events[: run.ends[5]]).tables == {"A": (0, 1, 2, 3)}


def test_a_prompt_longer_than_the_pool_is_refused_by_line_before_anything_runs():
    operations = parse_script("A: 1 2 3\nB: 1 2 3 4 5")
    message = r"line 2: the prompt of B is longer than the pool: 5 tokens need 3 blocks of 2"
    with pytest.raises(ValueError, match=message):
        run_script(operations, num_blocks=2, block_size=2)
    check_fits(operations, num_blocks=3, block_size=2)
    with pytest.raises(ValueError, match=r"^the prompt of A is longer"):
        check_fits([Operation("allocate", "A", (1, 2))], num_blocks=1, block_size=1)


def test_bad_sizes_and_steps_are_refused_by_name():
    operations = parse_script("A: 1")
    with pytest.raises(ValueError, match=r"block_size must be in \[1, .* got 0"):
        run_script(operations, num_blocks=2, block_size=0)
    run = run_script(operations, num_blocks=2, block_size=2)
    for ask in (run.operation_at, lambda step: run.count(EventKind.POP, step)):
        with pytest.raises(ValueError, match=r"step must be in \[0, 1\], got 3"):
            ask(3)


def test_the_rules_asked_for_are_those_of_the_pool():
    operations = parse_script("A: 1 2 3\nrelease A")
    queues = [
        final(run_script(operations, num_blocks=4, block_size=2, rules=rules)).free_queue
        for rules in (Rules.DESIGN_DOCUMENT, Rules.VLLM_TODAY)
    ]
    assert queues == [(2, 3, 1, 0), (1, 2, 3, 0)]


def test_an_operation_says_what_it_asks_in_few_words():
    said = [
        operation.words for operation in parse_script("A: 1\nB salt=x: 1 2\nA + 1 2\nrelease A")
    ]
    assert said == ["A 1 token", "B 2 tokens (salt x)", "A + 2", "release A"]
