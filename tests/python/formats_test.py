"""Files written by caudal/formats, read by TensorFlow, TensorBoard and NumPy."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator

# The unit tests lie beside the program in the build folder.
_WRITER = pathlib.Path(os.environ["CAUDAL_BIN"]).parent / "tests" / "formats_test"


class FormatsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        for name, compression in (("plain", ""), ("gzip", "GZIP"), ("zlib", "ZLIB")):
            with tf.io.TFRecordWriter(str(cls.folder / f"theirs_{name}.tfrecord"), compression) as writer:
                for record in (b"first", b"", b"x" * 300000):
                    writer.write(record)
        environment = os.environ | {"CAUDAL_INTEROP_DIR": scratch.name}
        subprocess.run([str(_WRITER), "--gtest_filter=Interop.*"], env=environment, check=True, capture_output=True)

    def test_checkpoint(self):
        reader = tf.train.load_checkpoint(str(self.folder / "model.ckpt-1"))
        self.assertEqual(reader.get_variable_to_shape_map(),
                         {"embedding": [10, 4], "flag": [], "half": [2], "step": [], "words": [2, 1]})
        ramp = np.arange(40, dtype=np.float32).reshape(10, 4) / 8
        np.testing.assert_array_equal(reader.get_tensor("embedding"), ramp)
        self.assertEqual(reader.get_tensor("step"), 1)
        self.assertEqual(reader.get_tensor("flag"), True)
        self.assertEqual(reader.get_tensor("words").tolist(), [[b""], [b"a\0b"]])
        np.testing.assert_array_equal(reader.get_tensor("half"), np.array([0, 1.5], np.float16))
        rows = tf.raw_ops.RestoreV2(prefix=str(self.folder / "model.ckpt-1"), tensor_names=["embedding"],
                                    shape_and_slices=["10 4 3,2:-"], dtypes=[tf.float32])[0]
        np.testing.assert_array_equal(rows, ramp[3:5])

    def test_records(self):
        for name, compression in (("plain", ""), ("gzip", "GZIP"), ("zlib", "ZLIB")):
            dataset = tf.data.TFRecordDataset(str(self.folder / f"{name}.tfrecord"), compression_type=compression)
            self.assertEqual(list(dataset.as_numpy_iterator()), [b"first", b"", b"x" * 300000], name)

    def test_damaged_records(self):
        """The same records and the same error at the same offset, whatever byte is changed or missing."""
        whole = (self.folder / "whole.tfrecord").read_bytes()
        outcomes = []
        for i, byte in enumerate(whole):
            for damaged in (whole[:i] + bytes([byte ^ 1]) + whole[i + 1:], whole[:i]):
                path = self.folder / "their_damage.tfrecord"
                path.write_bytes(damaged)
                count, error = 0, "OK"
                try:
                    for _ in tf.data.TFRecordDataset(str(path)):
                        count += 1
                except tf.errors.DataLossError as damage:
                    error = re.search(r"(corrupted|truncated) record at [0-9]+", damage.message).group(0)
                outcomes.append(f"{count} {error}")
        self.assertEqual((self.folder / "outcomes.txt").read_text().splitlines(), outcomes)

    def load_events(self):
        # 0: keep all values of each kind.
        events = event_accumulator.EventAccumulator(str(self.folder / "events"), {event_accumulator.HISTOGRAMS: 0})
        return events.Reload()

    def test_events(self):
        events = self.load_events()
        self.assertEqual(events.Tags()["scalars"], ["loss"])
        self.assertEqual([(item.step, item.value) for item in events.Scalars("loss")],
                         [(step, float(np.float32(1) / np.float32(step + 1))) for step in range(3)])
        self.assertEqual([item.histogram_value.num for item in events.Histograms("weights")], [4, 4, 4])
        picture = events.Images("picture")[0]
        self.assertEqual((picture.height, picture.width), (4, 6))
        pixels = tf.io.decode_png(picture.encoded_image_string).numpy()
        self.assertEqual((pixels.shape, pixels[0, 0].tolist()), ((4, 6, 3), [255, 0, 0]))
        note = tf.make_ndarray(events.Tensors("note")[0].tensor_proto)
        self.assertEqual(note.item(), b"**bold**")

    def test_histogram_buckets(self):
        """The buckets are those of TensorFlow's own histogram op."""
        got = self.load_events().Histograms("weights")[2].histogram_value
        want = tf.compat.v1.Summary.FromString(
            tf.raw_ops.HistogramSummary(tag="weights", values=[-1.0, 0.0, 0.5, 2.0]).numpy()).value[0].histo
        # TensorBoard replaces the infinite limits at both ends.
        self.assertEqual(got.bucket_limit[1:-1], list(want.bucket_limit)[1:-1])
        self.assertEqual(got.bucket, list(want.bucket))
        self.assertEqual((got.min, got.max, got.sum, got.sum_squares), (want.min, want.max, want.sum, want.sum_squares))

    def test_arrays(self):
        with np.load(self.folder / "arrays.npz") as arrays:
            np.testing.assert_array_equal(arrays["ramp"], np.arange(6, dtype=np.float32).reshape(2, 3) / 8)
            self.assertEqual(arrays["scalar"].item(), 7)
            self.assertEqual(arrays["words"].tolist(), [b"a", b"bc"])
        vector = np.arange(100000, dtype=np.float32) / 8
        np.testing.assert_array_equal(np.load(self.folder / "vector.npy"), vector)
        # The header, with the room that NumPy leaves for growing the first size, is NumPy's byte for byte.
        with tempfile.TemporaryDirectory() as scratch:
            np.save(scratch + "/v.npy", vector)
            self.assertEqual(pathlib.Path(scratch, "v.npy").read_bytes(), (self.folder / "vector.npy").read_bytes())

    def test_picture(self):
        pixels = tf.io.decode_png((self.folder / "picture.png").read_bytes(), dtype=tf.uint16).numpy()
        self.assertEqual(pixels.tolist(), [[[0x1234], [0xffff]]])


if __name__ == "__main__":
    unittest.main()
