"""./dev bench: builds the release preset and hands over to bench/run.py."""
import os
import sys

from devlib import building
from devlib.paths import ROOT


def main(arguments):
    runner = ROOT / "bench" / "run.py"
    building.build("release")
    os.execv(sys.executable, [sys.executable, str(runner), *arguments])
