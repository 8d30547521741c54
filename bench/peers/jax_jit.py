"""JAX on the processor: every step compiled."""
import os
import sys

import common

if "1" == dict(zip(sys.argv, sys.argv[1:])).get("--threads"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # XLA sizes its pool by the processors that it may use

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

# ("dense", units, relu) ("conv", size, filters, stride, padding) ("pool",) ("flat",)
LAYERS = {
    "mlp": [("dense", 300, True), ("dense", 100, True), ("dense", 10, False)],
    "lenet": [("conv", 5, 6, 1, "SAME"), ("pool",), ("conv", 5, 16, 1, "VALID"), ("pool",), ("flat",),
              ("dense", 120, True), ("dense", 84, True), ("dense", 10, False)],
    "book": [("conv", 3, 32, 1, "SAME"), ("conv", 3, 64, 2, "SAME"), ("pool",), ("flat",),
             ("dense", 128, True), ("dense", 10, False)],
    # Both heads are one product of 7 columns.
    "nature": [("conv", 8, 32, 4, "VALID"), ("conv", 4, 64, 2, "VALID"), ("conv", 3, 64, 1, "VALID"), ("flat",),
               ("dense", 512, True), ("dense", 7, False)],
}


def apply(layer, parameters, x):
    if layer[0] == "pool":
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    if layer[0] == "flat":
        return x.reshape(x.shape[0], -1)
    kernel, bias = parameters
    if layer[0] == "dense":
        x = x @ kernel + bias
        return jax.nn.relu(x) if layer[2] else x
    x = lax.conv_general_dilated(x, kernel, (layer[3],) * 2, layer[4], dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(x + bias)


def forward(model, parameters, x):
    rest = iter(parameters)
    for layer in LAYERS[model]:
        x = apply(layer, next(rest) if layer[0] in ("dense", "conv") else None, x)
    return x


def new_parameters(model):
    random, parameters = np.random.default_rng(1), []
    x = jnp.zeros((1,) + common.SHAPES[model])
    for layer in LAYERS[model]:
        pair = None
        if layer[0] in ("dense", "conv"):
            shape = (x.shape[1], layer[1]) if layer[0] == "dense" else (layer[1], layer[1], x.shape[3], layer[2])
            kernel = random.normal(0, (2 / np.prod(shape[:-1])) ** 0.5, shape).astype(np.float32)
            pair = (jnp.asarray(kernel), jnp.zeros(shape[-1]))
            parameters.append(pair)
        x = apply(layer, pair, x)
    return parameters


def loss_of(model, parameters, x, labels, values=None):
    outputs = forward(model, parameters, x)
    extra = 0.0
    if model == "nature":
        extra = 0.5 * jnp.mean((outputs[:, 6] - values) ** 2)
        outputs = outputs[:, :6]
    return extra - jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(outputs), labels[:, None], 1))


def updater(model):
    def step(state, *batch):
        parameters, m, v, t = state
        loss, gradients = jax.value_and_grad(lambda p: loss_of(model, p, *batch))(parameters)
        t = t + 1
        rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradients)
        parameters = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), parameters, m, v)
        return (parameters, m, v, t), loss

    parameters = new_parameters(model)
    state = (parameters, jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters), jnp.zeros(()))
    return jax.jit(step, donate_argnums=0), state


def train(case, settings):
    model, size = common.training_case(case)
    update, state = updater(model)
    batch = [jnp.asarray(part) for part in common.batch_of(model, size)]

    def step():
        nonlocal state
        state, loss = update(state, *batch)
        loss.block_until_ready()

    return common.rates(step, size, settings)


def lenet_epoch(settings):
    scale = 10 if settings.quick else 1
    update, state = updater("lenet")
    pictures, labels = common.random_pictures(common.EPOCH_ROWS // scale)

    def epoch():
        nonlocal state
        order = np.random.permutation(len(pictures))
        for first in range(0, len(order), 50):
            rows = order[first:first + 50]
            state, loss = update(state, pictures[rows], labels[rows])
        loss.block_until_ready()

    state, _ = update(state, pictures[:50], labels[:50])
    return common.quietest(lambda: common.seconds_of(epoch) * scale, settings, repeats=3)


def one_op(settings):
    call, x = jax.jit(lambda x: x + 1), np.float32(1)
    return common.microseconds(lambda: call(x).block_until_ready(), 1, settings)


def first_inference(_):
    parameters = new_parameters("lenet")
    return jax.jit(lambda x: forward("lenet", parameters, x))(common.batch_of("lenet", 1)[0]).max()


def run(case, settings):
    if case == "train/lenet_epoch":
        return lenet_epoch(settings)
    if case.startswith("train/"):
        return train(case, settings)
    return one_op(settings)


if __name__ == "__main__":
    common.main(run, first_inference)
