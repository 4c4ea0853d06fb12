"""The commands of core: they end quietly, and print to whatever there is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "tests" / "core" / "data" / "configs" / "Qwen--Qwen3.5-27B.json"


@pytest.mark.parametrize(
    "command",
    [["core.hf_config", str(CONFIG)], ["core.checks", "--json"]],
    ids=["config", "checks"],
)
def test_a_pipe_that_closes_early_leaves_no_traceback(command: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read().decode() == ""
    process.stderr.close()
    assert process.wait(20) == 1


@pytest.mark.parametrize("option", ["--json", "--matrix", "--reference"])
def test_output_in_another_encoding_lacks_marks_but_is_all_there(option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "core.checks", option],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        check=False,
    )
    assert done.stderr.decode() == ""
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) >= 5


def test_help_is_an_answer() -> None:
    command = [sys.executable, "-m", "core.hf_config", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "usage: python -m core.hf_config FILE\n"
