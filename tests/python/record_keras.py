"""Records what Keras 3 on TensorFlow computes for a dozen models: testdata/keras/*.json.

    python tests/python/record_keras.py testdata/keras

Each file holds a model as to_json() writes it, with its compile settings, first weights, data, and what comes of
fit() without shuffling: the logs of every batch and epoch, evaluate(), predict() and the last weights.
caudal/keras/golden_test.cc does the same and compares.
"""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["COLUMNS"] = "110"

import keras  # noqa: E402
import numpy as np  # noqa: E402

L = keras.layers
RNG = np.random.default_rng(7)


def array(value):
    value = np.asarray(value)
    kind = "int" if value.dtype.kind in "iub" else "float"
    flat = value.reshape(-1)
    values = [int(v) for v in flat] if kind == "int" else [float(np.float32(v)) for v in flat]
    return {"type": kind, "shape": list(value.shape), "values": [round_trip(v) for v in values]}


def round_trip(value):
    return value if isinstance(value, int) else float(f"{value:.9g}")


def images(n, *shape):
    return RNG.random((n, *shape)).astype("float32")


def classes(n, count):
    return RNG.integers(0, count, n)


def one_hot(n, count):
    return np.eye(count, dtype="float32")[classes(n, count)]


def sequential(*layers):
    return keras.Sequential(list(layers))


def mlp():
    model = sequential(
        L.Input((6,)),
        L.Dense(8, activation="relu", kernel_regularizer=keras.regularizers.L2(0.01)),
        L.Dense(5, activation="elu", kernel_constraint=keras.constraints.MaxNorm(1.0)),
        L.Dense(3, activation="softmax"),
    )
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model, images(20, 6), classes(20, 3), {}


def momentum():
    model = sequential(L.Input((6,)), L.Dense(7, activation="tanh"), L.Dense(2))
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True, clipnorm=1.0), "mse", metrics=["mae", "mape"]
    )
    return model, images(20, 6), images(20, 2), {}


def cnn():
    model = sequential(
        L.Input((8, 8, 2)),
        L.Conv2D(4, 3, padding="same", activation="relu", use_bias=False),
        L.MaxPooling2D(),
        L.BatchNormalization(),
        L.Conv2D(3, 3, strides=2),
        L.LeakyReLU(),
        L.Flatten(),
        L.Dense(3, activation="softmax"),
    )
    model.compile(keras.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy", "top_k_categorical_accuracy"])
    return model, images(12, 8, 8, 2), one_hot(12, 3), {}


def separable():
    model = sequential(
        L.Input((9, 9, 2)),
        L.SeparableConv2D(4, 3, depth_multiplier=2, activation="relu"),
        L.DepthwiseConv2D(3, padding="same"),
        L.AveragePooling2D(2),
        L.Conv2DTranspose(2, 3, strides=2),
        L.UpSampling2D(),
        L.ZeroPadding2D(((1, 0), (2, 1))),
        L.Cropping2D(1),
        L.PReLU(shared_axes=[1, 2]),
        L.GlobalAveragePooling2D(),
        L.Dense(1),
    )
    model.compile(keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True), "huber", metrics=["mse"])
    return model, images(8, 9, 9, 2), images(8, 1), {}


