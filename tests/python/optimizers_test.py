"""Training graphs of TensorFlow with every optimiser: its own client runs them on `caudal server` and by itself."""
import os
import unittest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf

from server_process import ServerProcess

tf1 = tf.compat.v1
tf1.disable_eager_execution()
t = tf1.train

OPTIMIZERS = {
    "GradientDescent": lambda step: t.GradientDescentOptimizer(0.05),
    "Momentum": lambda step: t.MomentumOptimizer(0.02, 0.9),
    "Nesterov": lambda step: t.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
    "ProximalGradientDescent": lambda step: t.ProximalGradientDescentOptimizer(0.05, 0.02, 0.03),
    "Adagrad": lambda step: t.AdagradOptimizer(0.2),
    "AdagradDA": lambda step: t.AdagradDAOptimizer(0.2, step, 0.2, 0.05, 0.03),
    "ProximalAdagrad": lambda step: t.ProximalAdagradOptimizer(0.2, 0.1, 0.05, 0.03),
    "Adadelta": lambda step: t.AdadeltaOptimizer(1.0, 0.9, 1e-4),
    "RMSProp": lambda step: t.RMSPropOptimizer(0.05, 0.8, 0.5, 1e-3),
    "RMSPropCentered": lambda step: t.RMSPropOptimizer(0.05, 0.8, 0.5, 1e-3, centered=True),
    "Adam": lambda step: t.AdamOptimizer(0.1, epsilon=1e-3),
    "Ftrl": lambda step: t.FtrlOptimizer(0.3, -0.6, l1_regularization_strength=0.02, l2_regularization_strength=0.03),
    "FtrlShrinkage": lambda step: t.FtrlOptimizer(0.3, l2_shrinkage_regularization_strength=0.1, beta=0.1),
    "Decayed": lambda step: t.AdamOptimizer(t.polynomial_decay(0.1, step, 5, cycle=True), epsilon=1e-3),
    "Restarts": lambda step: t.MomentumOptimizer(t.cosine_decay_restarts(0.05, step, 3), 0.5),
    "Pieces": lambda step: t.AdagradOptimizer(t.piecewise_constant(step, [2, 4], [0.3, 0.2, 0.1])),
}


class Problem:
    """An embedding, a layer, and the average of its weights."""

    def __init__(self, make, dtype, use_resource, seed):
        random = np.random.default_rng(seed)
        self.graph = tf1.Graph()
        # The server keeps variables by name.
        with self.graph.as_default(), tf1.variable_scope(np.dtype(dtype).name), tf1.name_scope(np.dtype(dtype).name):
            table = tf1.Variable(random.uniform(-1, 1, (8, 3)).astype(dtype), use_resource=use_resource, name="table")
            w = tf1.Variable(random.uniform(-1, 1, (3, 2)).astype(dtype), use_resource=use_resource, name="w")
            step = t.get_or_create_global_step()
            self.ids = tf1.placeholder(tf.int64, [None])
            self.loss = tf1.reduce_sum(tf1.square(tf1.matmul(tf1.nn.embedding_lookup(table, self.ids), w) - 0.5))
            optimizer = make(step)
            pairs = optimizer.compute_gradients(self.loss)
            clipped, _ = tf1.clip_by_global_norm([gradient for gradient, _ in pairs], 4.0)
            train = optimizer.apply_gradients(zip(clipped, [v for _, v in pairs]), global_step=step)
            self.train = train
            self.average = t.ExponentialMovingAverage(0.9, step).apply([w])
            self.first = [table.initializer, w.initializer]
            self.rest = tf1.global_variables_initializer()
            self.variables = tf1.global_variables()
        self.feeds = [random.integers(0, 8, 5) for _ in range(6)]

    def run(self, target):
        with tf1.Session(target, graph=self.graph) as session:
            session.run(self.first)
            session.run(self.rest)
            losses = []
            for ids in self.feeds:
                losses.append(session.run([self.loss, self.train], {self.ids: ids})[0])
                session.run(self.average)
            return losses, session.run(self.variables)


class OptimizersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_every_optimizer(self):
        for seed, (name, make) in enumerate(OPTIMIZERS.items()):
            for dtype in (np.float32, np.float64):
                # Its penalties are float32 numbers that it does not convert.
                if dtype == np.float64 and name.startswith("Proximal"):
                    continue
                for use_resource in (False, True):
                    with self.subTest(name=name, dtype=dtype, use_resource=use_resource):
                        problem = Problem(make, dtype, use_resource, seed)
                        losses, values = problem.run("")
                        got_losses, got_values = problem.run(self.server.target)
                        np.testing.assert_allclose(got_losses, losses, 2e-6, 2e-6)
                        for variable, value, got in zip(problem.variables, values, got_values):
                            np.testing.assert_allclose(got, value, 2e-6, 2e-6, err_msg=variable.name)


if __name__ == "__main__":
    unittest.main()
