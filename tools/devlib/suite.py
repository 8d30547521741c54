"""./dev suite: TensorFlow's own Python tests, every session sent to a `caudal server`, against what a TensorFlow server passes.

Each test file runs in a process of its own (tests/suite/tf_suite_plugin.py redirects its sessions) and leaves a JSON-lines
report. Only tests count that ran steps on the server and pass there on TensorFlow's server (tests/suite/baseline.json).
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from devlib import building, console, venv
from devlib.paths import ROOT, build_folder, cache_folder

SUITE = ROOT / "tests" / "suite"
SOURCE_TAG = "v2.21.0"
SOURCE = "https://github.com/tensorflow/tensorflow"
FAMILIES = {
    "executor": ("control_flow", "data_structures", "variables/", "client/", "training/saver_test", "ops/gradients_test",
                 "functional"),
    "array": ("array_ops",),
    "math": ("math_ops", "linalg", "signal", "ops/math", "special_math", "bitwise"),
    "nn": ("nn_ops", "ops/nn", "ops/rnn"),
    "training": ("python/training/",),
    "data": ("io_ops", "strings_ops", "image", "sparse"),
}


def source_tree(given):
    """A tree with `tensorflow/python` of the release that the virtual environment has; cloned sparsely where none is given."""
    if given:
        return pathlib.Path(given).resolve()
    folder = cache_folder() / f"tensorflow-{SOURCE_TAG}"
    if not (folder / "tensorflow" / "python").is_dir():
        console.say(f"fetching TensorFlow's tests ({SOURCE_TAG}) to {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        clone = ["git", "clone", "--depth", "1", "--branch", SOURCE_TAG, "--filter=blob:none", "--sparse", SOURCE, str(folder)]
        for command in (clone, ["git", "-C", str(folder), "sparse-checkout", "set", "tensorflow/python"]):
            if subprocess.run(command, check=False).returncode != 0:
                raise building.BuildError("cannot fetch TensorFlow's sources; give a tree with --src or CAUDAL_TF_SOURCE")
    return folder


def name_of(file):
    return file.replace("tensorflow/python/", "").replace("/", "__").removesuffix(".py")


class Server:
    """A `caudal server`, started again if it ends."""

    def __init__(self, program, log):
        self.program, self.log, self.process, self.starts = program, log, None, 0
        self.peak_kb = 0

    def target(self):
        if self.process is None or self.process.poll() is not None:
            self.starts += 1
            command = [str(self.program), "server", "--port", "0", "--json", "--allow-dir", tempfile.gettempdir()]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
            self.address = json.loads(self.process.stdout.readline())["target"]
        return self.address

    def resident_kb(self):
        """Peak resident memory of the running server."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return self.peak_kb
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                self.peak_kb = max(self.peak_kb, int(line.split()[1]))
        return self.peak_kb

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.resident_kb()
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()


