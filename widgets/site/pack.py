"""The Python that the browser needs beside Pyodide, in one zip: Panel, Bokeh and this project."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from widgets.site import runtime
from widgets.site.bytecode import compile_zip
from widgets.site.fetch import FetchError

ROOT = Path(__file__).parents[2]

# What the page imports in a browser, all of it pure Python, with all that may be asked for later.
PACKAGES = (
    "bokeh",
    "jinja2",
    "linkify_it",
    "markdown_it",
    "markupsafe",
    "mdit_py_plugins",
    "mdurl",
    "packaging",
    "panel",
    "param",
    "pyviz_comms",
    "tqdm",
    "typing_extensions",
    "uc_micro",
    "yaml",
)
# Packages that ask for their own version as they start.
ASK_VERSION = ("bokeh", "panel", "param", "pyviz_comms")
# Parts that nothing here imports: tests, servers, commands, and what the page has from elsewhere.
LEFT_OUT = (
    "__pycache__",
    "client",
    "command",
    "dist",
    "node_modules",
    "package-lock.json",
    "sampledata",
    "server",
    "sphinxext",
    "test",
    "tests",
)
KEPT = (".py", ".json", ".html", ".jinja", ".js", ".css", ".md", ".toml", ".txt", ".typed", ".yaml")
OWN = ("core", "widgets", "content", "static")

# Panel would import pandas to teach it a browser's way of fetching, if this were not there.
STUBS = {"pyodide_http.py": '"""Nothing here fetches."""\n\n\ndef patch_all():\n    pass\n'}


_BROWSERS_PYTHON = (3, 12)
_WITHOUT = "; without bytecode ({}): it starts about two seconds later"


def packed(cache: Path) -> tuple[bytes, str]:
    """The zip, with bytecode where it can be made; and what to say where it cannot."""
    sources = pack()
    if sys.version_info[:2] == _BROWSERS_PYTHON:
        return compile_zip(sources), ""
    node = _node()
    if node is None:
        return sources, _WITHOUT.format("Python 3.12 or Node makes it")
    kept_at = cache / f"bytecode-{hashlib.sha256(sources).hexdigest()[:16]}.zip"
    if not kept_at.exists():
        try:
            folder = runtime.unpacked(cache)
        except FetchError as error:
            return sources, _WITHOUT.format(error)
        source_zip = kept_at.with_suffix(".sources.zip")
        source_zip.write_bytes(sources)
        here = Path(__file__).parent
        files = [folder, here / "bytecode.py", source_zip, kept_at]
        command = [node, here / "bytecode.cjs", *(path.resolve() for path in files)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        source_zip.unlink()
        if ran.returncode:
            return sources, _WITHOUT.format(ran.stderr.strip().splitlines()[-1])
    return kept_at.read_bytes(), ""


def _node() -> str | None:
    """A Node that is there anyway: on the path, or the one that Playwright brings."""
    driver = find_spec("playwright")
    brought = Path(driver.origin).parent / "driver" / "node" if driver and driver.origin else None
    return shutil.which("node") or (str(brought) if brought and brought.exists() else None)


def pack() -> bytes:
    """The zip of sources; the same files always give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(_files()):
            # A fixed date; with the time of day the hash in the file's name would never repeat.
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def _files() -> Iterator[tuple[str, bytes]]:
    for name, text in STUBS.items():
        yield name, text.encode()
    for package in ASK_VERSION:
        said = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version(package)}\n"
        yield f"{package}-{version(package)}.dist-info/METADATA", said.encode()
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        if origin.name != "__init__.py":
            yield origin.name, origin.read_bytes()
            continue
        yield from _tree(origin.parent, origin.parent.parent, LEFT_OUT)
    for name in OWN:
        yield from _tree(ROOT / name, ROOT, ("__pycache__",))


def _tree(folder: Path, base: Path, left_out: Collection[str]) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        inside = path.relative_to(base)
        # Bokeh has a file of hashes for each of its versions and reads its own.
        other = path.parent.name == "_sri" and path.stem != version("bokeh")
        if path.suffix in KEPT and not other and not set(left_out) & set(inside.parts):
            yield inside.as_posix(), path.read_bytes()
