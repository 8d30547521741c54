"""`caudal demo` and the command line from outside: what it leaves, Ctrl-C and --resume, bad input."""
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
import unittest

from tensorboard.backend.event_processing import event_accumulator

_CAUDAL = os.environ["CAUDAL_BIN"]
_SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "fashion-mnist-sample"


def run(*words, **options):
    return subprocess.run([_CAUDAL, *map(str, words)], capture_output=True, text=True, timeout=300, **options)


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)


class DemoTest(Scratch):
    def demo(self, out, *words):
        return ["demo", "--data", _SAMPLE, "--out", out, "--json", *words]

    def test_result_line(self):
        result = run(*self.demo(self.folder / "out", "--epochs", 1))
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 1, "only the line of JSON goes to standard output")
        values = json.loads(lines[0])
        self.assertEqual(list(values), ["test_accuracy", "train_seconds", "checkpoint", "events"])
        self.assertGreater(values["test_accuracy"], 0.2)
        self.assertTrue(pathlib.Path(values["checkpoint"] + ".index").is_file())
        self.assertTrue(pathlib.Path(values["events"]).is_file())
        self.assertTrue((self.folder / "out" / "predictions.png").read_bytes().startswith(b"\x89PNG"))
        for word in ("Epoch 1/1", "loss:", "accuracy:", "val_loss:", "Test accuracy", "tensorboard --logdir"):
            self.assertIn(word, result.stderr)

    def test_same_seed_same_model(self):
        checkpoints = []
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            result = run(*self.demo(self.folder / name, "--epochs", 1, "--seed", seed))
            checkpoints.append(pathlib.Path(json.loads(result.stdout)["checkpoint"] + ".data-00000-of-00001").read_bytes())
        self.assertEqual(checkpoints[0], checkpoints[1])
        self.assertNotEqual(checkpoints[0], checkpoints[2])

    def interrupt(self, words, line, with_signal=signal.SIGINT):
        """Sends a signal, by default Ctrl-C's, once `line` was printed."""
        with subprocess.Popen([_CAUDAL, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            said = ""
            for text in child.stderr:
                said += text
                if line in text:
                    time.sleep(0.01)  # into the epoch
                    child.send_signal(with_signal)
                    break
            said += child.stderr.read()
            return child.wait(timeout=300), said

    def test_interrupted_and_resumed_is_uninterrupted(self):
        options = ["--epochs", 6, "--batch-size", 20]
        whole = run(*self.demo(self.folder / "whole", *options))
        self.assertEqual(whole.returncode, 0, whole.stderr)
        words = self.demo(self.folder / "parts", *options)
        for line, flags in (("Epoch 2/6", []), ("Epoch 4/6", ["--resume"])):
            code, said = self.interrupt(words + flags, line)
            self.assertEqual(code, 130, said)
            self.assertRegex(said, r"Stopped after step \d+.*model\.ckpt-\d+")
            self.assertIn("--resume", said)
        self.finish(whole, words)

    def test_killed_and_resumed_is_uninterrupted(self):
        """The last complete epoch is there; events from after it are dropped."""
        options = ["--epochs", 5, "--batch-size", 20]
        whole = run(*self.demo(self.folder / "whole", *options))
        words = self.demo(self.folder / "parts", *options)
        code, said = self.interrupt(words, "Epoch 3/5", signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL, said)
        self.finish(whole, words)

    def finish(self, whole, words):
        """Resumes the run in "parts" to its end; it must have become the one in "whole"."""
        parts = run(*words, "--resume")
        self.assertEqual(parts.returncode, 0, parts.stderr)
        self.assertIn("Resuming from", parts.stderr)

        a, b = json.loads(whole.stdout), json.loads(parts.stdout)
        self.assertEqual(a["test_accuracy"], b["test_accuracy"])
        for suffix in (".index", ".data-00000-of-00001", ".caudal-state", ".meta"):
            self.assertEqual(pathlib.Path(a["checkpoint"] + suffix).read_bytes(),
                             pathlib.Path(b["checkpoint"] + suffix).read_bytes(), suffix)
        self.assertEqual(self.curves("whole"), self.curves("parts"))

    def curves(self, name):
        events = event_accumulator.EventAccumulator(str(self.folder / name / "events"), {event_accumulator.SCALARS: 0})
        events.Reload()
        tags = sorted(events.Tags()["scalars"])
        self.assertIn("batch/loss", tags)
        return {tag: [(item.step, item.value) for item in events.Scalars(tag)] for tag in tags}

    def test_finished_run_goes_on_with_more_epochs(self):
        first = run(*self.demo(self.folder / "out", "--epochs", 1))
        second = run(*self.demo(self.folder / "out", "--epochs", 2, "--resume"))
        self.assertEqual((first.returncode, second.returncode), (0, 0), second.stderr)
        self.assertNotIn("Epoch 1/2", second.stderr)
        self.assertIn("Epoch 2/2", second.stderr)
        again = run(*self.demo(self.folder / "out", "--epochs", 2, "--resume"))  # nothing left to train
        self.assertEqual(json.loads(again.stdout)["checkpoint"], json.loads(second.stdout)["checkpoint"])
        self.assertEqual(json.loads(again.stdout)["test_accuracy"], json.loads(second.stdout)["test_accuracy"])


class BadInputTest(Scratch):
    def check(self, words, code, *parts):
        result = run(*words, cwd=self.folder)
        self.assertEqual(result.returncode, code, result.stderr)
        for part in parts:
            self.assertIn(str(part), result.stderr)
        return result

    def test_no_such_data(self):
        result = self.check(["demo", "--data", self.folder / "none", "--json"], 1, self.folder / "none", "train-images-idx3-ubyte")
        self.assertEqual(json.loads(result.stdout)["code"], "NOT_FOUND")

    def test_cut_data(self):
        shutil.copytree(_SAMPLE, self.folder / "cut")
        name = self.folder / "cut" / "train-images-idx3-ubyte.gz"
        name.write_bytes(gzip.compress(gzip.decompress(name.read_bytes())[:-5]))
        result = self.check(["demo", "--data", self.folder / "cut", "--json"], 1, name)
        self.assertEqual(json.loads(result.stdout)["code"], "DATA_LOSS")

    def test_output_cannot_be_made(self):
        (self.folder / "file").write_text("")
        self.check(["demo", "--data", _SAMPLE, "--out", self.folder / "file" / "out", "--epochs", 1], 1, self.folder / "file")

    def test_nothing_to_resume(self):
        self.check(["demo", "--data", _SAMPLE, "--out", self.folder / "out", "--resume"], 1, self.folder / "out", "Run without --resume first")

    def test_options(self):
        self.check(["demo", "--epochs", 0], 2, "epochs")
        self.check(["demo", "--epochs", "many"], 2, "epochs")
        self.check(["demo", "--epochz", 3], 2, "epochz")
        self.check(["demo", "stray"], 2, "stray")
        self.assertEqual(list(self.folder.iterdir()), [], "wrong usage leaves nothing behind")

    def test_commands(self):
        self.check(["demoo"], 2, "demoo", "'demo'")
        self.check([], 2, "Usage")


class StartTest(unittest.TestCase):
    def test_version(self):
        times = []
        for _ in range(20):
            start = time.perf_counter()
            result = run("--version")
            times.append(time.perf_counter() - start)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stdout, re.compile(r"^caudal \d+\.\d+\.\d+$", re.M))
        print(f"caudal --version: median of 20 starts {1000 * statistics.median(times):.1f} ms")


if __name__ == "__main__":
    unittest.main()
