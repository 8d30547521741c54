#!/usr/bin/env python3
"""One training step of the MLP (784-300-100-10, batch 50, Adam) by TensorFlow's Python client: on `caudal server` and on a
TensorFlow server, in turns, in one sitting. Needs an interpreter with tensorflow-cpu.

  bench/server_step.py --program build/release/caudal [--json]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
TENSORFLOW_SERVER = ("import tensorflow as tf; s = tf.compat.v1.train.Server({'local': ['localhost:0']}, job_name='local', "
                     "task_index=0); print(s.target, flush=True); s.join()")


def start(command, read_target):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, read_target(process.stdout.readline())


def build(tf):
    """Placeholders, the step and the loss."""
    x, y = tf.placeholder(tf.float32, (None, 784)), tf.placeholder(tf.int32, (None,))
    values, size = x, 784
    for i, units in enumerate((300, 100, 10)):
        w = tf.get_variable(f"w{i}", (size, units), initializer=tf.random_normal_initializer(stddev=0.05, seed=i))
        b = tf.get_variable(f"b{i}", (units,), initializer=tf.zeros_initializer())
        values = tf.matmul(values, w) + b
        if i < 2:
            values = tf.nn.relu(values)
        size = units
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=values))
    return x, y, tf.train.AdamOptimizer(0.001).minimize(loss), loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--windows", type=int, default=7)
    parser.add_argument("--steps", type=int, default=200, help="per window")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    import numpy as np
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    servers = {
        "caudal": start([str(options.program), "server", "--port", "0", "--json"], lambda line: json.loads(line)["target"]),
        "tensorflow": start([sys.executable, "-c", TENSORFLOW_SERVER], str.strip),
    }
    random = np.random.RandomState(0)
    images, labels = random.rand(50, 784).astype(np.float32), random.randint(0, 10, 50).astype(np.int32)
    times, losses = {name: [] for name in servers}, {}
    try:
        x, y, update, loss = build(tf)
        sessions = {name: tf.Session(target) for name, (_, target) in servers.items()}
        for session in sessions.values():
            session.run(tf.global_variables_initializer())
        for window in range(options.windows + 1):
            for name, session in sessions.items():
                begin = time.perf_counter()
                for _ in range(options.steps):
                    _, losses[name] = session.run([update, loss], {x: images, y: labels})
                if window > 0:  # the first warms up
                    times[name].append((time.perf_counter() - begin) / options.steps * 1e6)
        for session in sessions.values():
            session.close()
    finally:
        for process, _ in servers.values():
            process.kill()
    result = {name: statistics.median(values) for name, values in times.items()}
    result["ratio"] = result["caudal"] / result["tensorflow"]
    result["losses"] = {name: float(value) for name, value in losses.items()}
    if options.json:
        print(json.dumps(result))
    else:
        print(f"step by the Python client: caudal {result['caudal']:.0f} us, tensorflow {result['tensorflow']:.0f} us, "
              f"ratio {result['ratio']:.2f} (goal 0.70); losses {result['losses']}")


if __name__ == "__main__":
    main()
