"""Weights and optimiser slots saved by TensorFlow are restored by caudal/train, and the other way round."""
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

_WRITER = pathlib.Path(os.environ["CAUDAL_BIN"]).parent / "tests" / "train_test"
_KERNEL = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
_X = [[1.0, 2.0], [3.0, -1.0]]
_NAMES = ["beta1_power", "beta2_power", "dense/bias", "dense/bias/Adam", "dense/bias/Adam_1", "dense/kernel",
          "dense/kernel/Adam", "dense/kernel/Adam_1"]
v1 = tf.compat.v1


class NamedModel:
    """The model of WeightsInterop in caudal/train/interop_test.cc, in a graph."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            kernel = v1.get_variable("dense/kernel", initializer=tf.constant(_KERNEL), use_resource=False)
            bias = v1.get_variable("dense/bias", initializer=tf.zeros(3), use_resource=False)
            loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(_X), kernel) + bias - 1.0))
            self.step = v1.train.AdamOptimizer(0.1).minimize(loss)
            self.savers = {"v2": v1.train.Saver(), "sharded": v1.train.Saver(sharded=True),
                           "v1": v1.train.Saver(write_version=v1.train.SaverDef.V1)}
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())

    def train(self, steps):
        for _ in range(steps):
            self.session.run(self.step)

    def save(self, form, path):
        with self.graph.as_default():
            self.savers[form].save(self.session, path, latest_filename="theirs")

    def restore(self, path):
        """Both formats are restored by any saver."""
        with self.graph.as_default():
            self.session.run(v1.global_variables_initializer())
            self.savers["v2"].restore(self.session, path)

    def values(self):
        with self.graph.as_default():
            return {variable.op.name: self.session.run(variable) for variable in v1.global_variables()}


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(_KERNEL, name="kernel")
        self.bias = tf.Variable(tf.zeros(3), name="bias")

    def loss(self):
        return tf.reduce_mean(tf.square(tf.matmul(tf.constant(_X), self.kernel) + self.bias - 1.0))


class ObjectModel:
    def __init__(self):
        self.net = Net()
        self.optimizer = v1.train.AdamOptimizer(0.1)
        self.checkpoint = tf.train.Checkpoint(net=self.net, optimizer=self.optimizer)

    def train(self, steps):
        for _ in range(steps):
            self.optimizer.minimize(self.net.loss, var_list=[self.net.bias, self.net.kernel])

    def values(self):
        values = {"kernel": self.net.kernel.numpy(), "bias": self.net.bias.numpy()}
        for slot in ("m", "v"):
            values["kernel " + slot] = self.optimizer.get_slot(self.net.kernel, slot).numpy()
            values["bias " + slot] = self.optimizer.get_slot(self.net.bias, slot).numpy()
        return values | {"power": [value.numpy() for value in self.optimizer._get_beta_accumulators()]}


def keras_checkpoint():
    tf.keras.utils.set_random_seed(7)
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="elu"), tf.keras.layers.BatchNormalization(),
                                 tf.keras.layers.Dense(2)])
    model.compile(tf.keras.optimizers.Adam(0.01), "mse")
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
    model.fit(x, x[:, :2], epochs=2, verbose=0)
    return model, tf.train.Checkpoint(model=model, optimizer=model.optimizer)


class WeightsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.named = NamedModel()
        cls.named.train(3)
        for form in cls.named.savers:
            cls.named.save(form, cls.file("theirs_" + form))
        cls.objects = ObjectModel()
        cls.objects.train(3)
        cls.objects.checkpoint.save(cls.file("theirs_objects"))
        cls.keras_model, checkpoint = keras_checkpoint()
        checkpoint.save(cls.file("theirs_keras"))
        cls.output = subprocess.run([str(_WRITER), "--gtest_filter=WeightsInterop.*"], capture_output=True, text=True,
                                    env=os.environ | {"CAUDAL_INTEROP_DIR": scratch.name})
        if cls.output.returncode != 0:
            raise AssertionError(cls.output.stdout + cls.output.stderr)

    @classmethod
    def file(cls, name):
        return str(cls.folder / name)

    def assert_same(self, got, want, exact=True):
        self.assertEqual(sorted(got), sorted(want))
        for name in want:
            if exact:
                np.testing.assert_array_equal(got[name], want[name], name)
            else:
                np.testing.assert_allclose(got[name], want[name], rtol=2e-6, atol=1e-7, err_msg=name)

    def test_names_to_here_and_back(self):
        """What TensorFlow saved comes back bit by bit, in every form, and trains on as TensorFlow's does."""
        want = self.named.values()
        self.assertEqual(sorted(want), _NAMES)
        self.named.train(1)
        following = self.named.values()
        for form in self.named.savers:
            for name, values, exact in (("crossed_", want, True), ("next_", following, False)):
                model = NamedModel()
                model.restore(self.file(name + form))
                self.assert_same(model.values(), values, exact)

    def test_names_from_here(self):
        model = NamedModel()
        model.train(3)
        want = model.values()
        for form in model.savers:
            model.restore(self.file("ours_" + form))
            self.assert_same(model.values(), want, exact=False)
            shapes = tf.train.list_variables(self.file("ours_" + form))
            self.assertEqual([name for name, _ in shapes], _NAMES)

    def test_objects(self):
        """tf.train.Checkpoint: variables, slots and powers of beta."""
        want = ObjectModel()
        want.train(3)
        ours = ObjectModel()
        ours.train(1)  # makes the slots
        ours.checkpoint.restore(self.file("ours_objects-1")).assert_consumed()
        self.assert_same(ours.values(), want.values(), exact=False)
        self.assertEqual(int(ours.checkpoint.save_counter), 1)
        # Deferred: the slots get their values when the optimiser makes them.
        later = ObjectModel()
        later.checkpoint.restore(self.file("ours_objects-1"))
        later.train(1)
        want.train(1)
        self.assert_same(later.values(), want.values(), exact=False)
        crossed = ObjectModel()
        crossed.train(1)
        crossed.checkpoint.read(self.file("next_objects")).assert_consumed()
        self.objects.train(1)
        self.assert_same(crossed.values(), self.objects.values(), exact=False)

    def test_keras(self):
        """All variables of a Keras model and its optimiser, there and back."""
        model, checkpoint = keras_checkpoint()
        for variable in model.variables + model.optimizer.variables:
            variable.assign(tf.zeros_like(variable.value))
        checkpoint.read(self.file("crossed_keras")).assert_existing_objects_matched()
        pairs = list(zip(model.variables + model.optimizer.variables,
                         self.keras_model.variables + self.keras_model.optimizer.variables))
        self.assertGreater(len(pairs), 15)
        for got, want in pairs:
            np.testing.assert_array_equal(got.numpy(), want.numpy(), want.path)

    def test_show(self):
        text = subprocess.run([os.environ["CAUDAL_BIN"], "show", "--json", self.file("theirs_objects-1")], check=True,
                              capture_output=True, text=True).stdout
        tensors = {tensor["name"]: tensor for tensor in json.loads(text)["tensors"]}
        self.assertEqual({name: tensor["shape"] for name, tensor in tensors.items()},
                         dict(tf.train.list_variables(self.file("theirs_objects-1"))))
        slot = tensors["net/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE"]
        self.assertEqual((slot["path"], slot["slot"]), ("net/kernel/.OPTIMIZER_SLOT/optimizer/m", True))


if __name__ == "__main__":
    unittest.main()
