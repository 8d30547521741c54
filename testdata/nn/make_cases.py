#!/usr/bin/env python3
"""Writes cases.tsv: what TensorFlow's layers, losses and metrics make of given inputs and weights.

Needs tensorflow 2.21 with tf_keras (the old layers live there) and tf_slim:
    TF_USE_LEGACY_KERAS=1 python make_cases.py
Each line is: case, name of a tensor, the tensor as JSON. Names: inputs by their own name; "var:NAME" a variable's value
that the case starts from; "out" (out1, ...) results; "after:NAME" a variable's value at the end.
"""
import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
import numpy as np
import tensorflow as tf
import tf_slim

t = tf.compat.v1
t.disable_eager_execution()
t.disable_v2_behavior()

LINES = []
TYPES = {"float32": "float", "float64": "double", "int32": "int32", "int64": "int64", "bool": "bool", "float16": "half"}


def tensor(value):
    value = np.asarray(value)
    flat = value.reshape(-1)
    if value.dtype.kind == "f":
        values = [float(f"{v:.9g}") if value.dtype != np.float64 else float(v) for v in flat]
        values = [v if np.isfinite(v) else ("nan" if np.isnan(v) else "inf" if v > 0 else "-inf") for v in values]
    elif value.dtype.kind == "b":
        values = [bool(v) for v in flat]
    else:
        values = [int(v) for v in flat]
    return json.dumps({"t": TYPES[str(value.dtype)], "s": list(value.shape), "v": values}, separators=(",", ":"))


def put(case, name, value):
    LINES.append(f"{case}\t{name}\t{tensor(value)}")


class Case:
    """A fresh graph; inputs are constants with random values that are kept."""

    def __init__(self, name):
        self.name = name
        self.random = np.random.RandomState(sum(map(ord, name)))

    def __enter__(self):
        self.graph = tf.Graph()
        self.scope = self.graph.as_default()
        self.scope.__enter__()
        return self

    def __exit__(self, *error):
        self.scope.__exit__(*error)

    def input(self, name, value):
        value = np.asarray(value)
        put(self.name, name, value)
        return tf.constant(value)

    def normal(self, name, *shape, dtype=np.float32):
        return self.input(name, self.random.normal(size=shape).round(3).astype(dtype))

    def uniform(self, name, *shape):
        return self.input(name, self.random.uniform(0.02, 0.98, size=shape).round(3).astype(np.float32))

    def integers(self, name, high, *shape, dtype=np.int64):
        return self.input(name, self.random.randint(0, high, size=shape).astype(dtype))

    def run(self, *outputs, then=(), feeds=None, steps=1, keep_initial=False, extra=0):
        """Gives variables random values, runs `then` `steps` times and the outputs, keeps everything."""
        with tf.compat.v1.Session(graph=self.graph) as session:
            session.run([t.global_variables_initializer(), t.local_variables_initializer()])
            for variable in t.global_variables():
                name = variable.op.name
                value = session.run(variable)
                if not keep_initial:
                    value = self.random.normal(size=value.shape).round(3)
                    if "variance" in name or "stddev" in name:
                        value = np.abs(value) + 0.5
                    value = value.astype(variable.dtype.as_numpy_dtype)
                    variable.load(value, session)
                put(self.name, f"var:{name}", value)
            for _ in range(steps):
                for operation in then:
                    session.run(operation, feeds)
            for i, output in enumerate(outputs):
                put(self.name, f"out{i or ''}", session.run(output, feeds))
            if then:
                for variable in t.global_variables() + t.local_variables():
                    put(self.name, f"after:{variable.op.name}", session.run(variable))


