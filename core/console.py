"""Running the commands of core, whatever the output goes to."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence


def run(main: Callable[[Sequence[str]], int]) -> int:
    """Run a command on the process's arguments; returns its exit code.

    Where whoever reads has seen enough (`… | head`), the command stops with code 1 and no
    traceback. A mark that the output's encoding lacks, such as ✓ in a file on Windows, is
    written as “?”.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end; let that go nowhere instead of into a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code
