"""Event files of caudal/io, read by TensorBoard: its accumulator and the data provider that its pages ask."""
import os
import pathlib
import subprocess
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf
from tensorboard import context
from tensorboard.backend.event_processing import data_provider, event_accumulator, plugin_event_multiplexer
from tensorboard.plugins.pr_curve import summary as pr_curve_summary

_WRITER = pathlib.Path(os.environ["CAUDAL_BIN"]).parent / "tests" / "io_test"


class EventsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        subprocess.run([str(_WRITER), "--gtest_filter=EventsInterop.*"], check=True, capture_output=True,
                       env=os.environ | {"CAUDAL_INTEROP_DIR": scratch.name})
        cls.run_folder = scratch.name + "/run"
        keep_all = {event_accumulator.HISTOGRAMS: 0, event_accumulator.TENSORS: 0}
        cls.events = event_accumulator.EventAccumulator(cls.run_folder, keep_all).Reload()
        multiplexer = plugin_event_multiplexer.EventMultiplexer()
        multiplexer.AddRunsFromDirectory(scratch.name)
        multiplexer.Reload()
        cls.provider = data_provider.MultiplexerDataProvider(multiplexer, scratch.name)

    def tensors(self, plugin, tag):
        data = self.provider.read_tensors(context.RequestContext(), experiment_id="", plugin_name=plugin, downsample=100)
        return [(item.step, item.numpy) for item in data["run"][tag]]

    def blobs(self, plugin, tag):
        ctx = context.RequestContext()
        data = self.provider.read_blob_sequences(ctx, experiment_id="", plugin_name=plugin, downsample=100)
        return [(item.step, [self.provider.read_blob(ctx, blob_key=value.blob_key) for value in item.values])
                for item in data["run"][tag]]

    def test_tags(self):
        tags = self.events.Tags()
        self.assertEqual((tags["scalars"], tags["histograms"], tags["images"]),
                         (["old/scalar"], ["old/histogram"], ["old/image"]))
        self.assertEqual(sorted(tags["tensors"]),
                         ["new/audio", "new/curve", "new/equal", "new/histogram", "new/image", "new/scalar", "new/text",
                          "old/text"])
        self.assertTrue(tags["graph"] and tags["meta_graph"])
        self.assertEqual(tags["run_metadata"], ["step 3"])

    def test_provider_lists_every_kind(self):
        ctx = context.RequestContext()
        def listed(function, plugin):
            return sorted(function(ctx, experiment_id="", plugin_name=plugin).get("run", {}))
        self.assertEqual(listed(self.provider.list_scalars, "scalars"), ["new/scalar", "old/scalar"])
        for plugin, tags in (("histograms", ["new/equal", "new/histogram", "old/histogram"]),
                             ("text", ["new/text", "old/text"]), ("pr_curves", ["new/curve"])):
            self.assertEqual(listed(self.provider.list_tensors, plugin), tags, plugin)
        for plugin, tags in (("images", ["new/image", "old/image"]), ("audio", ["new/audio"])):
            self.assertEqual(listed(self.provider.list_blob_sequences, plugin), tags, plugin)
        self.assertIn("__run_graph__", listed(self.provider.list_blob_sequences, "graphs"))

    def test_scalars_and_restart(self):
        """From step 2 on the second file counts."""
        want = [(0, 1.0), (1, 0.5), (2, 12.0), (3, 13.0), (4, 14.0)]
        self.assertEqual([(item.step, item.value) for item in self.events.Scalars("old/scalar")], want)
        data = self.provider.read_scalars(context.RequestContext(), experiment_id="", plugin_name="scalars",
                                          downsample=100)["run"]
        # The provider keeps orphaned points (of TensorFlow's writer too); the later ones come last.
        self.assertEqual(dict((item.step, item.value) for item in data["old/scalar"]), dict(want))
        self.assertEqual([(item.step, item.value) for item in data["new/scalar"]], [(0, 0.0), (1, 0.5)])

    def test_histograms(self):
        """The buckets are those of tf.summary.histogram."""
        with tempfile.TemporaryDirectory() as folder:
            with tf.summary.create_file_writer(folder).as_default():
                tf.summary.histogram("h", [0.0, 1, 2, 3, 5], step=1, buckets=5)
                tf.summary.histogram("equal", [2.0, 2, 2], step=1)
            reference = event_accumulator.EventAccumulator(folder).Reload()
            want = {tag: tf.make_ndarray(reference.Tensors(tag)[0].tensor_proto) for tag in ("h", "equal")}
        steps = self.tensors("histograms", "new/histogram")
        self.assertEqual([step for step, _ in steps], [0, 1])
        np.testing.assert_allclose(steps[1][1], want["h"], rtol=1e-15)
        np.testing.assert_array_equal(self.tensors("histograms", "new/equal")[0][1], want["equal"])
        old = self.events.Histograms("old/histogram")
        self.assertEqual([item.histogram_value.sum for item in old], [-0.5, 0.5, 1.5, 2.5][:len(old)])

    def test_images_and_audio(self):
        step, (width, height, first, second) = self.blobs("images", "new/image")[0]
        self.assertEqual((step, width, height), (0, b"6", b"4"))
        self.assertEqual([tf.io.decode_png(png).numpy()[0, 0, 0] for png in (first, second)], [200, 100])
        old = self.events.Images("old/image")[0]
        self.assertEqual((old.width, old.height), (6, 4))
        # Rows of sound and label, as tf.summary.audio writes them.
        rows = tf.make_ndarray(self.events.Tensors("new/audio")[0].tensor_proto)
        self.assertEqual((rows.shape, rows[0, 1]), ((1, 2), b"a *click*"))
        samples, rate = tf.audio.decode_wav(rows[0, 0])
        self.assertEqual(int(rate), 8000)
        np.testing.assert_allclose(samples.numpy()[:, 0], [0, 16383 / 32768], atol=1e-6)

    def test_text(self):
        self.assertEqual(self.tensors("text", "new/text")[0][1].tolist(), [[b"first"], [b"**second**"]])
        self.assertEqual(self.tensors("text", "old/text")[0][1].item(), b"# Title")

    def test_curve(self):
        want = pr_curve_summary.pb("c", np.array([True, False, True, False, True]),
                                   np.array([0.9, 0.8, 0.4, 0.1, 1], np.float32), num_thresholds=5)
        np.testing.assert_allclose(self.tensors("pr_curves", "new/curve")[0][1],
                                   tf.make_ndarray(want.value[0].tensor), rtol=1e-6)
        metadata = self.events.SummaryMetadata("new/curve").plugin_data
        self.assertEqual(metadata.content, want.value[0].metadata.plugin_data.content)

    def test_graph_and_trace(self):
        self.assertEqual(sorted(node.name for node in self.events.Graph().node), ["one", "sum", "two"])
        self.assertEqual(len(self.events.MetaGraph().graph_def.node), 3)
        trace = self.events.RunMetadata("step 3")
        nodes = {node.node_name: node for node in trace.step_stats.dev_stats[0].node_stats}
        self.assertIn("sum", nodes)
        self.assertGreater(nodes["sum"].all_start_micros, 1_600_000_000_000_000)
        self.assertGreaterEqual(nodes["sum"].all_end_rel_micros, 0)


if __name__ == "__main__":
    unittest.main()