def layers():
    L = t.layers
    reg = lambda w: tf.reduce_sum(tf.abs(w)) * 0.1
    with Case("dense") as c:
        c.run(L.dense(c.normal("x", 3, 4), 5, activation=tf.nn.elu, name="d"))
    with Case("dense_3d") as c:
        c.run(L.dense(c.normal("x", 2, 3, 4), 5, activation=tf.tanh))
    with Case("dense_penalties") as c:
        L.dense(c.normal("x", 3, 4), 5, kernel_regularizer=reg, bias_regularizer=reg, activity_regularizer=reg)
        c.run(*t.losses.get_regularization_losses())
    for padding in ("valid", "same"):
        with Case(f"conv1d_{padding}") as c:
            c.run(L.conv1d(c.normal("x", 2, 9, 3), 4, 3, strides=2, padding=padding))
        with Case(f"conv1d_dilated_{padding}") as c:
            c.run(L.conv1d(c.normal("x", 2, 9, 3), 4, 3, dilation_rate=2, padding=padding))
        with Case(f"conv2d_{padding}") as c:
            c.run(L.conv2d(c.normal("x", 2, 7, 6, 3), 4, (3, 2), strides=(2, 1), padding=padding))
        with Case(f"conv2d_dilated_{padding}") as c:
            c.run(L.conv2d(c.normal("x", 1, 8, 7, 2), 3, 3, dilation_rate=2, padding=padding))
        with Case(f"conv3d_{padding}") as c:
            c.run(L.conv3d(c.normal("x", 1, 5, 4, 4, 2), 3, (2, 3, 2), strides=(1, 2, 1), padding=padding))
        with Case(f"conv2d_transpose_{padding}") as c:
            c.run(L.conv2d_transpose(c.normal("x", 2, 3, 4, 3), 2, (3, 2), strides=(2, 3), padding=padding))
        with Case(f"conv3d_transpose_{padding}") as c:
            c.run(L.conv3d_transpose(c.normal("x", 1, 2, 3, 2, 3), 2, (3, 2, 2), strides=(2, 1, 3), padding=padding))
        with Case(f"depthwise_conv2d_{padding}") as c:
            layer = tf.keras.layers.DepthwiseConv2D((3, 2), strides=2, padding=padding, depth_multiplier=2,
                                                    name="depthwise_conv2d")
            c.run(layer(c.normal("x", 2, 7, 6, 3)))
        with Case(f"separable_conv2d_{padding}") as c:
            c.run(L.separable_conv2d(c.normal("x", 2, 7, 6, 3), 4, (3, 2), strides=2, padding=padding,
                                     depth_multiplier=2))
        with Case(f"separable_conv1d_{padding}") as c:
            c.run(L.separable_conv1d(c.normal("x", 2, 9, 3), 4, 3, strides=2, padding=padding, depth_multiplier=2))
        with Case(f"pooling_{padding}") as c:
            x1, x2 = c.normal("x1", 2, 7, 3), c.normal("x2", 2, 7, 6, 2)
            c.run(L.max_pooling1d(x1, 3, 2, padding), L.average_pooling1d(x1, 3, 2, padding),
                  L.max_pooling2d(x2, (3, 2), (2, 1), padding), L.average_pooling2d(x2, (3, 2), (2, 1), padding))
        with Case(f"pooling3d_{padding}") as c:
            x3 = c.normal("x3", 1, 5, 4, 4, 2)
            c.run(L.max_pooling3d(x3, 2, (2, 1, 2), padding), L.average_pooling3d(x3, 2, (2, 1, 2), padding))
    for fused in (False, True):
        for training in (False, True, "tensor"):
            with Case(f"batch_norm_{'fused' if fused else 'plain'}_{training}") as c:
                shape = (2, 3, 2, 4) if fused else (5, 4)
                x = c.normal("x", *shape)
                flag = t.placeholder_with_default(True, ()) if training == "tensor" else training
                y = L.batch_normalization(x, momentum=0.9, epsilon=0.01, training=flag, fused=fused)
                updates = t.get_collection(t.GraphKeys.UPDATE_OPS)
                weighted = tf.reduce_sum(y * c.normal("w", *shape))
                gradients = tf.gradients(weighted, [x] + t.trainable_variables())
                c.run(y, *gradients, then=updates, steps=2)
    with Case("batch_norm_default_image") as c:
        x = c.normal("x", 2, 3, 3, 2)
        y = L.batch_normalization(x, training=True)
        c.run(y, then=t.get_collection(t.GraphKeys.UPDATE_OPS))
    with Case("batch_norm_axis1") as c:
        x = c.normal("x", 3, 4, 5)
        y = L.batch_normalization(x, axis=1, training=True, center=False)
        c.run(y, then=t.get_collection(t.GraphKeys.UPDATE_OPS))
    with Case("batch_norm_no_scale") as c:
        c.run(L.batch_normalization(c.normal("x", 3, 4), scale=False))
    for training in (True, "tensor_off"):
        with Case(f"batch_norm_renorm_{training}") as c:
            x = c.normal("x", 6, 3)
            flag = t.placeholder_with_default(False, ()) if training == "tensor_off" else True
            y = L.batch_normalization(x, training=flag, renorm=True, momentum=0.8, renorm_momentum=0.7,
                                      renorm_clipping={"rmax": 1.2, "rmin": 0.9, "dmax": 0.4})
            c.run(y, then=[t.get_collection(t.GraphKeys.UPDATE_OPS)], steps=1)
    with Case("layer_norm") as c:
        c.run(tf_slim.layers.layer_norm(c.normal("x", 3, 4, 5)))
    with Case("layer_norm_axes") as c:
        c.run(tf_slim.layers.layer_norm(c.normal("x", 3, 4, 5), begin_norm_axis=2, begin_params_axis=1,
                                        activation_fn=tf.nn.relu))
    with Case("maxout") as c:
        c.run(tf_slim.layers.maxout(c.normal("x", 3, 4, 6), 2))
    with Case("prelu") as c:
        c.run(tf.keras.layers.PReLU(shared_axes=[1], name="p_re_lu")(c.normal("x", 3, 4, 2)))
    for strategy in ("mod", "div"):
        with Case(f"embedding_{strategy}") as c:
            parts = [c.normal("p0", 3, 2), c.normal("p1", 3, 2), c.normal("p2", 2, 2)]
            ids = c.integers("ids", 8, 2, 5)
            c.run(t.nn.embedding_lookup(parts, ids, partition_strategy=strategy, max_norm=1.0),
                  t.nn.embedding_lookup(parts, ids, partition_strategy=strategy))
    for combiner in ("mean", "sum", "sqrtn"):
        with Case(f"embedding_sparse.{combiner}") as c:
            parts = [c.normal("p0", 3, 2), c.normal("p1", 3, 2)]
            indices = c.input("indices", np.int64([[0, 0], [0, 1], [2, 0], [3, 0], [3, 1], [3, 2]]))
            ids, shape = c.integers("ids", 6, 6), c.input("shape", np.int64([4, 3]))
            sparse = tf.SparseTensor(indices, ids, shape)
            weights = tf.SparseTensor(indices, c.uniform("weights", 6), shape)
            c.run(t.nn.embedding_lookup_sparse(parts, sparse, None, combiner=combiner),
                  t.nn.embedding_lookup_sparse(parts, sparse, weights, combiner=combiner, max_norm=1.0))
    with Case("dropout") as c:
        x = tf.constant(np.ones((6, 5), np.float32))
        flag = t.placeholder_with_default(True, ())
        y = [L.dropout(x, 0.4, seed=7, training=flag), L.dropout(x, 0.3, noise_shape=(6, 1), seed=8, training=True),
             t.nn.dropout(x, keep_prob=0.75, seed=9), t.nn.dropout(x, rate=0.25, seed=9, noise_shape=(1, 5)),
             L.dropout(x, 0.4)]
        c.run(*y, *y)
    with Case("dropconnect") as c:
        kernel = t.get_variable("kernel", (4, 3))
        c.run(tf.matmul(c.normal("x", 2, 4), t.nn.dropout(kernel, rate=0.5, seed=3)))
    with Case("moments") as c:
        x, w = c.normal("x", 3, 4, 2), c.uniform("w", 3, 4, 1)
        ss = tf.nn.sufficient_statistics(x, [0, 1], shift=0.5)
        c.run(*t.nn.moments(x, [0, 1]), *t.nn.moments(x, [1], keep_dims=True), *t.nn.weighted_moments(x, [0, 1], w),
              *ss[:3], *tf.nn.normalize_moments(*ss), tf.nn.l2_normalize(x, [1]), t.nn.zero_fraction(tf.nn.relu(x)),
              tf.gradients(tf.reduce_sum(t.nn.moments(x, [0, 1])[1] * [1.0, 2.0]), x)[0])
    with Case("low_level_batch_norm") as c:
        x = c.normal("x", 5, 3)
        mean, variance = t.nn.moments(x, [0])
        c.run(t.nn.batch_normalization(x, mean, variance, c.normal("beta", 3), c.normal("gamma", 3), 0.01),
              t.nn.batch_normalization(x, mean, variance, None, None, 0.01))
    with Case("max_norm") as c:
        w = t.get_variable("w", (3, 4))
        c.run(t.clip_by_norm(w, 1.0, axes=1), t.clip_by_norm(w, 1.0, axes=0))


