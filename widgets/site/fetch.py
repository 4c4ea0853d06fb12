"""Files from package registries: pinned, checked against a hash, kept in a cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path


class FetchError(RuntimeError):
    """A file could not be had, or is not the one that was pinned; says what to do."""


def kept(cache: Path, name: str, sha256: str, get: Callable[[], bytes]) -> bytes:
    """A file of the cache, fetched with `get` where it is not there yet.

    Raises `FetchError` where it cannot be fetched or its hash is another.
    """
    path = cache / name
    if path.exists() and hashlib.sha256(content := path.read_bytes()).hexdigest() == sha256:
        return content
    content = get()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise FetchError(f"{name} has the SHA-256 {found}, expected {sha256}; nothing was built.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return content


def from_npm(package: str, version: str) -> bytes:
    """The archive of a package of the npm registry that this machine is set up for.

    Raises `FetchError` where the registry does not answer.
    """
    settings = {name.lower(): value for name, value in os.environ.items()}
    registry = settings.get("npm_config_registry", "https://registry.npmjs.org").rstrip("/")
    url = f"{registry}/{package}/-/{package}-{version}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            return bytes(answer.read())
    except (urllib.error.URLError, TimeoutError) as error:
        raise FetchError(
            f"{url} could not be fetched ({error}). The npm registry is needed once; the setting "
            "NPM_CONFIG_REGISTRY names another."
        ) from error


def from_pypi(package: str, version: str, *options: str) -> bytes:
    """The wheel of a package, fetched with pip as this machine has it set up.

    Raises `FetchError` where pip cannot get it.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            folder,
        ]
        wanted = ["--only-binary", ":all:", *options, f"{package}=={version}"]
        ran = subprocess.run([*command, *wanted], capture_output=True, text=True, check=False)
        files = sorted(Path(folder).iterdir())
        if ran.returncode or len(files) != 1:
            raise FetchError(
                f"pip could not fetch {package} {version}, which OFFLINE=1 needs once:\n"
                f"{ran.stderr.strip()}"
            )
        return files[0].read_bytes()
