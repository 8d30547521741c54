#!/usr/bin/env python3
"""Runs the commands that the documents show: every ```sh block with `<!-- run -->` on the line before, in the root of the tree."""
import re
import subprocess
import sys

from devlib import sources
from devlib.paths import ROOT
from devlib.reporting import Report

_BLOCK = re.compile(r"^<!-- run -->\n```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def run_block(script):
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(result.stdout)
    assert result.returncode == 0, f"exit code {result.returncode} of\n{script}"


def links_lead_somewhere(path, text):
    broken = [target for target in _LINK.findall(text) if not (path.parent / target).exists()]
    assert not broken, f"{path}: nothing at {', '.join(broken)}"


def main():
    report = Report()
    for path in sources.files_ending((".md",)):
        if path.is_relative_to(ROOT / "testdata"):
            continue
        text = path.read_text(encoding="utf-8")
        name = sources.relative(path)
        report.run(f"Docs.LinksOf/{name}", links_lead_somewhere, path, text)
        for number, script in enumerate(_BLOCK.findall(text), 1):
            report.run(f"Docs.CommandsOf/{name}/{number}", run_block, script)
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(main())