def activations():
    with Case("activations") as c:
        x = c.input("x", np.linspace(-4, 4, 33, dtype=np.float32))
        n = tf.nn
        hard_sigmoid = tf.keras.activations.hard_sigmoid(x)
        c.run(n.sigmoid(x), n.tanh(x), n.relu(x), n.relu6(x), n.leaky_relu(x), n.elu(x), n.selu(x), n.softplus(x),
              n.softsign(x), n.swish(x), n.silu(x, 1.5), n.gelu(x), n.gelu(x, approximate=True), n.softmax(x),
              n.log_softmax(x), n.crelu(x), hard_sigmoid, tf.clip_by_value(x, -1, 1), x * n.relu6(x + 3) / 6)


def initializers():
    with Case("initializers") as c:
        i = t.initializers
        made = []
        for scale, mode, distribution in ((1.5, "fan_in", "truncated_normal"), (2.0, "fan_out", "uniform"),
                                          (0.7, "fan_avg", "untruncated_normal")):
            made.append(i.variance_scaling(scale, mode, distribution, seed=11))
        made += [i.random_uniform(-0.2, 0.3, seed=12), i.random_normal(0.1, 0.5, seed=13),
                 i.truncated_normal(0.1, 0.5, seed=14), i.glorot_uniform(15), i.glorot_normal(16), i.he_normal(17),
                 i.he_uniform(18), i.lecun_normal(19), i.lecun_uniform(20), i.identity(2.0)]
        outputs = []
        for number, initializer in enumerate(made):
            shape = (4, 6) if number > 2 else (3, 2, 4)
            outputs.append(initializer(shape))
        c.run(*outputs)
    with Case("slim_variance_scaling") as c:
        v = tf_slim.variance_scaling_initializer
        c.run(v(seed=3)((4, 6)), v(factor=1.0, mode="FAN_AVG", uniform=True, seed=4)((4, 6)),
              v(factor=1.5, mode="FAN_OUT", seed=5)((3, 3, 2, 4)))
    with Case("partitioned_initializer") as c:
        cut = t.fixed_size_partitioner(2)
        t.get_variable("g", (4, 6), initializer=i.glorot_uniform(3), partitioner=cut)
        t.get_variable("u", (4, 6), initializer=t.uniform_unit_scaling_initializer(1.5, seed=4), partitioner=cut)
        c.run(keep_initial=True)
    with Case("orthogonal") as c:
        c.run(t.initializers.orthogonal(seed=5)((6, 4)), t.initializers.orthogonal(2.0, seed=6)((3, 2, 8)))


