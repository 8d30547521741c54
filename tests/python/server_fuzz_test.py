"""Damaged and malicious graphs and calls through the real socket: nothing but errors comes out, and the server lives on.

CAUDAL_SERVER_MUTATIONS sets how many are sent (default 2000), CAUDAL_SERVER_MUTATION_FIRST where to start.
"""
import os
import pathlib
import random
import tempfile
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import grpc
import tensorflow as tf
from google.protobuf import text_format

import master_protocol
from server_process import ServerProcess

_DATA = pathlib.Path(__file__).resolve().parents[2] / "testdata"
_COUNT = int(os.environ.get("CAUDAL_SERVER_MUTATIONS", 2000))
_FIRST = int(os.environ.get("CAUDAL_SERVER_MUTATION_FIRST", 0))
_SIZES = [0, -1, 1, 2, 3, 7, -5, 64, 100000, 2**31 - 1, 2**63 - 1, -2**63, 2**40]
_MEMORY_MB = 64
# What the process may take beyond its start and the tensors of all sessions: code, threads, allocator.
_SLACK_MB = 400


def seeds():
    graphs = []
    for path in sorted([*(_DATA / "corpus" / "graph_def").iterdir(), *(_DATA / "golden" / "session").glob("*.pb")]):
        graph = tf.compat.v1.GraphDef()
        content = path.read_bytes()
        try:
            graph.ParseFromString(content)
        except Exception:  # the seed in text form
            text_format.Parse(content.decode(), graph)
        graphs.append(graph)
    return graphs


class Mutator:
    """Mutation number n is the same in every run."""

    def __init__(self, graphs):
        self.graphs = graphs
        self.ops = sorted({node.op for graph in graphs for node in graph.node})
        self.random = random.Random()

    def graph(self, n):
        """(bytes, GraphDef before its bytes were damaged)."""
        self.random.seed(n)
        graph = tf.compat.v1.GraphDef()
        graph.CopyFrom(self.random.choice(self.graphs))
        for _ in range(self.random.randrange(3)):
            self._change_node(graph)
        content = graph.SerializeToString()
        if self.random.random() < 0.2:
            content = self.damaged(content)
        return content, graph

    def damaged(self, content):
        content = bytearray(content)
        for _ in range(self.random.randint(1, 6)):
            if not content:
                break
            at = self.random.randrange(len(content))
            kind = self.random.randrange(4)
            if kind == 0:
                content[at] = self.random.randrange(256)
            elif kind == 1:
                content[at] ^= 1 << self.random.randrange(8)
            elif kind == 2:
                del content[at:at + self.random.randint(1, 20)]
            else:
                content[at:at] = content[:self.random.randint(1, 40)]
        return bytes(content)

    def _change_node(self, graph):
        choice = self.random.choice
        if not graph.node:
            return
        node = choice(graph.node)
        kind = self.random.randrange(8)
        if kind == 0:
            node.op = choice(self.ops)
        elif kind == 1 and node.input:
            node.input[self.random.randrange(len(node.input))] = self._input(graph)
        elif kind == 2:
            node.input.append(self._input(graph))
        elif kind == 3 and node.input:
            del node.input[-1]
        elif kind == 4:
            copy = graph.node.add()
            copy.CopyFrom(node)
            copy.name += f"_copy{self.random.randrange(1000)}"
        elif node.attr:
            self._change_attr(graph, node.attr[choice(sorted(node.attr))])

    def _input(self, graph):
        name = self.random.choice(graph.node).name
        return self.random.choice([name, name, name, "^" + name, f"{name}:{self.random.randrange(4)}"])

    def _change_attr(self, graph, value):
        kind = value.WhichOneof("value")
        if kind == "i":
            value.i = self.random.choice(_SIZES)
        elif kind == "f":
            value.f = self.random.choice([0.0, float("nan"), 1e30, -1.0])
        elif kind == "b":
            value.b = not value.b
        elif kind == "type":
            value.type = self.random.randrange(25)
        elif kind == "shape":
            self._change_shape(value.shape)
        elif kind == "tensor":
            tensor = value.tensor
            if self.random.random() < 0.5:
                self._change_shape(tensor.tensor_shape)
            elif tensor.int_val:
                tensor.int_val[0] = self.random.choice([0, -1, 1, 7, 64, 2**31 - 1])
            elif tensor.tensor_content:
                tensor.tensor_content = self.damaged(tensor.tensor_content)
            else:
                tensor.dtype = self.random.randrange(25)
        elif kind == "s":
            value.s = self.damaged(value.s)
        elif kind == "func":
            functions = [f.signature.name for f in graph.library.function] or ["none"]
            value.func.name = self.random.choice(functions)

    def _change_shape(self, shape):
        if shape.dim and self.random.random() < 0.7:
            self.random.choice(shape.dim).size = self.random.choice(_SIZES)
        else:
            shape.dim.add().size = self.random.choice(_SIZES)


