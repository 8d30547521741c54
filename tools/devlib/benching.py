"""./dev bench: builds caudal_bench and the program in the release preset and hands over to bench/run.py."""
import contextlib
import os
import sys

from devlib import building
from devlib.paths import ROOT


def main(arguments):
    runner = ROOT / "bench" / "run.py"
    # Asking for help or the list must not cost a build; with --json standard output belongs to the rows.
    if not {"--help", "-h", "--list"} & set(arguments):
        with contextlib.redirect_stdout(sys.stderr):
            building.build("release", "caudal_bench", ["-DCAUDAL_BENCH=ON"])
    os.execv(sys.executable, [sys.executable, str(runner), *arguments])