def losses():
    l = t.losses
    R = l.Reduction
    binary = lambda c, *shape: c.integers("labels", 2, *shape, dtype=np.int64)
    forms = {
        "absolute_difference": lambda c, **k: l.absolute_difference(c.normal("labels", 3, 4), c.normal("p", 3, 4), **k),
        "mean_squared_error": lambda c, **k: l.mean_squared_error(c.normal("labels", 3, 4), c.normal("p", 3, 4), **k),
        "hinge_loss": lambda c, **k: l.hinge_loss(binary(c, 3, 4), c.normal("p", 3, 4), **k),
        "huber_loss": lambda c, **k: l.huber_loss(c.normal("labels", 3, 4), c.normal("p", 3, 4), delta=0.7, **k),
        "log_loss": lambda c, **k: l.log_loss(binary(c, 3, 4), c.uniform("p", 3, 4), **k),
        "cosine_distance": lambda c, **k: l.cosine_distance(c.normal("labels", 3, 4), c.normal("p", 3, 4), axis=1, **k),
        "sigmoid_cross_entropy": lambda c, **k: l.sigmoid_cross_entropy(binary(c, 3, 4), c.normal("p", 3, 4),
                                                                        label_smoothing=0.1, **k),
        "softmax_cross_entropy": lambda c, **k: l.softmax_cross_entropy(
            c.input("labels", np.eye(4, dtype=np.float32)[[0, 2, 3]]), c.normal("p", 3, 4), label_smoothing=0.1, **k),
        "sparse_softmax_cross_entropy": lambda c, **k: l.sparse_softmax_cross_entropy(
            c.integers("labels", 4, 3, 1), c.normal("p", 3, 4), **k),
    }
    weights = {"one": None, "vector": [[0.5], [0.0], [2.0]], "zero": [[0.0]] * 3}
    for name, build in forms.items():
        for weighting, value in weights.items():
            for reduction in (R.NONE, R.SUM, R.SUM_OVER_BATCH_SIZE, R.MEAN, R.SUM_BY_NONZERO_WEIGHTS):
                if weighting == "zero" and reduction == R.NONE:
                    continue
                with Case(f"{name}.{weighting}.{reduction}") as c:
                    options = {"reduction": reduction}
                    if value is not None:
                        flat = name in ("softmax_cross_entropy", "sparse_softmax_cross_entropy")
                        array = np.asarray(value, np.float32)
                        options["weights"] = c.input("weights", array[:, 0] if flat else array)
                    loss = build(c, **options)
                    prediction = [o for o in c.graph.get_operations() if o.type == "Const"][-1]
                    c.run(loss)
    for weighting in ("one", "vector"):
        with Case(f"mean_pairwise_squared_error.{weighting}") as c:
            options = {} if weighting == "one" else {"weights": c.input("weights", np.float32([[0.5], [0.0], [2.0]]))}
            c.run(l.mean_pairwise_squared_error(c.normal("labels", 3, 4), c.normal("p", 3, 4), **options))
    with Case("nn_losses") as c:
        z, x, y = c.uniform("z", 3, 4), c.normal("x", 3, 4), c.input("y", np.float32([[0.0, 1, 2.5], [4, 0.5, 7]]))
        x2 = c.normal("x2", 2, 3)
        n = t.nn
        c.run(n.weighted_cross_entropy_with_logits(z, x, 1.7), n.log_poisson_loss(y, x2),
              n.log_poisson_loss(y, x2, compute_full_loss=True), n.l2_loss(x))


