"""TensorFlow's own client against `caudal server`: graphs are built by TensorFlow and run there."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from server_process import ServerProcess

v1 = tf.compat.v1
_GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "golden" / "session"
_TYPES = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64, "bool": np.bool_, "string": object}


class WithServer(unittest.TestCase):
    words = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = ServerProcess("--allow-dir", cls.folder.name, *cls.words)
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        graph = tf.Graph()
        self.enterContext(graph.as_default())

    def session(self, **options):
        session = v1.Session(self.server.target, **options)
        self.addCleanup(session.close)
        return session

    def fails(self, error, text, action, *arguments, **options):
        with self.assertRaises(error) as caught:
            action(*arguments, **options)
        self.assertIn(text, str(caught.exception))
        return caught.exception


def call_by_name(session, feeds=(), fetches=(), targets=(), values=(), **options):
    """A callable made of names, which the client does not check."""
    wanted = config_pb2.CallableOptions(feed=feeds, fetch=fetches, target=targets, **options)
    return session._make_callable_from_options(wanted)(*values)


class SessionTest(WithServer):
    def test_feeds_fetches_and_extension(self):
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = x * 2.0
        session = self.session()
        np.testing.assert_array_equal(session.run(y, {x: [[1, 2]]}), [[2, 4]])
        z = y + 1.0  # the graph grows between steps
        np.testing.assert_array_equal(session.run([z, y, z], {x: [[1, 2]]})[0], [[3, 5]])
        text = tf.constant(["a", "", "long" * 100])
        self.assertEqual(list(session.run(text)), [b"a", b"", b"long" * 100])
        np.testing.assert_array_equal(session.run(tf.strings.join([v1.placeholder(tf.string, name="s"), "!"]), {"s:0": ["ä", "b"]}),
                                      ["ä!".encode(), b"b!"])

    def test_devices(self):
        devices = self.session().list_devices()
        self.assertEqual([d.name for d in devices], ["/job:localhost/replica:0/task:0/device:CPU:0"])
        self.assertNotEqual(devices[0].incarnation, 0)

    def test_names_that_are_not_there(self):
        tf.constant([1.0, 2.0], name="c")
        session = self.session()
        self.fails(tf.errors.NotFoundError, "FetchOutputs node nope:0: not found", call_by_name, session, fetches=["nope:0"])
        self.fails(tf.errors.InvalidArgumentError, "output index too large, must be < 1", call_by_name, session, fetches=["c:7"])
        self.fails(tf.errors.NotFoundError, "Some target nodes not found: nope", call_by_name, session, targets=["nope"])
        self.fails(tf.errors.NotFoundError, "unable to find feed output nope:0", call_by_name, session, feeds=["nope:0"],
                   fetches=["c:0"], values=[np.float32(1)])

    def test_wrong_feeds(self):
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.identity(x, name="y")
        session = self.session()
        one = np.ones((1, 2), np.float32)
        self.fails(tf.errors.InvalidArgumentError, "fed more than once", call_by_name, session, ["x:0", "x:0"], ["y:0"],
                   values=[one, one])
        self.fails(tf.errors.InvalidArgumentError, "int32[1,2]", call_by_name, session, ["x:0"], ["y:0"],
                   values=[np.ones((1, 2), np.int32)])
        self.fails(tf.errors.InvalidArgumentError, "shape", call_by_name, session, ["x:0"], ["y:0"],
                   values=[np.ones((3,), np.float32)])
        error = self.fails(tf.errors.InvalidArgumentError, "feed", session.run, y)
        self.assertEqual(error.op.name, "x")

    def test_error_names_the_op(self):
        value = v1.placeholder(tf.float32, [2], name="value")
        checked = tf.debugging.check_numerics(value, "not a number here", name="checked")
        error = self.fails(tf.errors.InvalidArgumentError, "not a number here", self.session().run, checked,
                           {value: [1.0, np.nan]})
        self.assertEqual(error.op.name, "checked")

    def test_callable_and_trace(self):
        x = v1.placeholder(tf.float32, [], name="x")
        y = tf.add(x, 1.0, name="y")
        session = self.session()
        call = session.make_callable(y, [x])
        self.assertEqual([call(float(i)) for i in range(5)], [1, 2, 3, 4, 5])
        metadata = v1.RunMetadata()
        session.run(y, {x: 1.0}, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True),
                    run_metadata=metadata)
        [device] = metadata.step_stats.dev_stats
        self.assertIn("y", [node.node_name for node in device.node_stats])
        self.assertIn("y", [node.name for node in metadata.partition_graphs[0].node])

    def test_unknown_op_fails_where_it_is_needed(self):
        definition = tf.compat.v1.GraphDef()
        fine = definition.node.add(name="fine", op="Const")
        fine.attr["dtype"].type = tf.float32.as_datatype_enum
        fine.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(3.0))
        # An op that TensorFlow has and the server has not.
        strange = definition.node.add(name="strange", op="TPUCompilationResult")
        after = definition.node.add(name="after", op="NoOp")
        after.input.append("^strange")
        tf.import_graph_def(definition, name="")
        session = self.session()
        self.assertEqual(session.run("fine:0"), 3.0)
        error = self.fails(tf.errors.UnimplementedError, "TPUCompilationResult", session.run, "after")
        self.assertIn("strange", str(error))
        self.assertEqual(session.run("fine:0"), 3.0)
        del strange

    def test_reset_and_handles(self):
        v = v1.get_variable("kept", [], initializer=v1.constant_initializer(3.0), use_resource=True)
        session = v1.Session(self.server.target)
        session.run(v.initializer)
        v1.Session.reset(self.server.target)
        self.fails(tf.errors.AbortedError, "is not found", session.run, v.read_value())
        self.fails(tf.errors.AbortedError, "this master has restarted", session.close)
        again = self.session()
        self.fails(tf.errors.FailedPreconditionError, "kept", again.run, v.read_value())


class StateTest(WithServer):
    def variable(self, name, use_resource):
        v = v1.get_variable(name, [], initializer=v1.constant_initializer(1.0), use_resource=use_resource)
        return v, v.initializer, v1.assign_add(v, 1.0), tf.identity(v, name=name + "_value")

    def test_sessions_share_variables(self):
        for use_resource in (False, True):
            _, init, add, value = self.variable(f"shared{use_resource}", use_resource)
            first, second = self.session(), self.session()
            first.run(init)
            second.run(add)
            first.run(add)
            self.assertEqual(second.run(value), 3.0)

    def test_variables_outlive_sessions(self):
        _, init, add, value = self.variable("outlives", True)
        with v1.Session(self.server.target) as session:
            session.run(init)
            session.run(add)
        self.assertEqual(self.session().run(value), 2.0)

    def test_isolation(self):
        _, init, _, value = self.variable("isolated", True)
        self.session().run(init)
        alone = self.session(config=v1.ConfigProto(isolate_session_state=True))
        self.fails(tf.errors.FailedPreconditionError, "isolated", alone.run, value)

    def test_saver_under_the_file_policy(self):
        v, init, add, value = self.variable("saved", True)
        saver = v1.train.Saver([v])
        session = self.session()
        session.run([init])
        session.run(add)
        path = saver.save(session, os.path.join(self.folder.name, "model"), write_meta_graph=False)
        session.run(init)
        saver.restore(session, path)
        self.assertEqual(session.run(value), 2.0)
        with tempfile.TemporaryDirectory() as elsewhere:
            self.fails(tf.errors.PermissionDeniedError, "--allow-dir", saver.save, session, os.path.join(elsewhere, "model"))
            os.symlink(elsewhere, os.path.join(self.folder.name, "link"))
            self.fails(tf.errors.PermissionDeniedError, "--allow-dir", saver.save, session,
                       os.path.join(self.folder.name, "link", "model"))
            self.assertEqual(os.listdir(elsewhere), [])

    def test_training_as_tensorflow_trains(self):
        """An MLP with momentum: the losses are TensorFlow's."""
        random = np.random.RandomState(1)
        images = random.rand(200, 20).astype(np.float32)
        labels = random.randint(0, 4, 200)
        x = v1.placeholder(tf.float32, [None, 20])
        y = v1.placeholder(tf.int64, [None])
        w1 = v1.get_variable("w1", initializer=tf.constant((random.randn(20, 16) / 4).astype(np.float32)))
        b1 = v1.get_variable("b1", [16], initializer=v1.zeros_initializer())
        w2 = v1.get_variable("w2", initializer=tf.constant((random.randn(16, 4) / 4).astype(np.float32)))
        logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        init = v1.global_variables_initializer()

        def losses(session):
            session.run(init)
            values = []
            for step in range(40):
                batch = slice(step % 4 * 50, step % 4 * 50 + 50)
                values.append(session.run([loss, train], {x: images[batch], y: labels[batch]})[0])
            return values

        with v1.Session() as reference:
            expected = losses(reference)
        np.testing.assert_allclose(losses(self.session()), expected, rtol=1e-5)