def run_file(python, tree, file, server, folder, mode, limit):
    """Runs one test file; its report lies in `folder`. Gives how it ended: ok, timeout, exit N."""
    report = folder / (name_of(file) + ".jsonl")
    report.unlink(missing_ok=True)
    environment = dict(os.environ, TF_SUITE_TARGET=server.target(), TF_SUITE_SRC=str(tree), TF_SUITE_MODE=mode,
                       TF_SUITE_REPORT=str(report), TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=str(SUITE), CUDA_VISIBLE_DEVICES="")
    command = [str(python), "-m", "pytest", "-q", "-p", "tf_suite_plugin", "-p", "no:cacheprovider", "--tb=no", "--rootdir",
               str(tree), "-o", "python_files=*.py", str(tree / file)]
    start = time.time()
    try:
        done = subprocess.run(command, env=environment, cwd=folder, timeout=limit, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        end = "ok" if done.returncode in (0, 1) else f"exit {done.returncode}"
    except subprocess.TimeoutExpired:
        end = "timeout"
    with open(report, "a", encoding="utf-8") as out:
        out.write(json.dumps({"file": file, "end": end, "seconds": round(time.time() - start, 1)}) + "\n")
    return end


def results_of(folder):
    """File -> (test -> row, how the file ended)."""
    results = {}
    for path in sorted(folder.glob("*.jsonl")):
        tests, end = {}, "missing"
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "test" in row:
                tests[row["test"]] = row
            else:
                end = row["end"]
        results[path.stem] = (tests, end)
    return results


def compare(names, ours, baseline):
    """Per file, how many of the tests that pass on TensorFlow's server pass here, and why the others do not."""
    rows, causes = [], collections.Counter()
    for name in names:
        tests, end = ours.get(name, ({}, "missing"))
        counted = baseline.get(name, {}).get("passed_remote", [])
        missing = [t for t in counted if tests.get(t, {}).get("outcome") != "passed" or not tests[t]["remote"]]
        for test in missing:
            causes[tests.get(test, {}).get("message", "not run").split("\n")[0][:120]] += 1
        here = sum(1 for row in tests.values() if row["remote"] and row["outcome"] == "passed")
        failed = sum(1 for row in tests.values() if row["remote"] and row["outcome"] == "failed")
        rows.append({"file": name, "counted": len(counted), "passed": len(counted) - len(missing), "missing": missing,
                     "end": end, "passed_here": here, "failed_here": failed})
    return rows, causes


def show(rows, causes, server):
    for row in rows:
        mark = console.green("ok  ") if not row["missing"] and row["end"] == "ok" else console.yellow("part")
        end = "" if row["end"] == "ok" else f" ({row['end']})"
        console.say(f"  {mark}  {row['file']:<64} {row['passed']:>4} of {row['counted']:<4} here "
                    f"{row['passed_here']} passed, {row['failed_here']} failed{end}")
    if causes:
        console.say("\nmost frequent causes")
        for text, count in causes.most_common(25):
            console.say(f"  {count:>4}  {text}")
    counted, passed = sum(r["counted"] for r in rows), sum(r["passed"] for r in rows)
    share = 100.0 * passed / max(counted, 1)
    console.say(f"\n{passed} of {counted} tests that pass on TensorFlow's server pass here ({share:.1f}%); "
                f"server: {server.starts} start(s), peak {server.resident_kb() / 1024:.0f} MB")


def chosen(options):
    files = [f for f in (SUITE / "files.txt").read_text(encoding="utf-8").split() if f.endswith(".py")]
    if options.files:
        return [f if f.startswith("tensorflow/") else "tensorflow/python/" + f for f in options.files]
    if options.family:
        return [f for f in files if any(part in f for family in options.family for part in FAMILIES[family])]
    return files


def main(arguments):
    parser = argparse.ArgumentParser(prog="dev suite", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="*", help="test files, e.g. kernel_tests/array_ops/pad_op_test.py; default: all")
    parser.add_argument("--family", action="append", choices=sorted(FAMILIES))
    parser.add_argument("--src", default=os.environ.get("CAUDAL_TF_SOURCE"), help="a tree with tensorflow/python")
    parser.add_argument("--program", type=pathlib.Path, help="the caudal to test (default: builds the release preset)")
    parser.add_argument("--mode", choices=["v1", "v2"], default="v1", help="TF1's control flow and variables, or TF2's")
    parser.add_argument("--limit", type=float, default=300, help="seconds per file")
    parser.add_argument("--jobs", type=int, default=1, help="files at once, all on the one server")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "suite")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args(arguments)
    if options.program is None:
        building.build("release", "caudal_bin")
        options.program = build_folder("release") / "caudal"
    tree, python = source_tree(options.src), venv.python(SUITE / "requirements.txt")
    options.out.mkdir(parents=True, exist_ok=True)
    files = chosen(options)
    with open(options.out / "server.log", "w", encoding="utf-8") as log:
        server = Server(options.program.resolve(), log)
        try:
            server.target()
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                ends = pool.map(lambda f: (f, run_file(python, tree, f, server, options.out.resolve(), options.mode,
                                                       options.limit)), files)
                for i, (file, end) in enumerate(ends, 1):
                    console.say(f"[{i}/{len(files)}] {file} {end}")
            server.resident_kb()
        finally:
            server.stop()
    baseline = json.loads((SUITE / "baseline.json").read_text(encoding="utf-8"))
    rows, causes = compare([name_of(f) for f in files], results_of(options.out), baseline)
    if options.json:
        print(json.dumps({"rows": rows, "causes": causes, "server_starts": server.starts, "peak_kb": server.peak_kb}))
    else:
        show(rows, causes, server)
    return 0 if all(not r["missing"] and r["end"] == "ok" for r in rows) and server.starts == 1 else 1