def metrics():
    m = t.metrics
    thresholds = [0.2, 0.5, 0.8]

    def measure(c, metric):
        value, update = metric
        c.run(value, update, value, then=[update], steps=2)

    binary = lambda c, n=12: (c.integers("labels", 2, n), c.uniform("p", n))
    bools = lambda c: (c.integers("labels", 2, 3, 4), c.integers("p", 2, 3, 4))
    floats = lambda c: (c.normal("labels", 3, 4), c.normal("p", 3, 4))
    classes = lambda c: (c.integers("labels", 4, 9), c.integers("p", 3, 9))
    best = lambda c: (c.integers("labels", 6, 5, 2), c.normal("p", 5, 6))
    forms = {
        "accuracy": lambda c, **k: m.accuracy(*classes(c), **k),
        "mean_absolute_error": lambda c, **k: m.mean_absolute_error(*floats(c), **k),
        "mean_squared_error": lambda c, **k: m.mean_squared_error(*floats(c), **k),
        "root_mean_squared_error": lambda c, **k: m.root_mean_squared_error(*floats(c), **k),
        "mean_relative_error": lambda c, **k: m.mean_relative_error(
            *floats(c), c.input("n", np.float32([[1, 2, 0, 4], [1, 1, 2, 2], [0, 3, 3, 3]])), **k),
        "mean_cosine_distance": lambda c, **k: m.mean_cosine_distance(*floats(c), 1, **k),
        "mean": lambda c, **k: m.mean(c.normal("p", 3, 4), **k),
        "mean_tensor": lambda c, **k: m.mean_tensor(c.normal("p", 3, 4), **k),
        "percentage_below": lambda c, **k: m.percentage_below(c.normal("p", 3, 4), 0.25, **k),
        "true_positives": lambda c, **k: m.true_positives(*bools(c), **k),
        "true_negatives": lambda c, **k: m.true_negatives(*bools(c), **k),
        "false_positives": lambda c, **k: m.false_positives(*bools(c), **k),
        "false_negatives": lambda c, **k: m.false_negatives(*bools(c), **k),
        "precision": lambda c, **k: m.precision(*bools(c), **k),
        "recall": lambda c, **k: m.recall(*bools(c), **k),
        "true_positives_at_thresholds": lambda c, **k: m.true_positives_at_thresholds(*binary(c), thresholds, **k),
        "true_negatives_at_thresholds": lambda c, **k: m.true_negatives_at_thresholds(*binary(c), thresholds, **k),
        "false_positives_at_thresholds": lambda c, **k: m.false_positives_at_thresholds(*binary(c), thresholds, **k),
        "false_negatives_at_thresholds": lambda c, **k: m.false_negatives_at_thresholds(*binary(c), thresholds, **k),
        "precision_at_thresholds": lambda c, **k: m.precision_at_thresholds(*binary(c), thresholds, **k),
        "recall_at_thresholds": lambda c, **k: m.recall_at_thresholds(*binary(c), thresholds, **k),
        "auc_roc": lambda c, **k: m.auc(*binary(c), num_thresholds=20, **k),
        "auc_pr": lambda c, **k: m.auc(*binary(c), num_thresholds=20, curve="PR",
                                       summation_method="careful_interpolation", **k),
        "auc_pr_trapezoidal": lambda c, **k: m.auc(*binary(c), num_thresholds=20, curve="PR", **k),
        "auc_minoring": lambda c, **k: m.auc(*binary(c), num_thresholds=20, summation_method="minoring", **k),
        "auc_majoring": lambda c, **k: m.auc(*binary(c), summation_method="majoring", thresholds=[0.6, 0.3], **k),
        "sensitivity_at_specificity": lambda c, **k: m.sensitivity_at_specificity(*binary(c), 0.6, num_thresholds=20,
                                                                                 **k),
        "specificity_at_sensitivity": lambda c, **k: m.specificity_at_sensitivity(*binary(c), 0.6, num_thresholds=20,
                                                                                 **k),
        "mean_iou": lambda c, **k: m.mean_iou(*classes(c), 5, **k),
        "mean_per_class_accuracy": lambda c, **k: m.mean_per_class_accuracy(*classes(c), 5, **k),
        "precision_at_k": lambda c, **k: m.precision_at_k(*best(c), 3, **k),
        "precision_at_k_class": lambda c, **k: m.precision_at_k(*best(c), 3, class_id=2, **k),
        "recall_at_k": lambda c, **k: m.recall_at_k(*best(c), 3, **k),
        "recall_at_k_class": lambda c, **k: m.recall_at_k(*best(c), 3, class_id=2, **k),
        "recall_at_k_flat": lambda c, **k: m.recall_at_k(c.integers("labels", 6, 5), c.normal("p", 5, 6), 2, **k),
        "precision_at_top_k": lambda c, **k: m.precision_at_top_k(c.integers("labels", 6, 5, 3),
                                                                  c.integers("p", 6, 5, 3), **k),
        "recall_at_top_k": lambda c, **k: m.recall_at_top_k(c.integers("labels", 6, 5, 3), c.integers("p", 6, 5, 3),
                                                            **k),
        "average_precision_at_k": lambda c, **k: m.average_precision_at_k(*best(c), 4, **k),
    }
    wide = ("accuracy", "mean_iou", "mean_per_class_accuracy")
    for name, build in forms.items():
        for weighting in ("one", "weighted"):
            with Case(f"metrics.{name}.{weighting}") as c:
                options = {}
                if weighting == "weighted":
                    if name in wide:
                        shape = (9,)
                    elif "at_k" in name or "at_top_k" in name:
                        shape = (5,)
                    elif "at_thresholds" in name or "auc" in name or "_at_s" in name:
                        shape = (12,)
                    elif name == "mean_cosine_distance":
                        shape = (3, 1)
                    else:
                        shape = (3, 4)
                    options["weights"] = c.uniform("weights", *shape)
                measure(c, build(c, **options))
    with Case("metrics.confusion_matrix") as c:
        labels, p = c.integers("labels", 4, 7), c.integers("p", 4, 7)
        c.run(tf.math.confusion_matrix(labels, p, 5), t.confusion_matrix(labels, p),
              tf.math.confusion_matrix(labels, p, 4, weights=c.uniform("weights", 7), dtype=tf.float64))


