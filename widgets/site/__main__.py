"""`python -m widgets.site`: builds the static site (`make site`)."""

import argparse
import sys
from pathlib import Path

from widgets.site.build import build
from widgets.site.fetch import FetchError


def main() -> int:
    """Read the command line and build; says in a line what there is now."""
    parser = argparse.ArgumentParser(prog="python -m widgets.site", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder to write, made anew")
    parser.add_argument("--cache", type=Path, default=Path(".cache/site"), help="kept downloads")
    parser.add_argument("--offline", action="store_true", help="put Pyodide into the folder too")
    options = parser.parse_args()
    try:
        print(build(options.out, options.cache, offline=options.offline))
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
