"""testdata/control_flow/loops.meta: loops and conditions in one another, as TensorFlow's meta graph holds them.

    python tests/python/record_loop_meta.py testdata/control_flow/loops.meta

Prints y and dy/dx for the values of x that caudal/proto/context_proto_test.cc feeds.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.disable_control_flow_v2()

x = tf1.placeholder(tf.float32, [], name="x")


def power(start):
    def body(i, s):
        return i + 1, tf1.cond(tf.equal(i, 1), lambda: s * x, lambda: tf.sin(s))

    return tf1.while_loop(lambda i, s: i < 3, body, [0, start])[1]


chosen = tf1.cond(x > 0.0, lambda: power(x * 2.0), lambda: x * x)
nested = tf1.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, power(s)), [0, x])[1]
y = tf.add(power(x) + nested, chosen, name="y")
tf1.train.export_meta_graph(sys.argv[1], clear_devices=True, strip_default_attrs=True)
slope = tf1.gradients(y, x)[0]
with tf1.Session() as session:
    for value in (0.5, -0.75):
        print(value, *session.run([y, slope], {x: value}))