def recurrent():
    cells = t.nn.rnn_cell
    lengths = np.int32([4, 2, 0])

    def flat(*structures):
        return tf.nest.flatten(structures)

    forms = {
        "basic_rnn": lambda: cells.BasicRNNCell(4),
        "gru": lambda: cells.GRUCell(4),
        "basic_lstm": lambda: cells.BasicLSTMCell(4, forget_bias=0.5),
        "lstm": lambda: cells.LSTMCell(4, activation=tf.nn.relu),
        "lstm_full": lambda: cells.LSTMCell(4, use_peepholes=True, cell_clip=0.6, num_proj=3, proj_clip=0.4),
        "multi": lambda: cells.MultiRNNCell([cells.BasicLSTMCell(4), cells.GRUCell(5)]),
        "residual": lambda: cells.ResidualWrapper(cells.BasicRNNCell(3)),
    }
    for name, build in forms.items():
        with Case(f"rnn.{name}.dynamic") as c:
            x = c.normal("x", 3, 4, 3)
            outputs, state = t.nn.dynamic_rnn(build(), x, dtype=tf.float32)
            gradients = tf.gradients(tf.reduce_sum(outputs * outputs), [x] + t.trainable_variables())
            c.run(*flat(outputs, state), *gradients)
        with Case(f"rnn.{name}.lengths") as c:
            outputs, state = t.nn.dynamic_rnn(build(), c.normal("x", 4, 3, 3), c.input("n", lengths), dtype=tf.float32,
                                              time_major=True)
            c.run(*flat(outputs, state))
        with Case(f"rnn.{name}.static") as c:
            x = c.normal("x", 4, 3, 3)
            outputs, state = t.nn.static_rnn(build(), tf.unstack(x), dtype=tf.float32)
            c.run(*flat(outputs, state))
    with Case("rnn.static_lengths") as c:
        x = c.normal("x", 4, 3, 3)
        outputs, state = t.nn.static_rnn(cells.BasicLSTMCell(4), tf.unstack(x), dtype=tf.float32,
                                         sequence_length=c.input("n", lengths))
        c.run(*flat(outputs, state))
    for name, options in (("bidirectional", {}), ("bidirectional_lengths", {"sequence_length": lengths})):
        with Case(f"rnn.{name}") as c:
            x = c.normal("x", 3, 4, 3)
            if options:
                options = {"sequence_length": c.input("n", lengths)}
            outputs, state = t.nn.bidirectional_dynamic_rnn(cells.BasicLSTMCell(4), cells.GRUCell(2), x,
                                                            dtype=tf.float32, **options)
            c.run(*flat(outputs, state))
    for variational in (False, True):
        with Case(f"rnn.dropout_{variational}") as c:
            cell = cells.DropoutWrapper(cells.BasicLSTMCell(4), 0.7, 0.8, 0.6, variational, 3, tf.float32, seed=5)
            # In order: otherwise steps that wait for nothing may draw their masks in any.
            outputs, state = t.nn.dynamic_rnn(cell, c.normal("x", 3, 4, 3), dtype=tf.float32, parallel_iterations=1)
            everything = tf.concat([tf.reshape(o, [-1]) for o in flat(outputs, state)], 0)
            c.run(everything, everything)


if __name__ == "__main__":
    for make in (layers, activations, initializers, losses, metrics, recurrent):
        make()
    text = "\n".join(LINES) + "\n"
    pathlib.Path(__file__).with_name("cases.tsv").write_text(text, encoding="utf-8")
