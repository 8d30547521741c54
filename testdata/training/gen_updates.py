"""Updates of optimisers by TensorFlow 2.21: one JSON object a line, as the README beside it says.

    python testdata/training/gen_updates.py > testdata/training/updates.jsonl [CASES [SEED]]
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

FAMILIES = """GradientDescent Momentum KerasMomentum Adagrad AdagradV2 AdagradDA Adadelta RMSProp CenteredRMSProp Adam
AdamWithAmsgrad AdaMax Ftrl FtrlV2 ProximalGradientDescent ProximalAdagrad AddSign PowerSign""".split()
NO_SPARSE = "GradientDescent Adam AdamWithAmsgrad AdaMax AddSign PowerSign".split()
WIDE = ("half", "bfloat16", "float", "double", "complex64", "complex128")
TYPES = {"AdagradDA": ("float", "double"), "ProximalGradientDescent": ("float", "double"),
         "ProximalAdagrad": ("float", "double"), "AdaMax": ("half", "float", "double")}
for family in ("AdamWithAmsgrad", "AddSign", "PowerSign", "Ftrl", "FtrlV2"):
    TYPES[family] = WIDE[:4]
NUMPY = {"half": tf.float16, "bfloat16": tf.bfloat16, "float": tf.float32, "double": tf.float64,
         "complex64": tf.complex64, "complex128": tf.complex128, "int32": tf.int32, "int64": tf.int64}
RANGES = {"lr": (0.05, 0.5), "alpha": (0.05, 0.5), "l1": (0, 0.3), "l2": (0, 0.3), "l2_shrinkage": (0, 0.3),
          "lr_power": (-0.8, -0.2), "epsilon": (0.001, 0.1), "logbase": (0.5, 1.5), "sign_decay": (0.3, 1)}


def number(x):
    x = float(x)
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "inf" if x > 0 else "-inf"
    return x


def tensor_json(name, value):
    value = np.asarray(value)
    flat = value.reshape(-1)
    if np.iscomplexobj(flat):
        values = [[number(v.real), number(v.imag)] for v in flat]
    elif np.issubdtype(flat.dtype, np.integer):
        values = [int(v) for v in flat]
    else:
        values = [float(repr(number(v))) if not isinstance(number(v), str) else number(v) for v in flat]
        if name == "float":
            values = [v if isinstance(v, str) else float(np.format_float_positional(np.float32(v), unique=True))
                      for v in values]
    return {"t": name, "s": list(value.shape), "v": values}


def case(rng, family, sparse, dtype, flags):
    op = "Resource" + ("Sparse" if sparse else "") + "Apply" + family
    definition = op_def_registry.get(op)
    wanted = NUMPY[dtype]
    shape = tuple(rng.integers(1, 6, size=rng.integers(1, 3)))
    count = int(rng.integers(1, 7))
    indices_type = ("int32", "int64")[int(rng.integers(2))]

    def random(low, high, of):
        values = rng.uniform(low, high, size=of)
        if wanted.is_complex:
            values = values + 1j * rng.uniform(-0.1, 0.1, size=of) * np.abs(values)
        return tf.cast(tf.constant(values), wanted)

    arguments, inputs, variables = {}, [], []
    for argument in definition.input_arg:
        name = argument.name
        if argument.type == tf.resource.as_datatype_enum:
            # The variance in CenteredRMSProp must stay positive.
            low, high = {"var": (-2, 2), "m": (-1, 1), "mg": (-0.3, 0.3), "linear": (-2, 2), "mom": (-1, 1),
                         "gradient_accumulator": (-1, 1)}.get(name, (0.2, 2))
            if name == "accum" and "Momentum" in family:
                low, high = -1, 1
            value = random(low, high, shape)
            variables.append(tf.Variable(value))
            arguments[name] = variables[-1].handle
            inputs.append(tensor_json(dtype, value.numpy()))
            continue
        if name in ("grad", "delta"):
            value, kind = random(-2, 2, (count,) + shape[1:] if sparse else shape), dtype
        elif name == "indices":
            value, kind = tf.constant(rng.integers(0, shape[0], size=count), NUMPY[indices_type]), indices_type
        elif name == "global_step":
            value, kind = tf.constant(int(rng.integers(1, 10)), tf.int64), "int64"
        elif name == "lr_power" and rng.integers(2):
            value, kind = tf.constant(-0.5, wanted), dtype
        elif name in ("l1", "l2") and not rng.integers(4):
            value, kind = tf.constant(0, wanted), dtype
        else:
            value, kind = random(*RANGES.get(name, (0.5, 0.95)), ()), dtype
        arguments[name] = value
        inputs.append(tensor_json(kind, value.numpy()))
    getattr(tf.raw_ops, op)(**arguments, **flags)
    return {"op": op[len("Resource"):], "id": "", "attrs": flags, "in": inputs,
            "out": [tensor_json(dtype, v.numpy()) for v in variables]}


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for family in FAMILIES:
        names = [a.name for a in op_def_registry.get("ResourceApply" + family).attr]
        flag = [n for n in ("use_nesterov", "update_slots", "multiply_linear_by_lr") if n in names]
        for sparse in (False, True):
            if sparse and family in NO_SPARSE:
                continue
            for dtype in TYPES.get(family, WIDE):
                if sparse and dtype == "bfloat16" and "RMSProp" in family:
                    continue
                for flags in [{flag[0]: v} for v in (False, True)] if flag else [{}]:
                    for _ in range(cases):
                        print(json.dumps(case(rng, family, sparse, dtype, flags)))


main()
