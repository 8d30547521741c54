#!/usr/bin/env python3
"""Installs a build into a clean prefix and uses it from outside: install_test.py BUILD_FOLDER."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

from devlib import building
from devlib.paths import ROOT
from devlib.reporting import Report

# Where Debian's dataset-fashion-mnist puts them.
PICTURES = "/usr/share/datasets/fashion-mnist"
_PROGRAM = re.compile(r"^<!-- program -->\n```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FOREIGN = re.compile(r"#\s*include\s+[<\"](google/|grpc|png|fmt/|spdlog|nlohmann|hdf5|dnnl|oneapi|.*\.pb\.h)")


def call(*command, **options):
    """Runs a command; a failure carries its output."""
    result = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{result.stdout}\nexit code {result.returncode}")
    return result.stdout


class InstallTest:
    def __init__(self, build):
        self.build = build
        self.prefix = build / "install-test" / "prefix"
        self.consumer = build / "install-test" / "consumer"

    def headers(self):
        return sorted((self.prefix / "include").rglob("*.h"))

    def installs(self):
        shutil.rmtree(self.prefix, ignore_errors=True)
        call("cmake", "--install", self.build, "--prefix", self.prefix)
        assert self.headers(), "no header was installed"

    def binary_runs_from_the_prefix(self):
        binary = self.prefix / "bin" / "caudal"
        if not (self.build / "caudal").exists():
            raise AssertionError("the build has no binary 'caudal'")
        assert re.search(r"\d+\.\d+\.\d+", call(binary, "--version"))

    def headers_are_free_of_other_libraries(self):
        found = [f"{path}: {line}" for path in self.headers() for line in path.read_text(encoding="utf-8").splitlines()
                 if _FOREIGN.match(line)]
        assert not found, "\n".join(found)

    def proven_by_its_source(self, header):
        """True for a header that its own .cc includes first: that it compiles alone is then shown by the build."""
        name = header.relative_to(self.prefix / "include").as_posix()
        source = ROOT / name.replace(".h", ".cc")
        if not source.exists():
            return False
        first = re.search(r"^#include [<\"](.*)[>\"]", source.read_text(encoding="utf-8"), re.MULTILINE)
        return first is not None and first[1] == name

    def each_header_compiles_alone(self):
        def compile_alone(path):
            call("c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror", "-x", "c++",
                 "-I", self.prefix / "include", "-include", path, os.devnull)

        with concurrent.futures.ThreadPoolExecutor(building.jobs()) as pool:
            list(pool.map(compile_alone, [header for header in self.headers() if not self.proven_by_its_source(header)]))

    def outside_project_builds(self):
        shutil.rmtree(self.consumer, ignore_errors=True)
        call("cmake", "-S", ROOT / "tests" / "consumer", "-B", self.consumer, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        call("cmake", "--build", self.consumer)

    def program_runs(self, name):
        call(self.consumer / name)

    def readme_program_trains(self, pictures):
        """The program of the README, word by word, on real pictures; it leaves a checkpoint."""
        folder = self.consumer / "readme"
        folder.mkdir()
        (folder / "program.cc").write_text(_PROGRAM.search((ROOT / "README.md").read_text(encoding="utf-8"))[1], encoding="utf-8")
        call("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "program.cc", "-o", "program",
             f"-I{self.prefix}/include", self.library(), f"-Wl,-rpath,{self.library().parent}", cwd=folder)
        call("./program", pictures, cwd=folder)
        assert (folder / "my_model_final.ckpt.index").exists(), sorted(folder.iterdir())

    def libraries_load(self, *libraries):
        call(self.consumer / "load", *libraries)

    def exports_only_public_symbols(self):
        """Hidden visibility at work: what libcaudal defines is in namespace caudal, of the C interface (caudal_...), or a template
        of the standard library."""
        symbols = call("nm", "-D", "-C", "--defined-only", self.library()).splitlines()
        names = [line.split(" ", 2)[2] for line in symbols if re.match(r"[0-9a-f]+ [TDB] ", line)]
        foreign = [name for name in names if "caudal::" not in name and not name.startswith("caudal_")]
        assert names and not foreign, "\n".join(foreign[:20])

    def library(self):
        return next((self.prefix).rglob("libcaudal.so"))


def main():
    test = InstallTest(pathlib.Path(sys.argv[1]).resolve())
    report = Report()
    if not report.run("Install.Installs", test.installs):
        return report.exit_code()
    if (ROOT / "caudal" / "cli" / "bin" / "caudal.cc").exists():
        report.run("Install.BinaryRunsFromThePrefix", test.binary_runs_from_the_prefix)
    report.run("Install.HeadersAreFreeOfOtherLibraries", test.headers_are_free_of_other_libraries)
    report.run("Install.EachHeaderCompilesAlone", test.each_header_compiles_alone)
    report.run("Install.ExportsOnlyPublicSymbols", test.exports_only_public_symbols)
    if not report.run("Install.OutsideProjectBuilds", test.outside_project_builds):
        return report.exit_code()
    report.run("Install.OutsideProgramRuns", test.program_runs, "consumer")
    if (ROOT / "caudal" / "caudal.h").exists():
        report.run("Install.ReadmeProgramTrains", test.readme_program_trains, PICTURES)
    report.run("Install.OwnGraphDefLinkedFirst", test.program_runs, "own_first")
    report.run("Install.OwnGraphDefLinkedLast", test.program_runs, "own_last")
    own = test.consumer / "libown_messages.so"
    report.run("Install.OwnGraphDefLoadedFirst", test.libraries_load, own, test.library())
    report.run("Install.OwnGraphDefLoadedLast", test.libraries_load, test.library(), own)
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(main())
