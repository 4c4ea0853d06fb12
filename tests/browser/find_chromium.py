"""Find a Chromium for the browser tests; with --install, get one where there is none.

The system's is taken first, then Playwright's own, then Debian's package.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def system_chromium() -> str | None:
    """The path of an installed Chromium or Chrome."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    return str(MAC) if MAC.exists() else None


def playwright_chromium() -> str | None:
    """The path of the browser that Playwright downloaded, where it has."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return str(path) if path.exists() else None


def find() -> str | None:
    """A usable Chromium, or None."""
    return system_chromium() or playwright_chromium()


def install() -> str:
    """Get a Chromium: Playwright's download, else Debian's package; raise if neither works."""
    attempts = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get"):
        attempts += [["apt-get", "update"], ["apt-get", "install", "-y", "chromium"]]
    for command in attempts:
        print("Looking for a browser:", " ".join(command), flush=True)
        subprocess.run(command, check=False)
        if found := find():
            return found
    raise SystemExit(
        "No Chromium could be installed. Install Chromium or Chrome by hand (on Debian: "
        "apt-get install chromium) and run this again."
    )


if __name__ == "__main__":
    path = find()
    if path is None and "--install" in sys.argv:
        path = install()
    print(f"Browser for the tests: {path or 'none'}")
    sys.exit(path is None)
