"""Find an nginx for the test of examples/nginx.conf; with --install, Debian's package."""

from __future__ import annotations

import shutil
import subprocess
import sys


def find() -> str | None:
    """A usable nginx, or None; Debian keeps it out of an ordinary user's path."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def install() -> str | None:
    """Debian's package where there is apt-get; its service is not wanted and need not start."""
    if shutil.which("apt-get"):
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "nginx-light"]):
            subprocess.run(command, check=False)
    return find()


if __name__ == "__main__":
    path = find() or (install() if "--install" in sys.argv else None)
    print(f"nginx for the tests: {path or 'none, its test will be skipped'}")
