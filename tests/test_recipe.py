"""CONTRIBUTING.md's recipe for a section, carried out in a copy of the project."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("content", "core", "static", "tests", "widgets")
# What looks at every section, or at the rules of the house; the browser's tests take too long here.
TESTS = (
    "tests/test_architecture.py",
    "tests/test_content.py",
    "tests/widgets/test_every_section.py",
    "tests/widgets/test_present.py",
    "tests/widgets/test_section_contract.py",
    "tests/widgets/test_sections.py",
)


def recipe() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.split("## Add a section")[1].split("\n## ")[0]


def files(text: str) -> dict[str, str]:
    """What each numbered point says to write: its path → its last block of code."""
    found = {}
    for point in re.split(r"^\d\. ", text, flags=re.MULTILINE)[1:]:
        path = re.match(r"\*\*`([^`]+)`\*\*", point)
        assert path, point[:60]
        found[path[1]] = blocks(point)[-1]
    return found


def blocks(point: str) -> list[str]:
    lines = r"(?:^ {7}.*\n|^\n)+"
    found = [dedent(block[0]).strip("\n") for block in re.finditer(lines, point, re.MULTILINE)]
    return [f"{block}\n" for block in found if block]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project once the recipe is done."""
    made = tmp_path_factory.mktemp("recipe")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, made / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("app.py", "pyproject.toml"):
        shutil.copy(ROOT / name, made)
    for old, new in re.findall(r"git mv (\S+) (\S+)", recipe()):
        (made / old).rename(made / new)
    for path, text in files(recipe()).items():
        assert not (made / path).exists(), path
        (made / path).write_text(text, encoding="utf-8")
    return made


def run(copy: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_recipe_writes_four_files() -> None:
    folders = [Path(path).parent.as_posix() for path in files(recipe())]
    assert folders == ["core", "widgets", "content", "tests/core"]


def test_a_section_made_by_the_recipe_passes_the_tests(copy: Path) -> None:
    written = [path for path in files(recipe()) if path.startswith("tests/")]
    run(copy, "pytest", "-q", "-x", *TESTS, *written)


def test_its_code_passes_the_checks(copy: Path) -> None:
    written = [path for path in files(recipe()) if path.endswith(".py")]
    run(copy, "ruff", "check", *written)
    run(copy, "ruff", "format", "--check", *written)
    run(copy, "mypy", *[path for path in written if path.startswith("core/")])
