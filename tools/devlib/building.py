"""Configures and builds a preset, with progress and the cost of every compile."""
import argparse
import os
import re
import shutil
import subprocess

from devlib import console
from devlib.paths import ROOT, build_folder

PRESETS = ("release", "debug", "asan", "tsan")
_STATUS = re.compile(r"^\[(\d+)/(\d+)\] (.*)")


class BuildError(Exception):
    """A configure or build step failed; its output has been shown."""


def jobs():
    """Compile jobs at once: one per processor, at least 1 GB of memory each (the limit of a source file), CAUDAL_JOBS wins."""
    if os.environ.get("CAUDAL_JOBS"):
        return max(1, int(os.environ["CAUDAL_JOBS"]))
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    return max(1, min(len(os.sched_getaffinity(0)), memory_gb))


def costs_file(preset):
    return build_folder(preset) / "compile_costs.tsv"


def read_costs(file):
    """(source, seconds, megabytes) of the last compile of each source that still exists, dearest first."""
    latest = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        source, seconds, megabytes = line.split("\t")
        if os.path.exists(source):
            latest[os.path.relpath(source, ROOT)] = (float(seconds), int(megabytes))
    return sorted(((source, *cost) for source, cost in latest.items()), key=lambda cost: -cost[1])


def _build_environment(preset):
    environment = dict(os.environ)
    environment["NINJA_STATUS"] = "[%f/%t] "
    environment["CAUDAL_COMPILE_COSTS"] = str(costs_file(preset))
    # Where ccache stands before the compiler, let it call the cost wrapper: a cached result costs nothing.
    environment["CCACHE_PREFIX"] = str(ROOT / "tools" / "compile_cost.py")
    return environment


def _compiler_launcher():
    given = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER")
    return given or shutil.which("ccache") or str(ROOT / "tools" / "compile_cost.py")


def configure(preset, options=()):
    """`options` are further arguments of cmake, such as "-DCAUDAL_BENCH=ON"."""
    command = ["cmake", "--preset", preset, f"-DCMAKE_CXX_COMPILER_LAUNCHER={_compiler_launcher()}", *options]
    result = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        console.say(result.stdout)
        raise BuildError(f"cmake --preset {preset} failed")


def build(preset, target="all", options=()):
    """Builds a target; raises BuildError after showing what the compiler said. Warnings are shown too."""
    progress = console.Progress(f"build {preset}")
    build_folder(preset).mkdir(parents=True, exist_ok=True)
    configure(preset, options)
    command = ["ninja", "-C", str(build_folder(preset)), "-j", str(jobs()), target]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=_build_environment(preset), errors="replace")
    total, previous = 0, ""
    try:
        for line in process.stdout:
            status = _STATUS.match(line)
            if status:
                total = int(status[2])
                progress.update(int(status[1]), total, status[3].split("/")[-1])
            # The line after "FAILED:" is the whole command; what follows says what was wrong.
            elif line.startswith("ninja: error") or not (line.startswith("ninja: ") or previous.startswith("FAILED: ")):
                console.say(line.rstrip())
            previous = line
    except KeyboardInterrupt:
        process.terminate()
        raise
    finally:
        code = process.wait()
    if code != 0:
        raise BuildError(f"the build of preset {preset} failed")
    progress.finish(f"{total} steps" if total else "up to date")


def main(arguments):
    parser = argparse.ArgumentParser(prog="dev build", description="Build a preset.")
    parser.add_argument("preset", nargs="?", default="release", choices=PRESETS)
    parser.add_argument("--target", default="all", help="a CMake target, e.g. caudal_bin or ops_test")
    options = parser.parse_args(arguments)
    build(options.preset, options.target)
    return 0
