"""Meta graphs both ways: TensorFlow writes, Caudal imports and exports, TensorFlow finds everything as it was."""
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
from google.protobuf import any_pb2
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import control_flow_pb2, meta_graph_pb2

tf1 = tf.compat.v1
_GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "golden"


def caudal(*words):
    result = subprocess.run([os.environ["CAUDAL_BIN"], *map(str, words)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def read_meta(path):
    return meta_graph_pb2.MetaGraphDef.FromString(pathlib.Path(path).read_bytes())


def completed(node):
    """The node with every attribute that its op has, so that left-out defaults do not differ from written ones."""
    full = node_def_pb2.NodeDef()
    full.CopyFrom(node)
    for attr in tf1.get_default_graph().op_def_for_type(node.op).attr:
        if attr.HasField("default_value") and attr.name not in full.attr:
            full.attr[attr.name].CopyFrom(attr.default_value)
    full.ClearField("experimental_debug_info")
    full.ClearField("experimental_type")  # follows from the op
    for name, value in full.attr.items():
        if value.HasField("tensor"):  # the same values in another field of the message
            array = tf.make_ndarray(value.tensor)
            value.s = repr((array.dtype, array.shape, array.tolist())).encode()
    return full


def members(key, collection):
    """What a collection holds; sets and maps inside of messages in one order."""
    message = {"cond_context": control_flow_pb2.CondContextDef, "while_context": control_flow_pb2.WhileContextDef}.get(key)
    if message is None:
        return collection
    contexts = [message.FromString(value) for value in collection.bytes_list.value]
    for context in contexts:
        context.values_def.values.sort()
    return contexts


class MetaGraphTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def assert_same_graph(self, got, want):
        # The order may differ: TensorFlow's is not always one in which inputs come first.
        mine, theirs = ({node.name: completed(node) for node in graph.node} for graph in (got, want))
        self.assertEqual(sorted(mine), sorted(theirs))
        for name, node in theirs.items():
            self.assertEqual(mine[name], node)
        self.assertEqual(got.versions.producer, want.versions.producer)

    def assert_same_meta(self, got, want):
        self.assert_same_graph(got.graph_def, want.graph_def)
        self.assertEqual(sorted(got.collection_def), sorted(want.collection_def))
        for key, value in want.collection_def.items():
            self.assertEqual(members(key, got.collection_def[key]), members(key, value), key)
        self.assertEqual(got.saver_def, want.saver_def)
        self.assertEqual([op.name for op in got.meta_info_def.stripped_op_list.op],
                         [op.name for op in want.meta_info_def.stripped_op_list.op])

    def through_caudal(self, prefix, *words):
        caudal("run", f"{prefix}.meta", "--save", self.folder / "out", *words)
        return self.folder / "out"

    @staticmethod
    def build():
        """A graph with variables and collections of every kind."""
        x = tf1.placeholder(tf1.float32, [None, 4], name="x")
        with tf1.device("/cpu:0"):
            w = tf1.get_variable("w", initializer=np.arange(12, dtype=np.float32).reshape(4, 3), use_resource=False)
            r = tf1.get_variable("r", initializer=np.ones(3, np.float32), use_resource=True)
        with tf1.variable_scope("p", partitioner=tf1.fixed_size_partitioner(3)):
            parts = tf1.get_variable("emb", initializer=tf1.constant(np.arange(20, dtype=np.float32).reshape(10, 2)), use_resource=False)
        step = tf1.train.get_or_create_global_step()
        tf1.get_variable("local", initializer=0.5, trainable=False, collections=[tf1.GraphKeys.LOCAL_VARIABLES])
        y = tf1.add(tf1.matmul(x, w), r, name="y")
        z = tf1.cond(tf1.reduce_sum(y) > 0, lambda: tf1.sqrt(tf1.abs(y)), lambda: -y, name="branch")
        _, s = tf1.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf1.add_n([tf1.reduce_sum(part) for part in parts])), [0, 0.0],
                              name="loop")
        loss = tf1.reduce_mean(tf1.square(z)) + 0.01 * s
        tf1.train.AdamOptimizer(0.1).minimize(loss, global_step=step, name="train")
        tf1.metrics.mean(loss, name="metric")
        tf1.summary.scalar("loss", loss)
        for key, values in {"ints": [1, -(2**40)], "floats": [0.5, 1e30], "texts": ["a", "b/c"], "tensors": [y, x],
                            "operations": [y.op], "mixed_nodes": [y, w.op]}.items():
            for value in values:
                tf1.add_to_collection(key, value)
        message = any_pb2.Any()
        message.Pack(node_def_pb2.NodeDef(name="inside"))
        tf1.add_to_collection("messages", message)

    def save(self):
        with tf.Graph().as_default(), tf1.Session() as session:
            tf1.disable_control_flow_v2()
            self.build()
            saver = tf1.train.Saver(max_to_keep=3)
            session.run(tf1.global_variables_initializer())
            return saver.save(session, str(self.folder / "in"))

    def test_everything_comes_back(self):
        prefix = self.save()
        out = self.through_caudal(prefix, "--target", "save/restore_all", "--feed", f'save/Const="{prefix}"')
        self.assert_same_meta(read_meta(f"{out}.meta"), read_meta(f"{prefix}.meta"))
        mine, theirs = tf.train.load_checkpoint(str(out)), tf.train.load_checkpoint(prefix)
        self.assertEqual(mine.get_variable_to_shape_map(), theirs.get_variable_to_shape_map())
        for name in theirs.get_variable_to_shape_map():
            np.testing.assert_array_equal(mine.get_tensor(name), theirs.get_tensor(name), name)

    def test_tensorflow_goes_on(self):
        """TensorFlow imports what Caudal exported, with Variable objects, and trains on."""
        prefix = self.save()
        out = self.through_caudal(prefix, "--fetch", "w")
        with tf.Graph().as_default(), tf1.Session() as session:
            saver = tf1.train.import_meta_graph(f"{out}.meta")
            saver.restore(session, str(out))
            self.assertEqual([v.op.name for v in tf1.trainable_variables()], ["w", "r", "p/emb/part_0", "p/emb/part_1", "p/emb/part_2"])
            self.assertEqual(tf1.trainable_variables()[2]._get_save_slice_info().full_name, "p/emb")
            self.assertEqual(tf1.get_collection("ints"), [1, -(2**40)])
            self.assertEqual(tf1.get_collection("texts"), [b"a", b"b/c"])
            feeds = {"x:0": np.ones((2, 4), np.float32)}
            before = session.run("w:0")
            session.run("train", feeds)
            self.assertEqual(session.run(tf1.train.get_global_step()), 1)
            self.assertGreater(np.abs(session.run("w:0") - before).max(), 0.01)

    def test_trains_alike(self):
        """Steps of the imported graph give TensorFlow's values."""
        prefix = self.save()
        feeds = np.random.RandomState(0).uniform(-1, 1, (5, 4)).astype(np.float32)
        np.save(self.folder / "x.npy", feeds)
        out = self.through_caudal(prefix, "--target", "train", "--feed", f"x={self.folder / 'x.npy'}", "--repeat", "4")
        with tf.Graph().as_default(), tf1.Session() as session:
            tf1.train.import_meta_graph(f"{prefix}.meta").restore(session, prefix)
            for _ in range(4):
                session.run("train", {"x:0": feeds})
            for name, _ in tf.train.list_variables(str(out)):
                if name.startswith("p/emb"):
                    continue  # saved in parts that are variables of other names
                (variable,) = [v for v in tf1.global_variables() if v.op.name == name]
                np.testing.assert_allclose(tf.train.load_variable(str(out), name), session.run(variable), rtol=1e-5, atol=1e-6,
                                           err_msg=name)

    def test_frozen(self):
        """The frozen graph gives in TensorFlow what the checkpoint gives."""
        prefix = self.save()
        caudal("freeze", f"{prefix}.meta", "--output", "y", "--to", self.folder / "frozen.pb")
        graph_def = tf1.GraphDef.FromString((self.folder / "frozen.pb").read_bytes())
        self.assertFalse({n.op for n in graph_def.node} & {"VariableV2", "VarHandleOp", "ReadVariableOp", "Assign"})
        feeds = np.ones((2, 4), np.float32)
        with tf.Graph().as_default(), tf1.Session() as session:
            tf1.import_graph_def(graph_def, name="")
            np.testing.assert_allclose(session.run("y:0", {"x:0": feeds}), feeds @ np.arange(12).reshape(4, 3) + 1)

    def test_golden_meta_graphs(self):
        """What the golden files hold is exported as it was."""
        for name in ("graphs/dnn_ch11/model.ckpt", "graphs/batch_norm/model.ckpt", "graphs/cnn_ch13/model.ckpt",
                     "graphs/embedding/model.ckpt-0"):
            prefix = _GOLDEN / name
            meta = read_meta(f"{prefix}.meta")
            out = self.through_caudal(prefix, "--target", meta.saver_def.restore_op_name, "--feed",
                                      f'{meta.saver_def.filename_tensor_name}={json.dumps(str(prefix))}')
            with self.subTest(name):
                self.assert_same_meta(read_meta(f"{out}.meta"), meta)

    def test_text_form(self):
        prefix = self.save()
        with tf.Graph().as_default():
            tf1.train.import_meta_graph(f"{prefix}.meta")
            tf1.get_default_graph().clear_collection("messages")  # text forms of other messages need their schema
            tf1.train.export_meta_graph(str(self.folder / "text.meta"), as_text=True)
        shown = json.loads(caudal("show", self.folder / "text.meta", "--json"))
        self.assertEqual(shown["collections"]["ints"]["members"], ["1", str(-(2**40))])
        self.assertEqual(shown["problem"], "")


if __name__ == "__main__":
    unittest.main()
