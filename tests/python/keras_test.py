"""`caudal train`, `eval`, `predict` and `summary` beside Keras 3 on TensorFlow: same files, same numbers."""
import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["COLUMNS"] = "110"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

_CAUDAL = os.environ["CAUDAL_BIN"]
_SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "fashion-mnist-sample"
_MODELS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "models"
L = keras.layers


def run(*words, fails=False, **environment):
    result = subprocess.run([_CAUDAL, *map(str, words)], capture_output=True, text=True, timeout=300, env=os.environ | environment)
    if not fails:
        assert result.returncode == 0, result.stderr
    return result


def save_checkpoint(prefix, weights):
    """A checkpoint as TensorFlow itself writes it, weights under their paths."""
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=[w.path for w in weights],
        shape_and_slices=[""] * len(weights),
        tensors=[w.numpy() for w in weights],
    )


def random_model(rng):
    """A chain of layers drawn at random, for pictures, sequences or rows."""
    kind = rng.choice(["rows", "pictures", "sequences"])
    activation = lambda: str(rng.choice(["relu", "tanh", "elu", "selu", "gelu", "softplus", "silu"]))  # noqa: E731
    layers = []
    if kind == "pictures":
        layers.append(L.Input((8, 8, 2)))
        for _ in range(rng.integers(1, 3)):
            layers.append(L.Conv2D(int(rng.integers(2, 5)), 3, padding="same", activation=activation()))
            layers.append(rng.choice([L.MaxPooling2D(), L.AveragePooling2D(2), L.ZeroPadding2D(1)]))
        layers.append(rng.choice([L.Flatten(), L.GlobalAveragePooling2D()]))
    elif kind == "sequences":
        layers.append(L.Input((6, 3)))
        layers.append(L.LSTM(4, return_sequences=True) if rng.random() < 0.5 else L.GRU(4, return_sequences=True))
        layers.append(L.LayerNormalization())
        layers.append(L.SimpleRNN(5) if rng.random() < 0.5 else L.GlobalMaxPooling1D())
    else:
        layers.append(L.Input((7,)))
        for _ in range(rng.integers(1, 4)):
            layers.append(L.Dense(int(rng.integers(3, 9)), activation=activation()))
    classes = int(rng.integers(2, 5))
    layers.append(L.Dense(classes, activation="softmax"))
    model = keras.Sequential(layers)
    optimizer = rng.choice(
        [
            keras.optimizers.SGD(0.05, momentum=0.9),
            keras.optimizers.Adam(0.003),
            keras.optimizers.RMSprop(0.002),
            keras.optimizers.Adagrad(0.05),
            keras.optimizers.Nadam(0.002),
        ]
    )
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    rows = int(rng.integers(9, 40))
    x = rng.random((rows, *model.input_shape[1:])).astype("float32")
    return model, x, rng.integers(0, classes, rows)


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        keras.utils.clear_session()

    def path(self, name):
        return self.folder / name


