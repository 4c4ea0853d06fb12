"""Write records.txt and code.txt, two of the three texts that the n-gram models are fitted on.

Run from the project's root: python -m content.corpora.make. The records are the log of an
invented server and come out the same each time. The code is the project's own, as it stands at
that moment; the file in the repository is the snapshot that the tests' figures were taken from.
The third text, prose.txt, was written by hand.
"""

from __future__ import annotations

from pathlib import Path

from core.requests import Xorshift32

HERE = Path(__file__).resolve().parent
CORE = HERE.parents[1] / "core"

CODE_FILES = (
    "units",
    "validate",
    "model_spec",
    "scenario",
    "roofline",
    "kv_cache",
    "acceptance",
    "adaptive_draft",
    "draws",
    "simulated_rounds",
    "speculation",
    "ngram",
    "ngram_draft",
    "decoding",
    "ngram_decode",
)

# Name, system prompt in tokens, what is asked about, the usual length of an answer in tokens.
APPLICATIONS = (
    ("helpdesk", 768, ("invoice", "delivery", "password", "refund"), 96),
    ("tutor", 512, ("fractions", "photosynthesis", "grammar", "the French Revolution"), 192),
    ("coder", 1024, ("unit test", "refactoring", "stack trace", "code review"), 256),
    ("archive", 256, ("contract", "protocol", "annual report", "letter"), 128),
)
REQUESTS = 150
BLOCK_TOKEN = 16
ANSWER_STEP_TOKEN = 32


def records_text() -> str:
    """The log: for each request its arrival, its place in the cache, its first token and end."""
    rng = Xorshift32(2026)
    lines = []
    clock_ms = 8 * 3_600_000
    known: set[str] = set()
    for request in range(1, REQUESTS + 1):
        clock_ms += rng.between(40, 1_900)
        name, system_token, topics, answer_token = APPLICATIONS[rng.between(0, 3)]
        topic = topics[rng.between(0, 3)]
        question_token = BLOCK_TOKEN * rng.between(1, 6)
        output_token = answer_token + ANSWER_STEP_TOKEN * rng.between(-2, 2)
        hit = system_token if name in known else 0
        known.add(name)
        new = system_token + question_token - hit
        ttft_ms = 10 + 2 * new // BLOCK_TOKEN
        finish_ms = clock_ms + ttft_ms + 12 * output_token
        prefix = f"request {request:04d} application {name}"
        lines += [
            f"{_clock(clock_ms)} {prefix} received: topic {topic}, "
            f"system prompt {system_token} tokens, question {question_token} tokens, streaming on",
            f"{_clock(clock_ms)} {prefix} placed: {hit // BLOCK_TOKEN} blocks found in the cache, "
            f"{new // BLOCK_TOKEN} blocks new, block size {BLOCK_TOKEN}",
            f"{_clock(clock_ms + ttft_ms)} {prefix} first token: "
            f"prefill of {new} tokens done, time to first token {ttft_ms} ms",
            f"{_clock(finish_ms)} {prefix} finished: {output_token} tokens, "
            f"{_ending(rng)}, mean time between tokens 12 ms, blocks released to the tail",
        ]
        if request % 10 == 0:
            lines.append(
                f"{_clock(finish_ms)} summary: {request} requests received, "
                f"{request} requests finished, 0 requests refused, 0 requests preempted"
            )
    return "\n".join(lines) + "\n"


def code_text() -> str:
    """The named files of core, one after the other."""
    return "\n\n".join(
        (CORE / f"{stem}.py").read_text(encoding="utf-8").strip() + "\n" for stem in CODE_FILES
    )


def _ending(rng: Xorshift32) -> str:
    return "stopped at its limit" if rng.between(0, 9) == 0 else "stopped by its end token"


def _clock(time_ms: int) -> str:
    seconds, fraction = divmod(time_ms, 1_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}.{fraction:03d}"


if __name__ == "__main__":
    (HERE / "records.txt").write_text(records_text(), encoding="utf-8")
    (HERE / "code.txt").write_text(code_text(), encoding="utf-8")