def feeds(graph):
    """A small value for every placeholder."""
    for node in graph.node:
        if node.op != "Placeholder":
            continue
        try:
            dtype = tf.dtypes.as_dtype(node.attr["dtype"].type)
            shape = [dim.size if 0 <= dim.size <= 64 else 2 for dim in node.attr["shape"].shape.dim][:4]
            value = "a" if dtype == tf.string else 1
            tensor = tf.make_tensor_proto(value, dtype, shape)
        except Exception:  # the mutation made it no type that values can have
            continue
        yield node.name + ":0", tensor.SerializeToString()


class ServerFuzzTest(unittest.TestCase):
    def step(self, master, mutator, session, graph):
        """True if a kernel ran or said what is wrong."""
        pick = mutator.random
        nodes = [node.name for node in graph.node]
        fetches = [f"{name}:0" for name in pick.sample(nodes, min(len(nodes), pick.randint(0, 3)))]
        targets = pick.sample(nodes, min(len(nodes), pick.randint(0, 2)))
        request = master.step_request(session, list(feeds(graph)), fetches, targets, timeout_ms=200, request_id=0)
        if pick.random() < 0.1:
            request = mutator.damaged(request)
        try:
            master.call("RunStep", request)
            return bool(fetches or targets)
        except grpc.RpcError as error:
            self.assertNotIn(error.code(), (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN), error.details())
            return "[[{{node" in error.details()

    def test_mutations(self):
        with tempfile.TemporaryDirectory() as folder, \
                ServerProcess("--memory-limit", _MEMORY_MB, "--total-memory-limit", 2 * _MEMORY_MB, "--allow-dir", folder) as server:
            master = master_protocol.Master(server.port)
            healthy = master.create(tf.compat.v1.GraphDef().SerializeToString())
            mutator = Mutator(seeds())
            start = server.resident_bytes()
            ran = 0
            for n in range(_FIRST, _FIRST + _COUNT):
                content, graph = mutator.graph(n)
                with self.subTest(mutation=n):
                    try:
                        session = master.create(content, b"\x78\x01" if n % 2 else b"")  # every other one isolated
                    except grpc.RpcError as error:
                        self.assertNotIn(error.code(), (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN), error.details())
                        continue
                    ran += self.step(master, mutator, session, graph)
                    master.close(session)
                    if n % 500 == 0:
                        master.run(healthy)
                self.assertTrue(server.is_running(), f"mutation {n}")
            master.run(healthy)
            grown = (server.resident_bytes() - start) >> 20
            print(f"{_COUNT} mutations, {ran} ran, {grown} MB more than at the start")
            self.assertGreaterEqual(ran, _COUNT / 10)
            self.assertLess(grown, 2 * _MEMORY_MB + _SLACK_MB)
            code, _ = server.stop()
            self.assertEqual(code, 0)

    def test_calls_that_are_none(self):
        with ServerProcess() as server:
            master = master_protocol.Master(server.port)
            pick = random.Random(5)
            methods = ["CreateSession", "ExtendSession", "RunStep", "PartialRunSetup", "CloseSession", "ListDevices", "Reset",
                       "MakeCallable", "RunCallable", "ReleaseCallable", "NoSuchMethod"]
            for _ in range(max(200, _COUNT // 10)):
                content = bytes(pick.randrange(256) for _ in range(pick.randrange(60)))
                try:
                    master.call(pick.choice(methods), content)
                except grpc.RpcError as error:
                    self.assertNotIn(error.code(), (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN), error.details())
            self.assertTrue(master.create())


if __name__ == "__main__":
    unittest.main()