class GoldenTest(WithServer):
    """The cases of testdata/golden/session, each in a session of its own."""

    # Steps whose result depends on whether a read that nothing orders comes before or after an update.
    _UNORDERED = {("ref_variable", 5), ("control_dependencies", 2), ("control_dependencies", 3)}
    # TensorFlow runs on with a value that contradicts the placeholder's shape; here it is refused.
    _REFUSED = {("feeds", 2), ("feeds", 3)}

    @staticmethod
    def value(entry):
        values = np.array(entry["v"], _TYPES[entry["t"]])
        if entry.get("fill"):
            values = np.full(entry["s"], values[0])
        return values.reshape(entry["s"])

    def run_case(self, case):
        definition = v1.GraphDef()
        definition.ParseFromString((_GOLDEN / case["graph"]).read_bytes())
        with tf.Graph().as_default():
            tf.import_graph_def(definition, name="")
            session = self.session(config=v1.ConfigProto(isolate_session_state=True))
            for number, step in enumerate(case["steps"]):
                with self.subTest(case=case["case"], step=number):
                    options = {"run_options": config_pb2.RunOptions(timeout_in_ms=1000)} if step.get("code") == 4 else {}
                    arguments = (session, list(step["feed"]), step["fetch"], step["target"],
                                 [self.value(v) for v in step["feed"].values()])
                    if (case["case"], number) in self._REFUSED:
                        self.fails(tf.errors.InvalidArgumentError, "has shape", call_by_name, *arguments)
                        continue
                    if "code" in step:
                        with self.assertRaises(tf.errors.OpError) as caught:
                            call_by_name(*arguments, **options)
                        self.assertEqual(caught.exception.error_code, step["code"], str(caught.exception))
                        continue
                    results = call_by_name(*arguments)
                    if (case["case"], number) in self._UNORDERED:
                        continue
                    for got, wanted in zip(results, step["out"], strict=True):
                        np.testing.assert_array_equal(got, self.value(wanted))

    def test_cases(self):
        for case in json.loads((_GOLDEN / "expected.json").read_text(encoding="utf-8")):
            self.run_case(case)


