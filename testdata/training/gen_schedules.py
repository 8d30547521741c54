"""Schedules, moving averages and clipping by TensorFlow 2.21.

    python testdata/training/gen_schedules.py > testdata/training/schedules.json
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.disable_resource_variables()
t = tf1.train


def plain(value):
    flat = np.asarray(value).reshape(-1)
    return [float(np.format_float_positional(np.float32(v), unique=True)) for v in flat]


SCHEDULES = {
    "exponential": lambda s: t.exponential_decay(0.1, s, 4, 0.96),
    "exponential_staircase": lambda s: t.exponential_decay(0.1, s, 4, 0.96, staircase=True),
    "natural_exp": lambda s: t.natural_exp_decay(0.1, s, 4, 0.5),
    "natural_exp_staircase": lambda s: t.natural_exp_decay(0.1, s, 4, 0.5, staircase=True),
    "inverse_time": lambda s: t.inverse_time_decay(0.1, s, 4, 0.5),
    "inverse_time_staircase": lambda s: t.inverse_time_decay(0.1, s, 4, 0.5, staircase=True),
    "piecewise": lambda s: t.piecewise_constant(s, [3, 10], [0.1, 0.05, 0.01]),
    "polynomial": lambda s: t.polynomial_decay(0.1, s, 10, 0.01, 0.5),
    "polynomial_cycle": lambda s: t.polynomial_decay(0.1, s, 10, 0.01, 0.5, cycle=True),
    "polynomial_defaults": lambda s: t.polynomial_decay(0.1, s, 10),
    "cosine": lambda s: t.cosine_decay(0.1, s, 10),
    "cosine_alpha": lambda s: t.cosine_decay(0.1, s, 10, 0.1),
    "restarts": lambda s: t.cosine_decay_restarts(0.1, s, 4),
    "restarts_more": lambda s: t.cosine_decay_restarts(0.1, s, 3, 1.5, 0.8, 0.05),
    "restarts_equal": lambda s: t.cosine_decay_restarts(0.1, s, 4, 1.0, 0.9),
    "linear_cosine": lambda s: t.linear_cosine_decay(0.1, s, 10),
    "linear_cosine_more": lambda s: t.linear_cosine_decay(0.1, s, 10, 2.5, 0.1, 0.01),
}


def schedule_values(make):
    with tf1.Graph().as_default(), tf1.Session() as session:
        step = tf1.placeholder(tf.int64, [])
        rate = make(step)
        return plain([session.run(rate, {step: i}) for i in range(26)])


# The noise is the op's, with the seeds of graph and op.
def noisy_values():
    with tf1.Graph().as_default(), tf1.Session() as session:
        tf1.set_random_seed(7)
        step = tf1.placeholder(tf.int64, [])
        rate = t.noisy_linear_cosine_decay(0.1, step, 10, 0.5, 0.7)
        seeds = [(o.get_attr("seed"), o.get_attr("seed2")) for o in tf1.get_default_graph().get_operations()
                 if o.type == "RandomStandardNormal"]
        return {"seed2": int(seeds[0][1]), "values": plain([session.run(rate, {step: i}) for i in range(12)])}


def averages(num_updates):
    with tf1.Graph().as_default(), tf1.Session() as session:
        w, step = tf1.Variable([1.0, -2.0], name="w"), tf1.Variable(0, trainable=False, name="step")
        tensor = tf1.multiply(w, 3, name="tripled")
        ema = t.ExponentialMovingAverage(0.9, num_updates=step if num_updates else None, zero_debias=True)
        apply = ema.apply([w, tensor])
        names = sorted(v.op.name for v in tf1.global_variables())
        move = tf1.group(w.assign_add([0.5, 1.0]), step.assign_add(1))
        session.run(w.initializer)
        session.run(tf1.global_variables_initializer())
        rows = []
        for _ in range(5):
            session.run(move)
            session.run(apply)
            rows.append(plain(session.run([ema.average(w), ema.average(tensor)])))
        restore = {k: v.op.name for k, v in ema.variables_to_restore().items()}
        return {"op": apply.name, "variables": names, "rows": rows, "restore": restore}


def clips():
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.constant([[3.0, -4.0], [0.5, 12.0]])
        slices = tf.IndexedSlices(x, tf1.constant([2, 2]), tf1.constant([4, 2]))
        a, b = tf1.clip_by_norm(slices, 5.0), tf1.clip_by_value(slices, -1.0, 2.0)
        out = session.run({
            "average_norm": tf1.clip_by_average_norm(x, 0.5), "average_norm_large": tf1.clip_by_average_norm(x, 50.0),
            "slices_norm": a.values, "slices_value": b.values,
            "norm_axes": tf1.clip_by_norm(x, 5.0, axes=[1])})
        return {k: plain(v) for k, v in out.items()}


print(json.dumps({"schedules": {k: schedule_values(v) for k, v in SCHEDULES.items()}, "noisy": noisy_values(),
                  "averages": averages(False), "averages_num_updates": averages(True), "clips": clips()}))
