"""Graphs that want to bring the server down: each ends in an error, and nobody else notices."""
import os
import threading
import time
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import grpc
import numpy as np
import tensorflow as tf

import master_protocol
from server_process import ServerProcess

v1 = tf.compat.v1
_SESSION_MB = 256
_TOTAL_MB = 512
_RESIDENT_MB = 1500  # more than that the process never takes


class HostileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess("--memory-limit", _SESSION_MB, "--total-memory-limit", _TOTAL_MB, "--max-nodes", 20000)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        """A witness that works all the time."""
        self.enterContext(tf.Graph().as_default())
        self.master = master_protocol.Master(self.server.port)
        with tf.Graph().as_default() as graph:
            tf.add(tf.constant(1.0), 2.0, name="three")
            definition = graph.as_graph_def().SerializeToString()
        self.stop = threading.Event()
        self.failure = None
        self.slowest = 0.0

        def witness():
            try:
                master = master_protocol.Master(self.server.port)
                session = master.create(definition)
                while not self.stop.is_set():
                    start = time.monotonic()
                    master.run(session, fetches=["three:0"])
                    self.slowest = max(self.slowest, time.monotonic() - start)
                    time.sleep(0.002)
                master.close(session)
            except Exception as error:  # told by the test's end
                self.failure = error

        self.thread = threading.Thread(target=witness)
        self.thread.start()

    def tearDown(self):
        self.stop.set()
        self.thread.join()
        self.assertIsNone(self.failure)
        self.assertTrue(self.server.is_running())
        self.assertLess(self.server.resident_bytes() >> 20, _RESIDENT_MB)

    def fails(self, codes, *fetches, timeout_ms=20000, **run):
        definition = v1.get_default_graph().as_graph_def(add_shapes=False).SerializeToString()
        with self.assertRaises(grpc.RpcError) as caught:
            session = self.master.create(definition, master_protocol.number(15, 1))
            try:
                self.master.run(session, fetches=[f.name for f in fetches], timeout_ms=timeout_ms, timeout=60, **run)
            finally:
                self.master.close(session)
        code = caught.exception.code().name
        self.assertIn(code, codes.split(), caught.exception.details())
        return caught.exception.details()

    def test_huge_fill(self):
        self.fails("RESOURCE_EXHAUSTED", tf.fill(tf.stack([v1.placeholder_with_default(10000, []), 1000, 1000]), 1.0))

    def test_many_fills(self):
        """None is too large alone."""
        parts = [tf.fill([v1.placeholder_with_default(1 << 23, [])], float(i)) for i in range(40)]
        self.fails("RESOURCE_EXHAUSTED", tf.add_n(parts))

    def test_tile_bomb(self):
        x = v1.placeholder_with_default(tf.ones([2]), [None])
        for _ in range(40):
            x = tf.tile(x, [16])
        self.fails("RESOURCE_EXHAUSTED INVALID_ARGUMENT", x)

    def test_tile_bomb_of_constants(self):
        definition = v1.GraphDef()
        with tf.Graph().as_default() as graph:
            tf.fill(tf.constant([1 << 30, 4]), 1.0, name="bomb")
            definition = graph.as_graph_def()
        for node in definition.node:  # so that TensorFlow's own shape inference does not fold it
            node.attr["_mark"].i = 1
        tf.import_graph_def(definition, name="")
        self.fails("RESOURCE_EXHAUSTED", v1.get_default_graph().get_tensor_by_name("bomb:0"))

    def test_string_bomb(self):
        text = v1.placeholder_with_default(tf.constant("x" * 1000), [])
        self.fails("RESOURCE_EXHAUSTED", tf.size(tf.fill([v1.placeholder_with_default(2000000, [])], text)))
        many = tf.tile(tf.reshape(text, [1]), [v1.placeholder_with_default(2000000, [])])
        self.fails("RESOURCE_EXHAUSTED", tf.size(many))

    def test_repeated_constant(self):
        """A constant of few bytes that is large in memory."""
        definition = v1.GraphDef()
        node = definition.node.add(name="c", op="Const")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        tensor = node.attr["value"].tensor
        tensor.dtype = tf.float32.as_datatype_enum
        tensor.tensor_shape.dim.add().size = 1 << 28
        tensor.float_val.append(1.0)
        with self.assertRaises(grpc.RpcError) as caught:
            self.master.create(definition.SerializeToString())
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)

    def test_endless_loop(self):
        v1.disable_control_flow_v2()
        [end] = v1.while_loop(lambda i: i >= 0, lambda i: i * 1, [v1.placeholder_with_default(1, [])], return_same_structure=True)
        self.fails("DEADLINE_EXCEEDED", end, timeout_ms=300)

    def test_loop_that_collects(self):
        v1.disable_control_flow_v2()
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        _, array = tf.while_loop(lambda i, a: i < 1 << 20,
                                 lambda i, a: (i + 1, a.write(i, tf.fill([1 << 18], tf.cast(i, tf.float32)))), [0, array])
        self.fails("RESOURCE_EXHAUSTED DEADLINE_EXCEEDED", array.size())

    def test_function_recursion(self):
        definition = v1.GraphDef()
        function = definition.library.function.add()
        function.signature.name = "again"
        function.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
        function.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)

        def call(node, source):
            node.op = "PartitionedCall"
            node.input.append(source)
            for name in ("Tin", "Tout"):
                node.attr[name].list.type.append(tf.float32.as_datatype_enum)
            node.attr["f"].func.name = "again"

        call(function.node_def.add(name="inner"), "x")
        function.ret["y"] = "inner:output:0"
        placeholder = definition.node.add(name="x", op="Const")
        placeholder.attr["dtype"].type = tf.float32.as_datatype_enum
        placeholder.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0))
        call(definition.node.add(name="outer"), "x")
        with self.assertRaises(grpc.RpcError) as caught:
            session = self.master.create(definition.SerializeToString())
            self.master.run(session, fetches=["outer:0"], timeout_ms=20000)
        self.assertIn(caught.exception.code().name, ("RESOURCE_EXHAUSTED", "INVALID_ARGUMENT", "FAILED_PRECONDITION"),
                      caught.exception.details())

    def test_functions_that_double(self):
        """Each calls the next twice: 2^60 calls."""
        definition = v1.GraphDef()
        for level in range(60):
            function = definition.library.function.add()
            function.signature.name = f"level{level}"
            function.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
            function.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)
            source = "x"
            for i in range(2):
                node = function.node_def.add(name=f"call{i}", op="PartitionedCall" if level < 59 else "Neg")
                node.input.append(source)
                if level < 59:
                    node.attr["f"].func.name = f"level{level + 1}"
                    for name in ("Tin", "Tout"):
                        node.attr[name].list.type.append(tf.float32.as_datatype_enum)
                else:
                    node.attr["T"].type = tf.float32.as_datatype_enum
                source = f"call{i}:{'output' if level < 59 else 'y'}:0"
            function.ret["y"] = source
        constant = definition.node.add(name="x", op="Const")
        constant.attr["dtype"].type = tf.float32.as_datatype_enum
        constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0))
        outer = definition.node.add(name="outer", op="PartitionedCall", input=["x"])
        outer.attr["f"].func.name = "level0"
        for name in ("Tin", "Tout"):
            outer.attr[name].list.type.append(tf.float32.as_datatype_enum)
        session = self.master.create(definition.SerializeToString())
        with self.assertRaises(grpc.RpcError) as caught:
            self.master.run(session, fetches=["outer:0"], timeout_ms=500, timeout=30)
        self.assertIn(caught.exception.code().name, ("DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"))
        self.master.close(session)

    def test_million_nodes(self):
        operation = master_protocol.text(2, "NoOp")
        graph = b"".join(master_protocol.text(1, master_protocol.text(1, f"n{i}") + operation) for i in range(1_000_000))
        with self.assertRaises(grpc.RpcError) as caught:
            self.master.create(graph)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn("1000000 nodes", caught.exception.details())

    def test_deep_chain(self):
        """As many nodes as are allowed, each reading the one before."""
        nodes = [master_protocol.text(1, "n0") + master_protocol.text(2, "Placeholder") +
                 master_protocol.text(5, master_protocol.text(1, "dtype") + master_protocol.text(2, master_protocol.number(6, 1)))]
        attr = master_protocol.text(5, master_protocol.text(1, "T") + master_protocol.text(2, master_protocol.number(6, 1)))
        for i in range(1, 19999):
            nodes.append(master_protocol.text(1, f"n{i}") + master_protocol.text(2, "Identity") +
                         master_protocol.text(3, f"n{i - 1}") + attr)
        session = self.master.create(b"".join(master_protocol.text(1, node) for node in nodes))
        feed = tf.make_tensor_proto(5.0).SerializeToString()
        value = self.master.run(session, feeds=[("n0:0", feed)], fetches=["n19998:0"])["n19998:0"]
        self.assertEqual(np.frombuffer(master_protocol.field(value, 4), np.float32)[0], 5.0)
        self.master.close(session)

    def test_deep_nesting_of_messages(self):
        attr = master_protocol.text(10, master_protocol.text(1, "f"))  # a function as an attribute of a function ...
        for _ in range(5000):
            attr = master_protocol.text(10, master_protocol.text(1, "f") + master_protocol.text(
                2, master_protocol.text(1, "a") + master_protocol.text(2, attr)))
        node = (master_protocol.text(1, "n") + master_protocol.text(2, "NoOp") +
                master_protocol.text(5, master_protocol.text(1, "_a") + master_protocol.text(2, attr)))
        with self.assertRaises(grpc.RpcError) as caught:
            self.master.create(master_protocol.text(1, node))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_deep_nesting_of_functions(self):
        definition = v1.GraphDef()
        for level in range(2000):
            function = definition.library.function.add()
            function.signature.name = f"level{level}"
            function.node_def.add(name="call", op=f"level{level + 1}")
        with self.assertRaises(grpc.RpcError) as caught:
            self.master.create(definition.SerializeToString())
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertIn("2000 deep", caught.exception.details())

    def test_regex_bomb(self):
        text = tf.constant("a" * 5000)
        ends = {"(a*)*b": None, "(a|aa)+$": None, "(?i)(a|A|[aA]+)+x": None, "((((a{1,100}){1,100}){1,100}){1,100})": "INVALID_ARGUMENT",
                "(" * 5000 + "a" + ")*" * 5000: None, "(((\\pL{1000})))+" * 50: "INVALID_ARGUMENT"}
        for pattern, code in ends.items():
            with self.subTest(pattern=pattern[:40]):
                start = time.monotonic()
                self.assertEqual(self.code_of_replacing(pattern, b"x", text), code)
                self.assertLess(time.monotonic() - start, 10)

    def test_regex_that_multiplies_its_text(self):
        text = tf.constant("a" * 1000000)
        self.assertEqual(self.code_of_replacing("a*", b"\\0" * 5000, text), "RESOURCE_EXHAUSTED")

    def code_of_replacing(self, pattern, rewrite, text):
        """The status with which the replacement ends, None for OK."""
        session = self.master.create(self.regex_graph(pattern, rewrite, text.op.node_def))
        try:
            self.master.run(session, fetches=["replaced:0"], timeout_ms=5000, timeout=20)
            return None
        except grpc.RpcError as error:
            return error.code().name
        finally:
            self.master.close(session)

    @staticmethod
    def regex_graph(pattern, rewrite, text):
        definition = v1.GraphDef()
        definition.node.add().CopyFrom(text)
        node = definition.node.add(name="replaced", op="StaticRegexReplace", input=[text.name])
        node.attr["pattern"].s = pattern.encode()
        node.attr["rewrite"].s = rewrite
        return definition.SerializeToString()


if __name__ == "__main__":
    unittest.main()