class PartialRunTest(WithServer):
    def test_partial_run(self):
        a, b, c = (v1.placeholder(tf.float32, [], name=name) for name in "abc")
        r1 = a + b
        r2 = r1 * c
        session = self.session()
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        self.assertEqual(session.partial_run(handle, r1, {a: 1, b: 2}), 3)
        self.fails(tf.errors.InvalidArgumentError, "has already been fed", session.partial_run, handle, r2, {a: 1})
        self.fails(tf.errors.InvalidArgumentError, "has already been fetched", session.partial_run, handle, r1)
        self.fails(tf.errors.InvalidArgumentError, "can't be computed from the feeds that have been fed so far",
                   session.partial_run, handle, r2)
        self.assertEqual(session.partial_run(handle, r2, {c: 10}), 30)
        self.fails(tf.errors.InvalidArgumentError, "PartialRunSetup", session.partial_run, handle, r2)


class DocumentTest(WithServer):
    def test_program_of_the_document(self):
        document = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
        program = re.search(r"<!-- client -->\n```python\n(.*?)```", document, re.DOTALL)[1]
        self.assertIn("grpc://localhost:2222", program)
        result = subprocess.run([sys.executable, "-c", program.replace("grpc://localhost:2222", self.server.target)],
                                capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLess(float(result.stdout), 1e-3)


class EndTest(unittest.TestCase):
    """How servers and clients end."""

    _CLIENT = textwrap.dedent("""
        import sys
        import tensorflow as tf
        v1 = tf.compat.v1
        v1.disable_eager_execution()
        session = v1.Session(sys.argv[1])
        v = v1.get_variable("mark", [], initializer=v1.constant_initializer(1.0), use_resource=True)
        session.run(v.initializer)
        queue = tf.queue.FIFOQueue(1, [tf.float32], shared_name="never")
        print("waiting", flush=True)
        session.run(queue.dequeue())
        """)

    def client(self, target):
        child = subprocess.Popen([sys.executable, "-c", self._CLIENT, target], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "waiting\n")
        time.sleep(0.3)
        return child

    def test_killed_client(self):
        """Its step ends, its session is closed, others go on."""
        with ServerProcess("--abandoned-after", 1, "--max-steps", 1, "--max-sessions", 2) as server, tf.Graph().as_default():
            child = self.client(server.target)
            with v1.Session(server.target) as other:
                three = tf.constant(3.0)
                with self.assertRaises(tf.errors.ResourceExhaustedError):  # the only step is the waiting one
                    other.run(three)
                child.kill()
                deadline = time.monotonic() + 10
                while True:
                    try:
                        self.assertEqual(other.run(three), 3.0)
                        break
                    except tf.errors.ResourceExhaustedError:
                        self.assertLess(time.monotonic(), deadline, "the dead client's step goes on")
                        time.sleep(0.05)
                while True:  # until the dead client's session makes room for another
                    try:
                        with v1.Session(server.target) as third:
                            self.assertEqual(third.run(three), 3.0)
                        break
                    except tf.errors.ResourceExhaustedError:
                        self.assertLess(time.monotonic(), deadline, "the dead client's session stays open")
                        time.sleep(0.2)
                self.assertEqual(other.run(three), 3.0)

    def test_sigterm(self):
        with ServerProcess() as server, tf.Graph().as_default():
            queue = tf.queue.FIFOQueue(1, [tf.float32])
            item = queue.dequeue()
            session = v1.Session(server.target)
            outcome = []

            def wait():
                try:
                    outcome.append(session.run(item))
                except tf.errors.OpError as error:
                    outcome.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            time.sleep(0.5)
            code, seconds = server.stop(signal.SIGTERM)
            thread.join()
            self.assertEqual(code, 0)
            self.assertLess(seconds, 10)
            self.assertIsInstance(outcome[0], (tf.errors.CancelledError, tf.errors.UnavailableError))

    def test_second_server_on_a_port(self):
        with ServerProcess() as server:
            again = subprocess.run([os.environ["CAUDAL_BIN"], "server", "--port", str(server.port)], capture_output=True,
                                   text=True, timeout=60)
            self.assertEqual(again.returncode, 1)
            self.assertIn("UNAVAILABLE", again.stderr)
            missing = subprocess.run([os.environ["CAUDAL_BIN"], "server", "--allow-dir", "/not/there"], capture_output=True,
                                     text=True, timeout=60)
            self.assertEqual(missing.returncode, 1)
            self.assertIn("NOT_FOUND", missing.stderr)


if __name__ == "__main__":
    unittest.main()
