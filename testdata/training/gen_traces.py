"""Six steps of every optimiser of tf.compat.v1.train (TensorFlow 2.21) on a model with an embedding.

    python testdata/training/gen_traces.py > testdata/training/traces.json

AdaMax and Nadam, which left TensorFlow with tf.contrib.opt, are put together here from its ops, by their formulas.
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
raw = tf.raw_ops


class Nadam(tf1.train.AdamOptimizer):
    def __init__(self, rate):
        super().__init__(rate, name="Nadam")

    def _powers(self):
        return self._get_beta_accumulators()

    def _apply_dense(self, grad, var):
        return raw.ApplyAdam(var=var._ref(), m=self.get_slot(var, "m")._ref(), v=self.get_slot(var, "v")._ref(),
                             beta1_power=self._powers()[0], beta2_power=self._powers()[1], lr=self._lr_t,
                             beta1=self._beta1_t, beta2=self._beta2_t, epsilon=self._epsilon_t, grad=grad,
                             use_nesterov=True)

    def _apply_sparse(self, grad, var):
        power1, power2 = self._powers()
        rate = self._lr_t * tf1.sqrt(1 - power2) / (1 - power1)
        m, v, rows = self.get_slot(var, "m"), self.get_slot(var, "v"), grad.indices
        with tf1.control_dependencies([tf1.assign(m, m * self._beta1_t)]):
            m_t = tf1.scatter_add(m, rows, grad.values * (1 - self._beta1_t))
        with tf1.control_dependencies([tf1.assign(v, v * self._beta2_t)]):
            v_t = tf1.scatter_add(v, rows, grad.values * grad.values * (1 - self._beta2_t))
        m_bar = grad.values * (1 - self._beta1_t) + self._beta1_t * tf1.gather(m_t, rows)
        return tf1.scatter_sub(var, rows, rate * m_bar / (tf1.sqrt(tf1.gather(v_t, rows)) + self._epsilon_t)).op


class AdaMax(tf1.train.AdamOptimizer):
    def __init__(self, rate):
        super().__init__(rate, name="AdaMax")

    def _power(self):
        return self._get_non_slot_variable("beta1_power", graph=tf1.get_default_graph())

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda x: x.name)
        self._create_non_slot_variable(initial_value=self._beta1, name="beta1_power", colocate_with=first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _apply_dense(self, grad, var):
        return raw.ApplyAdaMax(var=var._ref(), m=self.get_slot(var, "m")._ref(), v=self.get_slot(var, "v")._ref(),
                               beta1_power=self._power(), lr=self._lr_t, beta1=self._beta1_t, beta2=self._beta2_t,
                               epsilon=self._epsilon_t, grad=grad)

    def _apply_sparse(self, grad, var):
        m, v, rows = self.get_slot(var, "m"), self.get_slot(var, "v"), grad.indices
        m_t = tf1.gather(m, rows) * self._beta1_t + grad.values * (1 - self._beta1_t)
        v_t = tf1.maximum(tf1.gather(v, rows) * self._beta2_t, tf1.abs(grad.values))
        step = self._lr_t / (1 - self._power()) * (m_t / (v_t + self._epsilon_t))
        return tf1.group(tf1.scatter_update(m, rows, m_t), tf1.scatter_update(v, rows, v_t),
                         tf1.scatter_sub(var, rows, step))

    def _finish(self, updates, name):
        with tf1.control_dependencies(updates):
            power = self._power().assign(self._power() * self._beta1_t)
        return tf1.group(*updates, power, name=name)


t = tf1.train
OPTIMIZERS = {
    "GradientDescent": lambda s: t.GradientDescentOptimizer(0.05),
    "Momentum": lambda s: t.MomentumOptimizer(0.02, 0.9),
    "Nesterov": lambda s: t.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
    "ProximalGradientDescent": lambda s: t.ProximalGradientDescentOptimizer(0.05, 0.02, 0.03),
    "Adagrad": lambda s: t.AdagradOptimizer(0.2, 0.3),
    "AdagradDA": lambda s: t.AdagradDAOptimizer(0.2, s, 0.2, 0.05, 0.03),
    "ProximalAdagrad": lambda s: t.ProximalAdagradOptimizer(0.2, 0.1, 0.05, 0.03),
    "Adadelta": lambda s: t.AdadeltaOptimizer(1.0, 0.9, 1e-4),
    "RMSProp": lambda s: t.RMSPropOptimizer(0.05, 0.8, 0.5, 1e-3),
    "RMSPropCentered": lambda s: t.RMSPropOptimizer(0.05, 0.8, 0.5, 1e-3, centered=True),
    "Adam": lambda s: t.AdamOptimizer(0.1, 0.8, 0.95, 1e-3),
    "AdaMax": lambda s: AdaMax(0.1),
    "Nadam": lambda s: Nadam(0.1),
    "Ftrl": lambda s: t.FtrlOptimizer(0.3, -0.5, 0.1, 0.02, 0.03),
    "FtrlPower": lambda s: t.FtrlOptimizer(0.3, -0.7, 0.1, 0.02, 0.03, accum_name="sum", linear_name="lin", beta=0.2),
    "FtrlShrinkage": lambda s: t.FtrlOptimizer(0.3, l1_regularization_strength=0.02,
                                               l2_shrinkage_regularization_strength=0.1),
    "AdagradDecayed": lambda s: t.AdagradOptimizer(t.exponential_decay(0.3, s, 2, 0.5, staircase=True)),
}

rng = np.random.default_rng(5)
TABLE = np.round(rng.uniform(-1, 1, (6, 3)), 3).astype(np.float32)
W = np.round(rng.uniform(-1, 1, (3, 1)), 3).astype(np.float32)
IDS = [[0, 2, 0], [5, 1, 2], [2, 2, 2], [4, 0, 1], [3, 2, 0], [0, 0, 5]]
MORE = [[1, 2, 4], [5, 5, 0], [0, 2, 1], [4, 4, 4], [1, 1, 0], [3, 2, 5]]
TARGET = [[0.5], [-0.25], [1.0]]


def plain(value):
    value = np.asarray(value)
    kind = {"float32": "float", "int64": "int64"}[value.dtype.name]
    flat = [int(v) if kind == "int64" else float(np.format_float_positional(v, unique=True)) for v in value.reshape(-1)]
    return {"t": kind, "s": list(value.shape), "v": flat}


def trace(make):
    with tf1.Graph().as_default(), tf1.Session() as session:
        table, w = tf1.Variable(TABLE, name="table"), tf1.Variable(W, name="w")
        b = tf1.Variable(0.1, name="b")
        step = tf1.Variable(np.int64(0), trainable=False, name="step")
        ids, more = tf1.placeholder(tf.int32, [3]), tf1.placeholder(tf.int32, [3])
        rows = tf1.nn.embedding_lookup(table, ids) + tf1.nn.embedding_lookup(table, more)
        loss = tf1.reduce_sum(tf1.square(tf1.matmul(rows, w) + b - TARGET))
        train = make(step).minimize(loss, global_step=step)
        session.run(tf1.global_variables_initializer())
        losses = [float(session.run([loss, train], {ids: a, more: c})[0]) for a, c in zip(IDS, MORE)]
        values = {v.op.name: plain(session.run(v)) for v in tf1.global_variables()}
    return {"train_op": train.name, "losses": losses, "variables": values}


print(json.dumps({"table": plain(TABLE), "w": plain(W), "ids": IDS, "more": MORE,
                  "traces": {name: trace(make) for name, make in OPTIMIZERS.items()}}))