class LikeKeras(Scratch):
    def check(self, model, x, y):
        self.path("model.json").write_text(model.to_json())
        save_checkpoint(self.path("first"), model.weights)
        np.savez(self.path("data.npz"), x=x, y=y)
        self.assertEqual(
            run("summary", self.path("model.json")).stdout.rstrip(), self.summary(model).rstrip()
        )
        history = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0).history
        out = self.path("out")
        result = json.loads(
            run("train", self.path("model.json"), "--data", self.path("data.npz"), "--weights", self.path("first"),
                "--no-shuffle", "--validation-split", 0, "--batch-size", 8, "--epochs", 3, "--out", out,
                "--json").stdout)  # fmt: skip
        for epoch, logs in enumerate(result["epochs"]):
            for name, value in logs.items():
                self.assertAlmostEqual(value, history[name][epoch], delta=1e-5 * max(1, abs(value)), msg=name)
        # What it leaves, TensorFlow and Keras read.
        reader = tf.train.load_checkpoint(result["checkpoint"])
        for weight in model.weights:
            np.testing.assert_allclose(reader.get_tensor(weight.path), weight.numpy(), rtol=2e-4, atol=2e-5)
        again = keras.models.model_from_json((out / "model.json").read_text())
        again.set_weights([reader.get_tensor(w.path) for w in model.weights])
        run("predict", out, "--data", self.path("data.npz"), "--out", self.path("p.npy"), "--json")
        np.testing.assert_allclose(np.load(self.path("p.npy")), again.predict(x, verbose=0), rtol=1e-5, atol=1e-5)
        measured = json.loads(run("eval", out, "--data", self.path("data.npz"), "--json").stdout)["values"]
        for name, value in model.evaluate(x, y, verbose=0, return_dict=True).items():
            self.assertAlmostEqual(measured[name], value, delta=1e-5 * max(1, abs(value)), msg=name)
        with open(out / "history.csv", newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        self.assertEqual([row["epoch"] for row in rows], ["0", "1", "2"])

    @staticmethod
    def summary(model):
        lines = []
        model.summary(print_fn=lines.append)
        return "".join(lines)

    def test_random_models(self):
        for seed in range(12):
            with self.subTest(seed=seed):
                keras.utils.clear_session()
                keras.utils.set_random_seed(seed)
                for old in self.folder.glob("*"):
                    if old.is_file():
                        old.unlink()
                self.check(*random_model(np.random.default_rng(seed)))


class BadInput(Scratch):
    def model(self, classes=3):
        model = keras.Sequential([L.Input((2,)), L.Dense(classes, activation="softmax", name="kind")])
        model.compile("adam", "sparse_categorical_crossentropy")
        self.path("model.json").write_text(model.to_json())
        return self.path("model.json")

    def message(self, *words):
        result = run("train", *words, "--out", self.path("out"), "--json", fails=True)
        self.assertEqual(result.returncode, 1, result.stderr)
        error = json.loads(result.stdout)["error"]
        self.assertFalse(self.path("out/weights.index").exists(), "nothing half-done")
        return error

    def csv(self, text):
        self.path("data.csv").write_text(text)
        return self.path("data.csv")

    def test_each_is_named(self):
        model = self.model()
        rows = "a,b,label\n" + "1,2,0\n3,4,1\n5,6,2\n"
        self.assertIn("there is no", self.message(model, "--data", self.path("none.csv")))
        self.assertIn("no rows", self.message(model, "--data", self.csv("")))
        self.assertIn("label 7 in row 2", self.message(model, "--data", self.csv("a,b,label\n1,2,0\n3,4,1\n5,6,7\n"), "--validation-split", 0))
        self.assertIn("data.csv:3: 2 fields", self.message(model, "--data", self.csv("a,b,label\n1,2,0\n3,4\n")))
        self.assertIn("is no number", self.message(model, "--data", self.csv("a,b,label\n1,x,0\n")))
        self.assertIn("nan in row 1", self.message(model, "--data", self.csv("a,b,label\n1,2,0\n3,nan,1\n5,6,2\n"), "--validation-split", 0))
        self.assertIn("takes [?,2], the data have", self.message(model, "--data", self.csv("a,label\n1,0\n2,1\n3,2\n"), "--validation-split", 0))
        self.assertIn("no label is 9", self.message(model, "--data", self.csv(rows), "--class-weight", "9=2", "--validation-split", 0))
        self.assertIn("no column 'kind'", self.message(model, "--data", self.csv(rows), "--label", "kind"))
        self.path("broken.json").write_text(model.read_text()[:50])
        self.assertIn("not JSON", self.message(self.path("broken.json"), "--data", self.csv(rows)))
        other = keras.Sequential([L.Input((3,)), L.Dense(4, name="other")])
        save_checkpoint(self.path("foreign"), other.weights)
        text = self.message(model, "--data", self.csv(rows), "--weights", self.path("foreign"))
        self.assertIn("sequential/kind/kernel", text)
        self.assertIn("other/kernel", text)


class Threads(Scratch):
    def test_one_and_two_give_the_same_bits(self):
        for model in sorted(_MODELS.glob("*.json")):
            results = []
            for threads in "12":
                out = self.folder / f"{model.stem}-{threads}"
                shown = run("train", model, "--data", _SAMPLE, "--epochs", 2, "--batch-size", 50, "--json", "--out", out,
                            CAUDAL_NUM_THREADS=threads)
                results.append((json.loads(shown.stdout)["epochs"], (out / "weights.data-00000-of-00001").read_bytes()))
            self.assertEqual(results[0][0], results[1][0], model.stem)
            self.assertEqual(results[0][1], results[1][1], model.stem)
            self.assertLess(results[0][0][-1]["loss"], results[0][0][0]["loss"])


class Files(Scratch):
    def test_fashion_pictures(self):
        model = pathlib.Path(__file__).resolve().parents[2] / "testdata/keras/fashion_mlp.keras.json"
        result = json.loads(run("train", model, "--data", _SAMPLE, "--epochs", 2, "--out", self.path("out"), "--json").stdout)
        self.assertLess(result["epochs"][1]["loss"], result["epochs"][0]["loss"])
        shown = json.loads(run("inspect", self.path("out"), "--json").stdout)
        self.assertTrue(all(w["state"] == "fits" for w in shown["weights"]))


if __name__ == "__main__":
    unittest.main()
