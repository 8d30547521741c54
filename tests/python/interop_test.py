"""What `caudal demo` writes, read by TensorFlow and TensorBoard."""
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator

_SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "fashion-mnist-sample"


def read_idx(name, header):
    return np.frombuffer(gzip.decompress((_SAMPLE / name).read_bytes()), np.uint8, offset=header)


class DemoInteropTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.values = cls.demo(cls.folder)
        cls.images = read_idx("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1).astype(np.float32) / np.float32(255)
        cls.labels = read_idx("t10k-labels-idx1-ubyte.gz", 8).astype(np.int64)

    @staticmethod
    def demo(folder, *words):
        # Three epochs of eight steps: the loss of a batch is written every 20 steps.
        result = subprocess.run([os.environ["CAUDAL_BIN"], "demo", "--data", str(_SAMPLE), "--out", str(folder), "--json",
                                 "--epochs", "3", *words], check=True, capture_output=True, text=True)
        return json.loads(result.stdout)

    def test_checkpoint(self):
        reader = tf.train.load_checkpoint(self.values["checkpoint"])
        shapes = reader.get_variable_to_shape_map()
        for name, shape in {"conv1/kernel": [3, 3, 1, 16], "conv2/bias": [32], "hidden/kernel": [7 * 7 * 32, 128],
                            "logits/kernel": [128, 10], "conv1/kernel/Adam": [3, 3, 1, 16], "beta1_power": []}.items():
            self.assertEqual(shapes[name], shape, name)
        for name in shapes:
            self.assertTrue(np.isfinite(reader.get_tensor(name)).all(), name)
        # Adam's power of beta tells the number of updates.
        self.assertAlmostEqual(float(reader.get_tensor("beta1_power")), 0.9**25, places=6)
        self.assertEqual(tf.train.latest_checkpoint(str(self.folder / "checkpoints")), self.values["checkpoint"])

    def test_overwritten_checkpoint(self):
        """Resuming a finished run writes its last checkpoint again, under the same name."""
        with tempfile.TemporaryDirectory() as folder:
            values = self.demo(folder)
            first = tf.train.load_checkpoint(values["checkpoint"]).get_tensor("conv1/kernel")
            self.assertEqual(self.demo(folder, "--resume")["checkpoint"], values["checkpoint"])
            second = tf.train.load_checkpoint(values["checkpoint"]).get_tensor("conv1/kernel")
            np.testing.assert_array_equal(first, second)

    def test_meta_graph_runs(self):
        """TensorFlow imports graph and variables and finds the same accuracy."""
        with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
            saver = tf.compat.v1.train.import_meta_graph(self.values["checkpoint"] + ".meta")
            saver.restore(session, self.values["checkpoint"])
            feeds = {"images:0": self.images, "labels:0": self.labels}
            accuracy, probabilities = session.run(["accuracy:0", "probabilities:0"], feeds)
            self.assertAlmostEqual(float(accuracy), self.values["test_accuracy"], places=6)
            self.assertEqual(probabilities.shape, (200, 10))
            self.assertEqual(len(tf.compat.v1.trainable_variables()), 8)
            # It trains on, with our optimiser's nodes and slots, and saves what we restore names for.
            before = session.run("loss:0", feeds)
            for _ in range(5):
                session.run("Adam", feeds | {"training:0": True})
            self.assertLess(session.run("loss:0", feeds), before)
            self.assertTrue(all(node.type for node in graph.get_operations()))

    def test_events(self):
        events = event_accumulator.EventAccumulator(self.values["events"])
        events.Reload()
        tags = events.Tags()
        for tag in ("batch/loss", "epoch/loss", "epoch/accuracy", "epoch/val_loss", "epoch/val_accuracy", "test/accuracy"):
            self.assertIn(tag, tags["scalars"])
        self.assertEqual([item.step for item in events.Scalars("epoch/loss")], [8, 16, 24])
        losses = [item.value for item in events.Scalars("epoch/loss")]
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertAlmostEqual(events.Scalars("test/accuracy")[0].value, self.values["test_accuracy"], places=6)
        names = {node.name for node in events.Graph().node}
        self.assertLessEqual({"conv1/kernel", "conv2/Conv2D", "Adam"}, names)
        self.assertEqual(tags["images"], ["predictions"])
        sheet = events.Images("predictions")[0]
        self.assertEqual(sheet.encoded_image_string, (self.folder / "predictions.png").read_bytes())

    def test_picture(self):
        picture = tf.io.decode_png((self.folder / "predictions.png").read_bytes()).numpy()
        self.assertEqual(picture.shape[2], 3)
        self.assertGreater(picture.shape[0], 100)
        self.assertGreater(len(np.unique(picture)), 50)


if __name__ == "__main__":
    unittest.main()
