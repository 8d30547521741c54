"""TensorFlow in the style of version 1: a graph and a Session."""
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import rewriter_config_pb2

import common

tf.disable_v2_behavior()


def config(settings, rewrite=True):
    proto = tf.ConfigProto(intra_op_parallelism_threads=settings.threads, inter_op_parallelism_threads=settings.threads)
    if not rewrite:  # the chain must be run, not folded
        proto.graph_options.rewrite_options.disable_meta_optimizer = True
        proto.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
        proto.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    return proto


def variable(shape, inputs):
    name = f"w{len(tf.global_variables())}"
    return tf.get_variable(name, shape, tf.float32, tf.random_normal_initializer(stddev=(2 / inputs) ** 0.5))


def dense(x, units, activation=tf.nn.relu):
    inputs = int(x.shape[1])
    y = tf.nn.bias_add(tf.matmul(x, variable((inputs, units), inputs)), variable((units,), 1e6))
    return activation(y) if activation else y


def conv(x, filters, size, stride, padding):
    channels = int(x.shape[3])
    kernel = variable((size, size, channels, filters), size * size * channels)
    y = tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding=padding)
    return tf.nn.relu(tf.nn.bias_add(y, variable((filters,), 1e6)))


def pool(x):
    return tf.nn.max_pool2d(x, 2, 2, "VALID")


def flat(x):
    return tf.reshape(x, (-1, int(np.prod([int(size) for size in x.shape[1:]]))))


def hidden_layers(model, x):
    if model == "mlp":
        return dense(dense(x, 300), 100)
    if model == "lenet":
        return dense(dense(flat(pool(conv(pool(conv(x, 6, 5, 1, "SAME")), 16, 5, 1, "VALID"))), 120), 84)
    if model == "book":
        return dense(flat(pool(conv(conv(x, 32, 3, 1, "SAME"), 64, 3, 2, "SAME"))), 128)
    return dense(flat(conv(conv(conv(x, 32, 8, 4, "VALID"), 64, 4, 2, "VALID"), 64, 3, 1, "VALID")), 512)


def build(model):
    """Placeholders, logits, loss and training operation."""
    tf.reset_default_graph()
    feeds = [tf.placeholder(tf.float32, (None,) + common.SHAPES[model]), tf.placeholder(tf.int32, (None,))]
    features = hidden_layers(model, feeds[0])
    logits = dense(features, 6 if model == "nature" else 10, None)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=feeds[1], logits=logits))
    if model == "nature":
        feeds.append(tf.placeholder(tf.float32, (None,)))
        loss += 0.5 * tf.reduce_mean(tf.square(dense(features, 1, None)[:, 0] - feeds[2]))
    return feeds, logits, loss, tf.train.AdamOptimizer(1e-3).minimize(loss)


def ready(settings):
    session = tf.Session(config=config(settings))
    session.run(tf.global_variables_initializer())
    return session


def train(case, settings):
    model, size = common.training_case(case)
    feeds, _, loss, update = build(model)
    with ready(settings) as session:
        feed = dict(zip(feeds, common.batch_of(model, size)))
        return common.rates(lambda: session.run([update, loss], feed), size, settings)


def lenet_epoch(settings):
    scale = 10 if settings.quick else 1
    feeds, _, _, update = build("lenet")
    pictures, labels = common.random_pictures(common.EPOCH_ROWS // scale)
    with ready(settings) as session:

        def epoch():
            order = np.random.permutation(len(pictures))
            for first in range(0, len(order), 50):
                rows = order[first:first + 50]
                session.run(update, {feeds[0]: pictures[rows], feeds[1]: labels[rows]})

        session.run(update, {feeds[0]: pictures[:50], feeds[1]: labels[:50]})
        return common.quietest(lambda: common.seconds_of(epoch) * scale, settings, repeats=3)


def lenet_memory(settings):
    feeds, _, loss, update = build("lenet")
    with ready(settings) as session:
        feed = dict(zip(feeds, common.batch_of("lenet", 50)))
        for _ in range(20 if settings.quick else 200):
            session.run([update, loss], feed)
        return [common.resident_mebibytes()]


def one_op(case, settings):
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, ())
    y = x + 1.0
    nothing = tf.no_op()
    with tf.Session(config=config(settings)) as session:
        call = session.make_callable(y, [x])
        step = {"overhead/one_op_run": lambda: session.run(y, {x: 1.0}), "overhead/one_op_callable": lambda: call(1.0),
                "overhead/no_op_run": lambda: session.run(nothing)}[case]
        return common.microseconds(step, 1, settings)


def loop_iteration(settings):
    tf.reset_default_graph()
    limit = tf.placeholder(tf.int32, [])
    last = tf.while_loop(lambda i: i < limit, lambda i: i + 1, [0])
    with tf.Session(config=config(settings, rewrite=False)) as session:
        call = session.make_callable(last, [limit])
        return common.microseconds(lambda: call(common.ITERATIONS), common.ITERATIONS, settings)


def add_chain(shape, settings):
    tf.reset_default_graph()
    x = total = tf.placeholder(tf.float32, shape)
    one = tf.constant(1.0)
    for _ in range(common.CHAIN):
        total = total + one
    with tf.Session(config=config(settings, rewrite=False)) as session:
        call = session.make_callable(total, [x])
        zeros = np.zeros(shape, np.float32)
        return common.microseconds(lambda: call(zeros), common.CHAIN, settings)


def checkpoint(case, settings):
    tf.reset_default_graph()
    for number in range(common.VARIABLES):
        tf.get_variable(f"v{number}", (common.VARIABLE_SIZE,), tf.float32, tf.random_normal_initializer())
    saver = tf.train.Saver()
    saves, latest = 0, None
    with ready(settings) as session, tempfile.TemporaryDirectory(dir=settings.directory) as directory:

        def save():
            nonlocal saves, latest
            saves += 1
            latest = saver.save(session, os.path.join(directory, "model"), global_step=saves % 2, write_meta_graph=False)

        def save_window():
            common.sync_disks()
            return common.CHECKPOINT_MEGABYTES / common.seconds_of(save)

        def restore_window():
            return common.CHECKPOINT_MEGABYTES / common.seconds_of(lambda: saver.restore(session, latest))

        save_window()
        if case == "io/checkpoint_save":
            return common.quietest(save_window, settings)
        restore_window()
        return common.quietest(restore_window, settings)


def first_inference(settings):
    feeds, logits, _, _ = build("lenet")
    with ready(settings) as session:
        return session.run(logits, {feeds[0]: common.batch_of("lenet", 1)[0]}).max()


def run(case, settings):
    if case == "train/lenet_epoch":
        return lenet_epoch(settings)
    if case.startswith("train/"):
        return train(case, settings)
    if case == "start/lenet_memory":
        return lenet_memory(settings)
    if case.startswith("io/checkpoint"):
        return checkpoint(case, settings)
    if case in ("overhead/add_scalar", "overhead/add_64"):
        return add_chain(() if case.endswith("scalar") else (64,), settings)
    if case == "overhead/loop_iteration":
        return loop_iteration(settings)
    return one_op(case, settings)


if __name__ == "__main__":
    common.main(run, first_inference)
