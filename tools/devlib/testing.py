"""./dev test: builds, runs every check and test, adds up."""
import argparse
import concurrent.futures
import functools
import os
import sys
import tempfile
import time

from devlib import building, console, fuzzing, suites, venv
from devlib.paths import ROOT, build_folder

# Seconds that the fuzz targets get in all.
FUZZ_SECONDS = 60
SANITIZERS = {
    "asan": {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"},
    "tsan": {"TSAN_OPTIONS": f"halt_on_error=1:ignore_noninstrumented_modules=1:suppressions={ROOT}/tools/tsan.supp"},
}


def tool(name, *arguments):
    return [sys.executable, str(ROOT / "tools" / name), *map(str, arguments)]


def check(name, *arguments):
    return suites.Suite(f"check/{name}", tool(f"check_{name}.py", *arguments), is_check=True)


def source_checks():
    return [check("layers"), check("sizes"), check("text"), check("format"), suites.Suite("tools", tool("tools_test.py")),
            suites.Suite("performance_page", tool("performance_page_test.py"))]


def cpp_suites(preset, filter_text, environment=None):
    """A suite per test program of a preset. CAUDAL_SANITIZED tells the heaviest tests to take fewer rounds."""
    options = [f"--gtest_filter=*{filter_text}*"] if filter_text else []
    found = sorted((build_folder(preset) / "tests").glob("*_test"))
    return [suites.Suite(f"{preset}/{path.name}", [str(path), "--gtest_color=no", *options],
                         environment={"CAUDAL_BIN": str(build_folder(preset) / "caudal")} | (environment or {}),
                         may_be_empty=bool(filter_text))
            for path in found]


def python_suites(python, filter_text):
    # Quiet and with few threads: two of them run at once.
    environment = {"CAUDAL_BIN": str(build_folder("release") / "caudal"), "CAUDAL_SOURCE_DIR": str(ROOT),
                   "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "",
                   # Importing TensorFlow takes twice as long without its compiled files.
                   "PYTHONDONTWRITEBYTECODE": ""}
    return [suites.Suite(f"python/{path.stem}", [str(python), str(ROOT / "tools" / "run_python_test.py"), str(path), filter_text],
                         environment=environment, may_be_empty=bool(filter_text))
            for path in sorted((ROOT / "tests" / "python").glob("*_test.py"))]


def built_checks():
    """Checks and tests of the whole that need the release build."""
    release = build_folder("release")
    return [check("compile_costs", building.costs_file("release")),
            suites.Suite("install", tool("install_test.py", release)),
            suites.Suite("docs", tool("docs_test.py")),
            suites.Suite("examples", tool("examples_test.py", release)),
            *(suites.Suite(path.stem, tool(path.name)) for path in sorted((ROOT / "tools").glob("*_scratch_test.py")))]


class Run:
    """Runs suites, two at a time, and keeps their results."""

    def __init__(self):
        self.results = []
        self.phases = []

    def phase(self, name, action):
        start = time.monotonic()
        try:
            return action()
        finally:
            self.phases.append((name, time.monotonic() - start))

    def run(self, name, wanted):
        if not wanted:
            return
        console.say(console.bold(name))
        log_folder = ROOT / "build" / "test-logs"
        with tempfile.TemporaryDirectory(prefix="caudal-test-") as scratch, \
                concurrent.futures.ThreadPoolExecutor(min(2, building.jobs())) as pool:
            for suite in wanted:
                suite.environment.setdefault("TMPDIR", scratch)
            waiting = {pool.submit(suites.run, suite, log_folder): suite for suite in wanted}
            progress = console.Progress("tests")
            try:
                while waiting:
                    progress.update(len(wanted) - len(waiting), len(wanted), " ".join(suites.running()))
                    done, _ = concurrent.futures.wait(waiting, 1, concurrent.futures.FIRST_COMPLETED)
                    for future in done:
                        del waiting[future]
                        self.results.append(future.result())
                        suites.show(self.results[-1])
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                suites.stop_all()
                raise

    def fail(self, name, why):
        """Counts something that could not even start as a failed test."""
        console.say(f"  {console.red('FAIL')}  {name}: {why}")
        self.results.append(suites.Result(suites.Suite(name, [], is_check=True), failed=[name]))

    def summary(self):
        """The closing lines; the last one is `N passed, N failed`, and `, N skipped` after it where tests were skipped."""
        passed, failed, skipped = ([name for result in self.results for name in getattr(result, kind)]
                                   for kind in ("passed", "failed", "skipped"))
        for label, names in (("skipped", skipped), ("failed", failed)):
            for name in names:
                console.say(f"  {label}: {name}")
        line = f"{len(passed)} passed, {len(failed)} failed"
        console.say(line + (f", {len(skipped)} skipped" if skipped else ""))
        return 1 if failed or not passed else 0

    def show_times(self):
        console.say(console.bold("Where the time went"))
        for name, seconds in self.phases:
            console.say(f"  {console.minutes(seconds):>6}  {name}")
        for result in sorted(self.results, key=lambda result: -result.seconds)[:15]:
            console.say(f"  {result.seconds:6.1f} s  {result.suite.name}")
        costs = building.costs_file("release")
        if costs.exists():
            console.say(console.bold("Dearest sources (processor seconds, MB)"))
            for source, seconds, megabytes in building.read_costs(costs)[:10]:
                console.say(f"  {seconds:6.1f} s {megabytes:6d} MB  {source}")


def _normal(run, options):
    if not options.filter:
        run.phase("source checks", lambda: run.run("Checks of the sources", source_checks()))
    have_python_tests = any((ROOT / "tests" / "python").glob("*_test.py"))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        # TensorFlow's 300 MB come while the compilers run.
        python = pool.submit(venv.python) if have_python_tests else None
        console.say(console.bold("Build"))
        run.phase("build", lambda: building.build("release"))
        if not options.filter:
            run.phase("build of fuzz targets", lambda: fuzzing.build())
        if python and not python.done():
            console.say("  TensorFlow for the comparisons is still coming")
        try:
            interpreter = run.phase("wait for TensorFlow", python.result) if python else None
        except RuntimeError as error:
            interpreter = None
            run.fail("python environment", error)
    # The long ones first, so that two at a time end together.
    wanted = [] if options.filter else built_checks()
    if interpreter:
        wanted += python_suites(interpreter, options.filter)
    wanted += cpp_suites("release", options.filter)
    run.phase("tests", lambda: run.run("Tests", wanted))
    if not options.filter:
        targets = fuzzing.targets()
        run.phase("fuzzing", lambda: run.run("Fuzzing", [fuzzing.suite(name, FUZZ_SECONDS // len(targets)) for name in targets]))


def _sanitized(run, options):
    for preset, environment in SANITIZERS.items():
        console.say(console.bold(f"Build ({preset})"))
        run.phase(f"build {preset}", functools.partial(building.build, preset))
        wanted = cpp_suites(preset, options.filter, environment | {"CAUDAL_SANITIZED": preset})
        run.phase(f"tests {preset}", functools.partial(run.run, f"Tests ({preset})", wanted))


def main(arguments):
    parser = argparse.ArgumentParser(prog="dev test", description="Build and run all checks and tests.")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only tests whose name holds TEXT, and no checks")
    parser.add_argument("--times", action="store_true", help="print where the time goes")
    parser.add_argument("--sanitize", action="store_true",
                        help="instead of all that: the C++ tests under the address and the thread sanitizer")
    options = parser.parse_args(arguments)
    os.environ["CAUDAL_SOURCE_DIR"] = str(ROOT)
    run = Run()
    try:
        (_sanitized if options.sanitize else _normal)(run, options)
    except building.BuildError as error:
        run.fail("build", error)
    if options.times:
        run.show_times()
    return run.summary()
