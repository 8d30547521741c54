#!/usr/bin/env python3
"""Runs the programs of examples/ and examples/book/, which are built in BUILD/examples: examples_test.py BUILD.

Each is given a directory of pictures and must print what the comment at its end says.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from devlib.paths import ROOT
from devlib.reporting import Report

_PICTURES = ROOT / "testdata" / "fashion-mnist-sample"
_PRINTS = re.compile(r"^/\* Prints:\n(.*)^\*/\n\Z", re.MULTILINE | re.DOTALL)


def prints_what_it_says(source, program):
    expected = _PRINTS.search(source.read_text(encoding="utf-8"))
    assert expected, f"{source.name} does not end with what it prints"
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([program, str(_PICTURES)], cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
    assert result.returncode == 0, f"exit code {result.returncode}:\n{result.stdout}"
    assert result.stdout == expected[1], f"it printed\n{result.stdout}instead of\n{expected[1]}"


def main():
    folder = pathlib.Path(sys.argv[1]).resolve() / "examples"
    report = Report()
    for source in sorted((ROOT / "examples").rglob("*.cc")):
        report.run(f"Examples.{source.stem}", prints_what_it_says, source, folder / source.stem)
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(main())