def conv1d():
    model = sequential(
        L.Input((10, 3)),
        L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="gelu"),
        L.MaxPooling1D(),
        L.LayerNormalization(),
        L.Conv1D(3, 2, activation="swish"),
        L.GlobalMaxPooling1D(),
        L.Dense(1, activation="sigmoid"),
    )
    model.compile(keras.optimizers.AdamW(0.01), "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(), keras.metrics.Precision(), keras.metrics.Recall()])
    return model, images(16, 10, 3), RNG.integers(0, 2, (16, 1)), {}


def lstm():
    model = sequential(
        L.Input((6, 3)),
        L.Bidirectional(L.LSTM(4, return_sequences=True)),
        L.TimeDistributed(L.Dense(3, activation="tanh")),
        L.LSTM(3, go_backwards=True),
        L.Dense(2),
    )
    model.compile(keras.optimizers.Nadam(0.01), "mae")
    return model, images(10, 6, 3), images(10, 2), {}


def gru_masked():
    model = sequential(
        L.Input((7,)),
        L.Embedding(12, 4, mask_zero=True),
        L.Bidirectional(L.GRU(5, return_sequences=True), merge_mode="sum"),
        L.GRU(4, reset_after=False),
        L.Dense(3, activation="softmax"),
    )
    model.compile(keras.optimizers.Adagrad(0.1), "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
    ids = RNG.integers(1, 12, (12, 7))
    for row in range(12):
        ids[row, 7 - row % 5 :] = 0
    return model, ids, classes(12, 3), {}


def sequence_labels():
    model = sequential(
        L.Input((5, 3)),
        L.Masking(0.0),
        L.SimpleRNN(6, return_sequences=True, unroll=True),
        L.Dense(4, activation="softmax"),
    )
    model.compile(keras.optimizers.Adadelta(1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
    x = images(8, 5, 3)
    for row in range(8):
        x[row, 5 - row % 4 :] = 0
    return model, x, RNG.integers(0, 4, (8, 5)), {}


def two_branches():
    a, b = L.Input((4,), name="a"), L.Input((5,), name="b")
    shared = L.Dense(4, activation="selu", name="shared")
    left = shared(a)
    right = shared(L.Dense(4)(b))
    joined = L.Concatenate()([left, right, L.Multiply()([left, right]), L.Subtract()([left, right])])
    inner_in = L.Input((16,))
    inner = keras.Model(inner_in, L.Dense(6, activation="softplus")(inner_in), name="inner")
    x = inner(joined)
    y = L.Dense(3, activation="softmax", name="kind")(x)
    z = L.Dense(1, name="size")(L.Average()([x, L.Maximum()([x, x])]))
    model = keras.Model([a, b], [y, z])
    model.compile(
        keras.optimizers.Adamax(0.01),
        ["sparse_categorical_crossentropy", "mse"],
        loss_weights=[1.0, 0.5],
        metrics=[["accuracy"], ["mae"]],
    )
    return model, [images(14, 4), images(14, 5)], [classes(14, 3), images(14, 1)], {}


def weighted():
    model = sequential(L.Input((4,)), L.Dense(5, activation="hard_sigmoid"), L.Dense(3, activation="softmax"))
    model.compile(
        keras.optimizers.Ftrl(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
        weighted_metrics=["accuracy"],
    )
    return model, images(18, 4), classes(18, 3), {"class_weight": {0: 2.0, 1: 0.5}}


def residual():
    x = inputs = L.Input((6, 6, 3))
    x = L.Rescaling(2.0, offset=-1.0)(x)
    for _ in range(2):
        y = L.Conv2D(3, 3, padding="same", use_bias=False)(x)
        y = L.BatchNormalization(momentum=0.9)(y)
        y = L.ReLU(max_value=6)(y)
        x = L.Add()([x, y])
    x = L.Flatten()(x)
    x = L.Reshape((9, 12))(x)
    x = L.Permute((2, 1))(x)
    x = L.GlobalAveragePooling1D()(x)
    x = L.BatchNormalization()(x)
    outputs = L.Dense(2, activation="tanh")(x)
    model = keras.Model(inputs, outputs)
    schedule = keras.optimizers.schedules.ExponentialDecay(0.02, 3, 0.5)
    model.compile(keras.optimizers.Adam(schedule, amsgrad=True), "log_cosh", metrics=["cosine_similarity", "root_mean_squared_error"])
    return model, images(10, 6, 6, 3), images(10, 2), {"sample_weight": RNG.random(10).astype("float32")}


def losses():
    inputs = L.Input((5,))
    h = L.Dense(6, activation="mish")(inputs)
    outs = [L.Dense(3, activation="softmax")(h), L.Dense(3, activation="sigmoid")(h), L.Dense(3)(h), L.Dense(3)(h),
            L.Dense(3, activation="softplus")(h), L.Dense(3)(h), L.Dense(3, activation="softmax")(h), L.Dense(3)(h),
            L.Dense(3, activation="softplus")(h)]
    model = keras.Model(inputs, outs)
    model.compile(
        "adam",
        ["kl_divergence", keras.losses.BinaryFocalCrossentropy(), "hinge", "squared_hinge", "poisson",
         "cosine_similarity", keras.losses.CategoricalCrossentropy(label_smoothing=0.1), "categorical_hinge", "msle"],
    )
    n = 10
    labels = [one_hot(n, 3), RNG.integers(0, 2, (n, 3)), RNG.integers(0, 2, (n, 3)), RNG.integers(0, 2, (n, 3)),
              images(n, 3), images(n, 3), one_hot(n, 3), one_hot(n, 3), images(n, 3)]
    return model, images(n, 5), labels, {}


def volumes():
    model = sequential(
        L.Input((6, 6, 6, 2)),
        L.Conv3D(3, 3, padding="same", activation="relu", strides=(1, 2, 1)),
        L.MaxPooling3D(2),
        L.Conv3D(2, (2, 1, 2)),
        L.AveragePooling3D((1, 1, 2)),
        L.Flatten(),
        L.Dense(2),
    )
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return model, images(9, 6, 6, 6, 2), images(9, 2), {}


def encoder_decoder():
    source, target = L.Input((5,), name="source"), L.Input((4, 2), name="target")
    embedded = L.Embedding(9, 3)(source)
    both = L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum")(embedded)
    _, h, c = L.LSTM(4, return_state=True)(both)
    decoded = L.LSTM(4, return_sequences=True)(target, initial_state=[h, c])
    scores = L.Softmax()(L.Dot(axes=(2, 2))([decoded, L.Dense(4)(both)]))
    context = L.Dot(axes=(2, 1))([scores, both])
    likeness = L.Dot(axes=1, normalize=True)([h, c])
    joined = L.Concatenate()([L.Flatten()(L.Concatenate()([decoded, context])), likeness])
    model = keras.Model([source, target], L.Dense(2, activation="linear")(joined))
    model.compile(keras.optimizers.SGD(0.1, momentum=0.5), "mse", metrics=["mae"])
    ids = RNG.integers(1, 9, (10, 5))
    for row in range(10):
        ids[row, 5 - row % 3 :] = 0
    return model, [ids, images(10, 4, 2)], images(10, 2), {}


MODELS = [mlp, momentum, cnn, separable, conv1d, lstm, gru_masked, sequence_labels, two_branches, weighted, residual, losses, volumes, encoder_decoder]


def listed(value):
    return [array(v) for v in (value if isinstance(value, list) else [value])]


def record(make):
    keras.utils.clear_session()
    keras.utils.set_random_seed(3)
    model, x, y, extra = make()
    first = model.get_weights()
    batches = []
    spy = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: batches.append({k: float(v) for k, v in logs.items()}))
    text = model.to_json()
    history = model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0, callbacks=[spy], **extra)
    logs = model.evaluate(x, y, batch_size=5, verbose=0, return_dict=True)
    predictions = model.predict(x, batch_size=6, verbose=0)
    return {
        "model": json.loads(text),
        "paths": [w.path for w in model.weights],
        "weights": listed(first),
        "x": listed(x),
        "y": listed(y),
        "sample_weight": listed(extra["sample_weight"]) if "sample_weight" in extra else [],
        "class_weight": [[k, v] for k, v in extra.get("class_weight", {}).items()],
        "batches": batches,
        "epochs": [{k: float(v[i]) for k, v in history.history.items()} for i in range(3)],
        "evaluate": {k: float(v) for k, v in logs.items()},
        "predictions": listed(predictions),
        "last_weights": listed(model.get_weights()),
        "summary": summary(model),
    }


def summary(model):
    lines = []
    model.summary(print_fn=lines.append, line_length=100)
    return "".join(lines).rstrip("\n") + "\n"


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    for make in MODELS:
        with open(os.path.join(directory, make.__name__ + ".json"), "w", encoding="utf-8") as out:
            json.dump(record(make), out, separators=(",", ":"))
            out.write("\n")


if __name__ == "__main__":
    main()
