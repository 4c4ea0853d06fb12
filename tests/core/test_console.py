"""The commands of core end quietly when their reader has seen enough."""

from __future__ import annotations

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
