#!/usr/bin/env python3
"""Carries out the recipe "Add an op" of CONTRIBUTING.md: takes its files out of a copy of the tree, adds them as the page has them, builds
and tests.

Takes what is unchanged from the release build, which must be there: add_op_scratch_test.py"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from devlib import building, sources
from devlib.paths import ROOT, build_folder
from devlib.reporting import Report

_FILE = re.compile(r"^<!-- file: (\S+) -->\n```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)


def call(*command, cwd, **environment):
    result = subprocess.run(list(map(str, command)), cwd=cwd, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env=os.environ | environment)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout[-6000:]}\nexit code {result.returncode}"
    return result.stdout


class Recipe:
    def __init__(self, folder):
        self.tree = ROOT.__class__(folder) / "tree"
        self.build = self.tree / "build" / "release"
        self.files = dict(_FILE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))

    def is_three_files_of_one_family(self):
        """New files only, so that nothing that exists is touched."""
        stems = {re.sub(r"(_test)?\.(cc|h)$", "", name) for name in self.files}
        assert len(self.files) == 3 and len(stems) == 1, sorted(self.files)
        assert stems.pop().startswith("caudal/ops/")
        changed = [name for name, text in self.files.items() if (ROOT / name).read_text(encoding="utf-8") != text]
        assert not changed, f"the page and the tree differ: {changed}"

    def copy_without_them(self):
        for path in sources.all_files():
            if sources.relative(path) in self.files:
                continue
            target = self.tree / sources.relative(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            shutil.copymode(path, target)
        call("git", "init", "-q", ".", cwd=self.tree)
        self.configure()
        stem = next(iter(self.files)).removesuffix(".h")
        assert f"{stem}.cc.o" not in (self.build / "build.ninja").read_text(encoding="utf-8")

    def configure(self):
        # Without the start-up files of Python, which cost more than the work.
        launcher = ";".join([sys.executable, "-I", "-S", str(ROOT / "tools" / "reuse_object.py")])
        call("cmake", "--preset", "release", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", cwd=self.tree)

    def add_them(self):
        for name, text in self.files.items():
            (self.tree / name).write_text(text, encoding="utf-8")

    def passes_the_source_checks(self):
        for check in ("layers", "format"):
            call(sys.executable, f"tools/check_{check}.py", cwd=self.tree)

    def builds(self):
        call("ninja", "-C", self.build, "-j", building.jobs(), "ops_test", cwd=self.tree, CAUDAL_ORIGINAL=str(ROOT),
             CAUDAL_COPY=str(self.tree), CAUDAL_ORIGINAL_BUILD=str(build_folder("release")))

    def op_passes_its_tests(self):
        output = call(self.build / "tests" / "ops_test", "--gtest_filter=*Cross*:-*CrossEntropy*", cwd=self.tree)
        assert int(re.search(r"\[  PASSED  \] (\d+) test", output)[1]) >= 2, output


def main():
    report = Report()
    with tempfile.TemporaryDirectory(prefix="caudal-add-op-") as folder:
        recipe = Recipe(folder)
        steps = [recipe.is_three_files_of_one_family, recipe.copy_without_them, recipe.add_them, recipe.passes_the_source_checks,
                 recipe.builds, recipe.op_passes_its_tests]
        for step in steps:
            name = "".join(word.capitalize() for word in step.__name__.split("_"))
            if not report.run(f"AddOp.{name}", step):
                break
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(main())
