"""The rules of the house, read off the source so that they cannot erode unseen."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = sorted((ROOT / "core").rglob("*.py"))
WIDGETS = sorted((ROOT / "widgets").rglob("*.py"))
HEX = re.compile(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b")


def imports(path: Path) -> set[str]:
    """The modules a file imports, dotted."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def sections() -> list[str]:
    return [p.stem for p in WIDGETS if "\nSECTION = " in p.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_core_imports_only_numpy_and_the_standard_library(path: Path) -> None:
    allowed = sys.stdlib_module_names | {"numpy", "core"}
    assert {name.split(".")[0] for name in imports(path)} <= allowed


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_core_uses_no_global_random_state(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("np.random."):
            assert node.attr in ("Generator", "default_rng"), ast.unparse(node)


def test_figures_are_made_only_in_figures_py() -> None:
    for path in [*WIDGETS, ROOT / "app.py"]:
        if path.name == "figures.py":
            continue
        calls = [
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
        ]
        assert not {"figure", "bokeh.plotting.figure"} & set(calls), path.name


def test_colours_are_named_only_in_the_theme_and_in_static() -> None:
    for path in [*CORE, *WIDGETS, ROOT / "app.py"]:
        if path.name != "theme.py":
            assert HEX.findall(path.read_text(encoding="utf-8")) == [], path.name


def test_there_are_sections() -> None:
    assert {"prefill_decode", "memory"} <= set(sections())


@pytest.mark.parametrize("name", sections())
def test_a_section_imports_no_other_section(name: str) -> None:
    others = {f"widgets.{other}" for other in sections() if other != name}
    assert not imports(ROOT / "widgets" / f"{name}.py") & others


def test_only_one_function_takes_the_larger_of_compute_and_memory_time() -> None:
    """One step-time formula: StepCost.time_s."""
    pattern = re.compile(r"max(imum)?\([^)]*compute_s[^)]*memory_s")
    places = [
        path.name for path in [*CORE, *WIDGETS] if pattern.search(path.read_text(encoding="utf-8"))
    ]
    assert places == ["roofline.py"]


def test_app_is_routes_only() -> None:
    assert len((ROOT / "app.py").read_text(encoding="utf-8").splitlines()) < 80


def test_no_module_keeps_mutable_state_at_its_top() -> None:
    """Upper-case tables are constants; a lower-case list, dict or set at the top is state."""
    for path in [*CORE, *WIDGETS]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            value = getattr(node, "value", None)
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            if not isinstance(value, ast.List | ast.Dict | ast.Set):
                continue
            for target in targets:
                name = ast.unparse(target)
                assert name.lstrip("_").isupper() or name == "__all__", f"{path.name}: {name}"
