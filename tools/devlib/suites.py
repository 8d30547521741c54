"""One suite = one program that tells about its tests in GoogleTest's lines, or a check that only has an exit code."""
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import time

from devlib import console

_LINE = re.compile(r"^\[ *(RUN|OK|FAILED|SKIPPED) *\] (\S+?)(?:,? (?:\(|where ).*)?$")


@dataclasses.dataclass
class Suite:
    name: str
    command: list
    # A check counts as one test by its exit code; other programs print a line per test.
    is_check: bool = False
    environment: dict = dataclasses.field(default_factory=dict)
    # A filter may leave nothing to run.
    may_be_empty: bool = False
    time_limit: int = 900


@dataclasses.dataclass
class Result:
    suite: Suite
    seconds: float = 0.0
    passed: list = dataclasses.field(default_factory=list)
    failed: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)
    output: str = ""
    log: pathlib.Path = None


_running = {}  # process -> name of its suite


def running():
    return sorted(_running.values())


def stop_all():
    """Ends the programs of all suites that run; for an interrupted ./dev."""
    for process in list(_running):
        _kill(process)


def _kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended by itself


def _read_lines(result):
    """Counts tests by their lines; a test that began and never ended has taken the program down and counts as failed."""
    outcome = {}
    for line in result.output.splitlines():
        match = _LINE.match(line)
        if match:
            outcome[match[2]] = match[1]
    lists = {"OK": result.passed, "FAILED": result.failed, "SKIPPED": result.skipped, "RUN": result.failed}
    for name, state in outcome.items():
        lists[state].append(f"{result.suite.name}: {name}")


def run(suite, log_folder):
    """Runs one suite to its end or its time limit. The output goes to a log file beside the build."""
    start = time.monotonic()
    process = subprocess.Popen(suite.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               env=os.environ | suite.environment, text=True, errors="replace", start_new_session=True)
    _running[process] = suite.name
    try:
        output, _ = process.communicate(timeout=suite.time_limit)
    except subprocess.TimeoutExpired:
        _kill(process)
        output, _ = process.communicate()
        output += f"\nkilled after {suite.time_limit} s\n"
    except BaseException:
        _kill(process)
        raise
    finally:
        del _running[process]
    log_folder.mkdir(parents=True, exist_ok=True)
    log = log_folder / (suite.name.replace("/", "_") + ".log")
    log.write_text(output, encoding="utf-8")
    result = Result(suite, time.monotonic() - start, output=output, log=log)
    if not suite.is_check:
        _read_lines(result)
    if process.returncode != 0 and not result.failed:
        result.failed.append(f"{suite.name}: exit code {process.returncode}")
    elif suite.is_check:
        result.passed.append(suite.name)
    elif not (suite.may_be_empty or result.passed or result.failed or result.skipped):
        result.failed.append(f"{suite.name}: ran no test")
    return result


def show(result):
    """One line for a suite that passed, the end of its output too for one that failed; nothing for one that ran no test."""
    if not (result.passed or result.failed or result.skipped):
        return
    counts = f"{len(result.passed)} passed"
    if result.failed:
        counts += f", {len(result.failed)} failed"
    if result.skipped:
        counts += f", {len(result.skipped)} skipped"
    mark = console.red("FAIL") if result.failed else console.green("ok  ")
    console.say(f"  {mark}  {result.suite.name:<28} {counts}, {result.seconds:.1f} s")
    if result.failed:
        for line in result.output.splitlines()[-60:]:
            console.say("        " + line)
        console.say(f"        whole output: {result.log}")
    else:
        for line in result.output.splitlines():
            if line.startswith("warning: "):
                console.say("        " + console.yellow(line))
