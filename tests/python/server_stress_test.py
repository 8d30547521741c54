"""Many clients, some of them killed at any moment: nobody else notices, and the memory comes back.

CAUDAL_SERVER_STRESS sets the seconds (default 12; 300 for the long run), CAUDAL_SERVER_CLIENTS how many (default 8).
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow as tf

import master_protocol
from server_process import ServerProcess

v1 = tf.compat.v1
_SECONDS = float(os.environ.get("CAUDAL_SERVER_STRESS", 12))
_CLIENTS = int(os.environ.get("CAUDAL_SERVER_CLIENTS", 8))
# Of a process whose allocator keeps some pages per thread; the long run is held to 5 percent.
_GROWTH = 1.05
_SMALL_BYTES = 24 << 20  # in the short run pages that are touched for the first time count more


def graph_bytes():
    with tf.Graph().as_default() as graph:
        count = v1.get_variable("count", [1], initializer=v1.zeros_initializer(), use_resource=False)
        tf.group(count.initializer, name="init")
        tf.identity(v1.assign_add(count, [1.0]), name="add")
        tf.multiply(v1.placeholder(tf.float32, [None], name="x"), 2.0, name="y")
        tf.group(tf.queue.FIFOQueue(1, [tf.float32], name="queue").dequeue(), name="wait")
        return graph.as_graph_def().SerializeToString()


class Clients:
    def __init__(self, port, path):
        self.port, self.path = port, path
        self.random = random.Random(3)
        self.running = []
        self.killed = 0

    def start(self):
        script = pathlib.Path(__file__).with_name("server_stress_client.py")
        self.running.append(subprocess.Popen([sys.executable, str(script), str(self.port), self.path, str(self.random.getrandbits(30))],
                                             stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def check(self):
        for client in self.running:
            if client.poll() is not None:
                raise AssertionError(f"a live client ended with {client.returncode}:\n{client.stderr.read()[-3000:]}")

    def kill_one(self):
        client = self.running.pop(self.random.randrange(len(self.running)))
        client.kill()
        client.communicate()
        self.killed += 1

    def work(self, seconds):
        end = time.monotonic() + seconds
        for _ in range(_CLIENTS):
            self.start()
        while time.monotonic() < end:
            time.sleep(self.random.uniform(0.2, 1.5))
            self.check()
            self.kill_one()
            self.start()
        self.stop()

    def stop(self):
        self.check()
        for client in self.running:
            client.stdin.close()
        for client in self.running:
            code = client.wait(60)
            errors = client.stderr.read()
            client.stderr.close()
            if code != 0:
                raise AssertionError(f"a client ended with {code}:\n{errors[-3000:]}")
        self.running = []


class ServerStressTest(unittest.TestCase):
    def test_clients_that_die(self):
        with tempfile.NamedTemporaryFile() as graph, ServerProcess("--abandoned-after", 1) as server:
            graph.write(graph_bytes())
            graph.flush()
            witness = master_protocol.Master(server.port)
            session = witness.create(graph_bytes())
            witness.run(session, targets=["init"])
            clients = Clients(server.port, graph.name)
            self.addCleanup(lambda: [client.kill() for client in clients.running])
            sizes = []
            for share in (1 / 3, 2 / 3):
                clients.work(_SECONDS * share)
                time.sleep(4)  # for the sessions of the dead
                witness.run(session, fetches=["add:0"])
                sizes.append(server.resident_bytes())
            print(f"{clients.killed} clients killed, resident MB after a third and at the end: {[s >> 20 for s in sizes]}")
            self.assertLess(sizes[1], sizes[0] * _GROWTH + (_SMALL_BYTES if _SECONDS < 100 else 0))
            self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    unittest.main()
