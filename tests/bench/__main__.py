"""`make bench`: every measured target in one table. Not part of the tests: it asserts nothing.

Each module `bench_*.py` beside this one offers `rows()`; this file runs them and prints.
`python -m tests.bench page` runs only the modules whose name contains “page”.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from pathlib import Path


def main(wanted: list[str]) -> None:
    names = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    chosen = [name for name in names if not wanted or any(word in name for word in wanted)]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{'what':58} {'measured':34} target")
    for name in chosen:
        for what, measured, target in importlib.import_module(f"tests.bench.{name}").rows():
            print(f"{what:58} {measured:34} {target}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
