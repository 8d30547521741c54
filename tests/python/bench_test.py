"""The rows of ./dev bench: ratios, verdicts, and run.py with a program that gives fixed figures."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(os.environ["CAUDAL_SOURCE_DIR"]) / "bench"
sys.path.insert(0, str(BENCH))
import peers
import rows

_FAKE_PROGRAM = """#!/bin/sh
for last; do :; done
case $last in
  train/lenet_50) echo '{"case": "train/lenet_50", "values": [100, 101, 102]}' ;;
  io/checkpoint_save_durable) echo '{"case": "io/checkpoint_save_durable", "values": [95, 90, 90]}' ;;
  io/disk_write) echo '{"case": "io/disk_write", "values": [100, 100, 100]}' ;;
  overhead/one_op_run) echo '{"case": "overhead/one_op_run", "values": [1, 1.5]}' ;;
  *) echo "no such case" >&2; exit 2 ;;
esac
"""


def goal(**changes):
    return {"case": "x/y", "metric": "rate", "unit": "1/s", "goal": 2.0} | changes


class RowsTest(unittest.TestCase):
    def row(self, ours, theirs, **changes):
        return rows.Row(goal(**changes), rows.Figure(ours), {name: rows.Figure(values) for name, values in theirs.items()})

    def test_ratio_above_one_is_better(self):
        self.assertAlmostEqual(self.row([30], {"a": [10], "b": [12]}).ratio, 2.5)
        self.assertAlmostEqual(self.row([5], {"a": [10], "b": [12]}, better="lower").ratio, 2)

    def test_best_peer(self):
        self.assertEqual(self.row([1], {"a": [10], "b": [12]}).best, "b")
        self.assertEqual(self.row([1], {"a": [10], "b": [12]}, better="lower").best, "a")

    def test_verdicts(self):
        self.assertEqual(self.row([30], {"a": [10]}).verdict, rows.REACHED)
        self.assertEqual(self.row([20], {"a": [10]}).verdict, rows.REACHED)
        self.assertEqual(self.row([19], {"a": [10]}).verdict, rows.SHORT)
        self.assertEqual(self.row([30], {}).verdict, rows.NO_PEER)
        self.assertEqual(rows.Row(goal(), None, {"a": rows.Figure([10])}).verdict, rows.FAILED)

    def test_no_verdict_above_ten_percent(self):
        for row in (self.row([28, 30, 32], {"a": [10]}), self.row([30], {"a": [10, 10, 11.1]})):
            self.assertEqual(row.verdict, rows.NOISY)
            self.assertIsNone(json.loads(row.to_json())["ratio"])
        # Only the peer that counts must be steady.
        self.assertEqual(self.row([30], {"a": [10], "b": [5, 9]}).verdict, rows.REACHED)

    def test_geometric_mean(self):
        parts = [self.row([20], {"a": [10]}), self.row([80], {"a": [10]})]
        self.assertAlmostEqual(rows.geometric_mean_row(goal(), parts).ratio, 4)
        noisy = rows.geometric_mean_row(goal(), [*parts, self.row([80, 90, 100], {"a": [10]})])
        self.assertEqual((noisy.verdict, noisy.ratio), (rows.NOISY, None))


class GoalsTest(unittest.TestCase):
    def test_table(self):
        goals = rows.load_goals()
        names = [one["case"] for one in goals]
        self.assertEqual(len(names), len(set(names)))
        known = {peer.name for peer in peers.PEERS}
        for one in goals:
            self.assertIn(one["case"].split("/")[0], ("train", "overhead", "io", "start", "env"))
            self.assertGreater(one["goal"], 0)
            self.assertTrue(one["metric"] and one["unit"])
            self.assertLessEqual(set(one.get("peers", [])), known, one["case"])
            self.assertLessEqual(set(one.get("geometric_mean_of", [])), set(names))

    def test_every_row_has_something_to_compare_with(self):
        for one in rows.load_goals():
            case = one.get("measure", one["case"])
            able = {peer.name for peer in peers.PEERS if peers.supports(peer, case)}
            self.assertTrue(able & set(one.get("peers", able)) or one.keys() & {"own", "limit", "geometric_mean_of"}, one["case"])


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "bench").mkdir()
        program = self.build / "bench" / "caudal_bench"
        program.write_text(_FAKE_PROGRAM, encoding="utf-8")
        program.chmod(0o755)

    def run_bench(self, *arguments):
        return subprocess.run([sys.executable, str(BENCH / "run.py"), "--build", str(self.build), *arguments],
                              capture_output=True, text=True)

    def test_json(self):
        result = self.run_bench("--json", "--only", "durable")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout),
                         {"case": "io/checkpoint_save_durable", "metric": "throughput", "unit": "MB/s", "caudal": 90.0,
                          "peers": {"disk": 100.0}, "ratio": 0.9, "goal": 0.8})

    def test_table(self):
        result = self.run_bench("--only", "overhead/one_op_run_limit")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"overhead/one_op_run_limit +1\.25 us +1 \.\. 1\.5 +2 \(limit\) +noisy +1 +noisy \(40%\)")

    def test_case_beside_a_busy_process(self):
        result = self.run_bench("--json", "--only", "beside_busy")
        self.assertEqual(json.loads(result.stdout)["ratio"], 1.0)

    def test_failed_case_is_told(self):
        result = self.run_bench("--json", "--only", "train/mlp_50")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no such case", result.stderr)
        self.assertIsNone(json.loads(result.stdout)["caudal"])

    def test_unknown_words(self):
        self.assertEqual(self.run_bench("--only", "nothing").returncode, 2)
        self.assertEqual(self.run_bench("--peers", "nobody").returncode, 2)
