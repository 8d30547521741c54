#!/usr/bin/env python3
"""Tests of the tools themselves: every source check must catch a planted fault, and ./dev must find its packages."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from devlib import suites
from devlib.paths import ROOT
from devlib.reporting import Report

CLEAN = "#pragma once\n"


class Tree:
    """A small tree with our tools and some files of its own."""

    def __init__(self, folder, files):
        self.folder = pathlib.Path(folder)
        for name in ("tools", "dev", "CMakeLists.txt", ".clang-format", ".gitignore"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.folder / name)
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q", self.folder], check=True)

    def run(self, *command, **environment):
        return subprocess.run(command, cwd=self.folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=os.environ | environment)


def check_catches(check, name, text, *arguments):
    """The check passes a clean tree and fails on one with the planted file, which it names."""
    for planted in ({}, {name: text}):
        with tempfile.TemporaryDirectory() as folder:
            tree = Tree(folder, {"caudal/base/clean.h": CLEAN} | planted)
            result = tree.run(sys.executable, f"tools/check_{check}.py", *arguments)
            assert (result.returncode != 0) == bool(planted), result.stdout
            assert not planted or pathlib.Path(name).name in result.stdout, result.stdout


def compile_costs_catches():
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder, {"caudal/ops/a.cc": "", "caudal/ops/b.cc": ""})
        lines = {"time": f"{folder}/caudal/ops/a.cc\t20.5\t100\n", "memory": f"{folder}/caudal/ops/b.cc\t1.0\t1500\n",
                 "none": f"{folder}/caudal/ops/a.cc\t30.0\t100\n{folder}/caudal/ops/a.cc\t19.0\t1000\n"}
        for what, text in lines.items():
            (tree.folder / "costs.tsv").write_text(text, encoding="utf-8")
            result = tree.run(sys.executable, "tools/check_compile_costs.py", "costs.tsv")
            assert (result.returncode == 0) == (what == "none"), f"{what}: {result.stdout}"


def compile_cost_measures():
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder, {"a.cc": "int main() {}\n", "bad.cc": "int main( {}\n"})
        launcher = [sys.executable, "tools/compile_cost.py", "c++", "-c"]
        costs = str(tree.folder / "costs.tsv")
        assert tree.run(*launcher, "a.cc", CAUDAL_COMPILE_COSTS=costs).returncode == 0
        assert tree.run(*launcher, "bad.cc", CAUDAL_COMPILE_COSTS=costs).returncode != 0
        source, seconds, megabytes = pathlib.Path(costs).read_text(encoding="utf-8").strip().split("\t")
        assert source == str((tree.folder / "a.cc").resolve()) and float(seconds) >= 0 and int(megabytes) > 5


def reader_counts(output, code, expected):
    """A program that prints these lines and ends with this code: numbers passed, failed, skipped."""
    with tempfile.TemporaryDirectory() as folder:
        suite = suites.Suite("x", [sys.executable, "-c", f"print({output!r}); raise SystemExit({code})"])
        result = suites.run(suite, pathlib.Path(folder))
        counts = (len(result.passed), len(result.failed), len(result.skipped))
        assert counts == expected, f"{counts} instead of {expected}"


def reader_ends_a_hanging_program():
    with tempfile.TemporaryDirectory() as folder:
        result = suites.run(suites.Suite("x", ["sleep", "60"], time_limit=1), pathlib.Path(folder))
        assert result.failed and "killed after 1 s" in result.output


def fake_system(folder, installed, apt_works):
    """A PATH with a dpkg-query that knows some packages and an apt-get that notes what it was asked for."""
    tree = Tree(folder, {})
    binaries = tree.folder / "fake"
    binaries.mkdir()
    scripts = {
        "dpkg": "true",
        "dpkg-query": 'for p in "$@"; do :; done; case " ' + " ".join(installed) + ' " in *" $p "*) printf installed;; *) exit 1;; esac',
        "apt-get": f'echo "$@" >> "{folder}/apt.log"; [ "$1" = update ] || {"true" if apt_works else "false"}',
    }
    for name, body in scripts.items():
        (binaries / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (binaries / name).chmod(0o755)
    return tree, f"{binaries}:{os.environ['PATH']}"


def deps_installs_what_is_missing():
    with tempfile.TemporaryDirectory() as folder:
        tree, path = fake_system(folder, ["cmake"], apt_works=True)
        result = tree.run("./dev", "deps", "build", "--yes", PATH=path)
        asked = (tree.folder / "apt.log").read_text(encoding="utf-8")
        assert result.returncode == 0, result.stdout
        assert " g++ " in asked and "cmake" not in asked, asked


def deps_without_packages_names_the_line():
    with tempfile.TemporaryDirectory() as folder:
        tree, path = fake_system(folder, [], apt_works=False)
        result = tree.run("./dev", "deps", "build", PATH=path)
        assert result.returncode == 3, result.stdout
        assert "apt-get install -y --no-install-recommends" in result.stdout, result.stdout


def deps_goes_on_without_optional_packages():
    build = [line.split()[1] for line in (ROOT / "tools" / "deps.txt").read_text(encoding="utf-8").splitlines()
             if line.startswith("build ")]
    with tempfile.TemporaryDirectory() as folder:
        tree, path = fake_system(folder, build, apt_works=False)
        result = tree.run("./dev", "deps", "demo", PATH=path)
        assert result.returncode == 0 and "going on without: dataset-fashion-mnist" in result.stdout, result.stdout


def dev_tells_its_commands():
    usage = subprocess.run([ROOT / "dev"], text=True, capture_output=True)
    assert usage.returncode == 0
    for command in ("demo", "test", "build", "bench", "fuzz", "fmt", "lint", "deps", "clean"):
        assert f"\n  {command} " in usage.stdout, command
    wrong = subprocess.run([ROOT / "dev", "dance"], text=True, capture_output=True)
    assert wrong.returncode == 2 and "dance" in wrong.stderr


def main():
    report = Report()
    report.run("Checks.LayersCatchesUpwardInclude", check_catches, "layers", "caudal/base/a.h", '#include "caudal/ops/relu.h"\n')
    report.run("Checks.LayersCatchesProtobuf", check_catches, "layers", "caudal/ops/b.cc", "#include <google/protobuf/message.h>\n")
    report.run("Checks.LayersCatchesUnknownFolder", check_catches, "layers", "caudal/extra/c.h", CLEAN)
    report.run("Checks.SizesCatchesLongFile", check_catches, "sizes", "caudal/ops/long.cc", "\n" * 801)
    report.run("Checks.TextCatchesMachinePath", check_catches, "text", "docs/d.md", "see /" + "work/notes\n")
    report.run("Checks.TextCatchesMirror", check_catches, "text", "e.txt", "from http://deb." + "debian.org/debian\n")
    report.run("Checks.FormatCatchesBadFormat", check_catches, "format", "caudal/ops/f.cc", "int  main( ){return 0 ;}\n")
    report.run("Checks.CompileCostsCatches", compile_costs_catches)
    report.run("CompileCost.Measures", compile_cost_measures)
    ok, failed, begun = "[ RUN      ] A.B\n[       OK ] A.B (1 ms)\n", "[  FAILED  ] A.C (1 ms)\n", "[ RUN      ] A.D\n"
    parameterised = "[  FAILED  ] A/B.C/0, where GetParam() = 4 (0 ms)\n[  FAILED  ] A/B.C/1, where GetParam() = 5 (0 ms)\n"
    report.run("Reader.CountsPassed", reader_counts, ok, 0, (1, 0, 0))
    report.run("Reader.CountsFailedOnce", reader_counts, ok + failed + "[  FAILED  ] A.C\n", 1, (1, 1, 0))
    report.run("Reader.CountsParameterised", reader_counts, parameterised, 1, (0, 2, 0))
    report.run("Reader.CountsCrashedTest", reader_counts, ok + begun, -6, (1, 1, 0))
    report.run("Reader.CountsCrashAtTheEnd", reader_counts, ok, 139, (1, 1, 0))
    report.run("Reader.CountsSkipped", reader_counts, "[ RUN      ] A.E\n[  SKIPPED ] A.E (0 ms)\n", 0, (0, 0, 1))
    report.run("Reader.FailsOnNoTest", reader_counts, "nothing", 0, (0, 1, 0))
    report.run("Reader.EndsAHangingProgram", reader_ends_a_hanging_program)
    report.run("Dev.TellsItsCommands", dev_tells_its_commands)
    if os.geteuid() == 0:
        report.run("Deps.InstallsWhatIsMissing", deps_installs_what_is_missing)
    report.run("Deps.WithoutPackagesNamesTheLine", deps_without_packages_names_the_line)
    report.run("Deps.GoesOnWithoutOptionalPackages", deps_goes_on_without_optional_packages)
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(main())
