"""Random calls of ops, run by TensorFlow and by `caudal server` through the same graph, and the differences.

A call starts from a recorded one (testdata/golden/ops) or from a line of random_op_seeds.py. Its sizes, ranks, attributes, types
and values are then changed at random within what the argument means: an index stays in the range that the seed's have, an axis
stays an axis, a probability stays within 0 and 1. Inputs are fed through placeholders of unknown shape, so nothing but the
kernels' own checks stands between a call and its error. Both must give equal values or both an error; where TensorFlow has a
gradient, tf.gradients is built and run on both as well.
"""
import base64
import collections
import itertools
import json
import os
import random
import signal
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2
from tensorflow.python.framework import op_def_library, op_def_registry

from random_op_lists import DELIBERATE, LOOSE, POSITIVE_DEFINITE, PAIRED
from random_op_seeds import more_seeds

v1 = tf.compat.v1
TESTDATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "testdata")
_VARIABLES = itertools.count()  # the server keeps them: each has a name of its own
_PATIENCE = 90  # seconds for the calls of one op and type

# Arguments whose integers say where or how much, not what: (op or "*", argument) -> how they may change.
#   keep: as recorded; index: others of the recorded range; permute: the same in another order; any: like data
_ARGUMENT_KINDS = {
    "perm": "permute", "shape": "keep", "size": "keep", "sizes": "keep", "dims": "keep", "multiples": "small", "paddings": "small",
    "segment_ids": "sorted", "indices": "index", "axis": "axis", "dimension": "axis", "dim": "axis", "reduction_indices": "axis",
    "reduction_axes": "axis", "concat_dim": "keep", "split_dim": "keep", "block_shape": "keep", "crops": "small", "begin": "index",
    "end": "index", "strides": "keep", "seed": "any", "num_segments": "keep", "output_shape": "keep", "input_sizes": "keep",
    "filter_sizes": "keep", "orig_input_shape": "keep", "k": "keep", "num_bits": "keep", "labels": "index", "targets": "index",
    "sequence_length": "index", "seq_lengths": "index", "dense_shape": "keep", "sparse_shape": "keep", "a_shape": "keep",
    "b_shape": "keep", "x_indices": "keep", "shift": "any", "depth": "keep", "splits": "keep", "start": "any", "limit": "any",
    "delta": "keep", "num": "small", "k_max": "keep", "fft_length": "keep", "hypothesis_indices": "keep", "truth_indices": "keep", "hypothesis_shape": "keep",
    "truth_shape": "keep", "splits": "keep", "row_splits": "keep",
}
# Relative tolerance by type; the absolute one is this times the largest finite value of the tensor.
_TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 5e-5, "complex128": 1e-11}


def read_definitions():
    with open(os.path.join(TESTDATA, "interop", "op_kernels.tsv"), encoding="utf-8") as lines:
        table = dict(line.rstrip("\n").split("\t") for line in list(lines)[1:])
    return {op: [_constraint(text) for text in cell.split(";")] for op, cell in table.items()}


def _constraint(text):
    """{attribute: types} of "T=float|half Tidx=int32"; empty: a kernel for all."""
    return {name: types.split("|") for name, types in (part.split("=") for part in text.split() if "=" in part)}


def read_seeds():
    seeds = collections.defaultdict(list)
    folder = os.path.join(TESTDATA, "golden", "ops")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                if is_random(case["op"]):
                    continue
                inputs = [[_array(t) for t in entry] if isinstance(entry, list) else _array(entry) for entry in case["in"]]
                seeds[case["op"]].append((case.get("attrs", {}), inputs, "error" in case))
    for op, attrs, inputs in more_seeds():
        arrays = [[_from_text(t) for t in entry] if isinstance(entry, list) else _from_text(entry) for entry in inputs]
        seeds[op].append((attrs, arrays, False))
    return seeds


def is_random(op):
    """Draws go on from run to run: no order of runs is the same for both."""
    definition = op_def_registry.get(op)
    return definition is None or definition.is_stateful and any(attr.name == "seed2" for attr in definition.attr)


def numpy_type(name):
    return object if name == "string" else tf.dtypes.as_dtype(name).as_numpy_dtype


def _array(tensor):
    def value(x):
        if isinstance(x, dict):
            return base64.b64decode(x["b64"])
        if isinstance(x, list):
            return complex(float(x[0]), float(x[1]))
        if tensor["t"] == "string":
            return x.encode()
        return float(x) if isinstance(x, str) else x
    values = [value(x) for x in tensor["v"]]
    if tensor.get("fill"):
        values = values * int(np.prod(tensor["s"], dtype=np.int64))
    out = np.empty(len(values), numpy_type(tensor["t"]))
    for i, x in enumerate(values):
        out[i] = x
    return out.reshape(tensor["s"])


def _from_text(text):
    """A tensor of random_op_seeds.py: "float[2,3]", "int32[4]:0..3", "int32[2]=1,0", "string[]=text"."""
    kind, _, rest = text.partition("[")
    sizes, _, values = rest.partition("]")
    shape = [int(size) for size in sizes.split(",") if size]
    rng = np.random.default_rng(len(text))
    if values.startswith("="):
        words = values[1:].split(",") if shape else [values[1:]]
        flat = [word.encode() for word in words] if kind == "string" else [float(word) for word in words if word]
        out = np.empty(len(flat), numpy_type(kind))
        out[:] = flat
        return out.reshape(shape)
    low, high = (float(x) for x in values[1:].split("..")) if values else (-2, 2)
    if kind.startswith(("int", "uint")):
        return rng.integers(int(low), int(high) + 1, shape).astype(numpy_type(kind))
    data = rng.uniform(low, high, shape)
    if kind.startswith("complex"):
        data = data + 1j * rng.uniform(low, high, shape)
    return np.asarray(data).astype(numpy_type(kind))


class Maker:
    """Makes random calls of one op, from its seeds."""

    def __init__(self, op, seeds, constraints, seed):
        self.op, self.seeds = op, seeds
        self.definition = op_def_registry.get(op)
        self.constraints = constraints
        self.random = random.Random(f"{op}/{seed}")
        self.numpy = np.random.default_rng(self.random.getrandbits(60))
        self.type_attrs = [a.name for a in self.definition.attr if a.type == "type"]
        self.elementwise = "Apply" not in op and all(len({a.shape for a in _flat(inputs)} - {()}) <= 1 and inputs for _, inputs, error in seeds if not error)

    def types(self):
        """The values of the first type attribute, or [None]."""
        if not self.type_attrs:
            return [None]
        first = self._main()
        allowed = {x for c in self.constraints for x in c.get(first, [])}
        if not allowed:
            values = next(a for a in self.definition.attr if a.name == first).allowed_values.list.type
            allowed = {tf.dtypes.as_dtype(t).name for t in values}
            allowed |= {"float32"} if not allowed else set()
        names = {tf.dtypes.as_dtype(t).name for t in allowed}
        return sorted(n for n in names if not n.startswith(("q", "float8", "float4", "int4", "uint4", "resource", "variant", "int2", "uint2")))

    def _main(self):
        for name in self.type_attrs:
            if any(a.type_attr == name for a in self.definition.input_arg):
                return name
        return self.type_attrs[0]

    def make(self, dtype):
        """(attributes, inputs) or None if this seed cannot have the type."""
        good = [seed for seed in self.seeds if not seed[2]]
        attrs, inputs, _ = self.random.choice(good if good and self.random.random() < 0.9 else self.seeds)
        attrs = dict(attrs)
        types = self._types(dtype, attrs, inputs)
        self._change_attrs(attrs)
        inputs = self._change_shapes(inputs)
        out = []
        for argument, value in zip(self.definition.input_arg, inputs):
            wanted = dtype if argument.type == tf.resource.as_datatype_enum else types.get(argument.type_attr)
            change = lambda a, argument=argument, wanted=wanted: self._change_values(argument, a, wanted)  # noqa: E731
            out.append([change(a) for a in value] if isinstance(value, list) else change(value))
        return attrs, out

    def _types(self, dtype, attrs, inputs):
        """Values of the type attributes that inputs take; those that none takes go to `attrs`."""
        types = {}
        for argument, value in zip(self.definition.input_arg, inputs):
            arrays = value if isinstance(value, list) else [value]
            if argument.type_attr and arrays:
                types.setdefault(argument.type_attr, _type_name(arrays[0]))
        if dtype is None:
            return types
        main = self._main()
        chosen = {main: dtype}
        fitting = [c for c in self.constraints if not c.get(main) or dtype in _names(c[main])]
        for name, values in (self.random.choice(fitting) if fitting else {}).items():
            values = [v for v in _names(values) if not v.startswith("q")]
            if name != main and values and types.get(name) not in values:
                chosen[name] = self.random.choice(values)
        for name, value in chosen.items():
            if name in types:
                types[name] = value
            elif name == main or name in attrs:
                attrs[name] = {"type": value}
        return types

    def _change_attrs(self, attrs):
        for attr in self.definition.attr:
            allowed = [s.decode() for s in attr.allowed_values.list.s]
            if attr.type == "bool" and self.random.random() < 0.25 and attr.name not in (
                    "use_locking", "use_cudnn_on_gpu", "use_image_if_no_bounding_boxes", "deterministic", "compute_uv", "compute_v"):
                attrs[attr.name] = self.random.random() < 0.5
            elif attr.type == "string" and allowed and self.random.random() < 0.15 and attr.name != "data_format":
                attrs[attr.name] = self.random.choice([word for word in allowed if word != "EXPLICIT"])
            elif attr.type == "float" and attr.name in attrs and self.random.random() < 0.3:
                attrs[attr.name] = float(np.float32(attrs[attr.name] * self.random.uniform(0.5, 1.2)))

    def _change_shapes(self, inputs):
        if self.op in PAIRED:
            return inputs
        if self.elementwise and inputs and self.random.random() < 0.7:
            shape = self._shape()
            return [[_resized(a, shape) for a in value] if isinstance(value, list) else _resized(value, self._broadcast(shape, i))
                    for i, value in enumerate(inputs)]
        if self.random.random() < 0.5:
            return inputs
        sizes = sorted({size for a in _flat(inputs) for size in a.shape})
        if not sizes:
            return inputs
        old = self.random.choice(sizes)
        new = self.random.choice([0, 1, old + 1, old + 2, 2 * old, old])
        change = lambda a: _resized(a, tuple(new if size == old else size for size in a.shape))  # noqa: E731
        return [[change(a) for a in value] if isinstance(value, list) else change(value) for value in inputs]

    def _shape(self):
        rank = self.random.randrange(5)
        return tuple(self.random.choice([0, 1, 2, 3, 4, 5] if self.random.random() < 0.3 else [1, 2, 3, 4, 7]) for _ in range(rank))

    def _broadcast(self, shape, i):
        if i == 0 or self.random.random() < 0.5:
            return shape
        shape = tuple(1 if self.random.random() < 0.3 else size for size in shape)
        return shape[self.random.randrange(len(shape) + 1):]

    def _change_values(self, argument, array, wanted):
        own = _type_name(array)
        wanted = wanted or own
        kind = "data"
        if argument.name in _ARGUMENT_KINDS and (not argument.type_attr or argument.type_attr != self._main()):
            kind = _ARGUMENT_KINDS[argument.name]
        elif not argument.type_attr or argument.type_attr != self._main():
            kind = "like" if array.dtype.kind in "iu" else "data"
        if kind == "data" or wanted != own and "string" in (own, wanted):
            return self._data(array, wanted)
        flat = array.ravel()
        roll = self.random.random()
        if kind == "keep" or not flat.size or array.dtype.kind not in "iu" or roll < (0.3 if kind != "any" else 0):
            return array if wanted == own else _cast(array, wanted)
        low, high = int(flat.min()), int(flat.max())
        if kind == "permute":
            new = self.numpy.permutation(flat)
        elif kind == "axis":
            new = -1 - flat if roll < 0.5 else flat
        elif kind == "small":
            new = self.numpy.integers(0, max(high, 2) + 1, flat.size)
        elif kind == "any":
            new = self.numpy.integers(min(low, -9) if array.dtype.kind == "i" else 0, high + 9, flat.size)
        elif roll < 0.4:
            new = self.numpy.integers(low - 1, high + 2, flat.size)
        else:
            new = self.numpy.integers(low, high + 1, flat.size)
        if kind == "sorted":
            new = np.sort(new)
        return _cast(new.reshape(array.shape), wanted)

    def _data(self, array, wanted):
        shape = array.shape
        if wanted == "string":
            own = [x for x in array.ravel() if isinstance(x, bytes)] or [b"", b"a", b"Zwei", b"3", "\u00e4\u20ac".encode()]
            out = np.empty(array.size, object)
            for i in range(array.size):
                out[i] = self.random.choice(own)
            return out.reshape(shape)
        if wanted == "bool":
            return self.numpy.random(shape) < 0.5
        values = np.asarray([0.0] if array.dtype == object else np.abs(array.ravel()) if array.dtype.kind == "c" else
                            array.ravel().astype(np.float64))
        values = values[np.isfinite(values)]
        low, high = (float(values.min()), float(values.max())) if values.size else (-3.0, 3.0)
        if low == high:
            low, high = (low - 1, high + 1) if low < 0 else (low, high + 2)
        low, high = max(low, -1e6), min(high, 1e6)
        dtype = tf.dtypes.as_dtype(wanted)
        if dtype.is_integer:
            if array.dtype.kind == "f" and high - low < 8 and low < 0:
                low, high = -9, 9
            low, high = max(low, float(dtype.min)), min(high, float(dtype.max))
            if low > high:
                low, high = 0, 9
            return _cast(self.numpy.integers(int(np.ceil(low)), max(int(high), int(np.ceil(low))) + 1, shape), wanted)
        data = np.asarray(self.numpy.uniform(low, high, shape))
        if dtype.is_complex:
            data = data + 1j * self.numpy.uniform(-2, 2, shape)
        if self.op in POSITIVE_DEFINITE and len(shape) > 1 and shape[-1] == shape[-2]:
            data = data @ np.conj(np.swapaxes(data, -1, -2)) + 2 * np.eye(shape[-1])
        return _cast(np.asarray(data), wanted)


def _names(types):
    return [tf.dtypes.as_dtype(t).name for t in types]


def _type_name(array):
    return "string" if array.dtype == object else tf.dtypes.as_dtype(array.dtype).name


def _cast(array, wanted):
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(numpy_type(wanted))


def _flat(inputs):
    return [a for value in inputs for a in (value if isinstance(value, list) else [value])]


def _resized(array, shape):
    if array.shape == tuple(shape):
        return array
    if not array.size:
        array = np.array([b""], object) if array.dtype == object else np.ones(1, array.dtype)
    return np.resize(array, shape)


def _attribute(value):
    if isinstance(value, dict):
        if "type" in value:
            return tf.dtypes.as_dtype(value["type"])
        if "shape" in value:
            return tf.TensorShape(None if value["shape"] == "?" else value["shape"])
        if "b64" in value:
            return base64.b64decode(value["b64"])
        return v1.make_tensor_proto(_array(value["tensor"] if "tensor" in value else value))
    return [_attribute(x) for x in value] if isinstance(value, list) else value


def _defaults(op):
    """Default values of the attributes that inputs do not tell."""
    definition = op_def_registry.get(op)
    told = {name for a in definition.input_arg for name in (a.type_attr, a.number_attr, a.type_list_attr)}
    values = {}
    for attr in definition.attr:
        if attr.HasField("default_value") and attr.name not in told:
            value = attr.default_value
            kind = value.WhichOneof("value")
            if kind == "list":
                parts = [list(part) for _, part in value.list.ListFields()]
                values[attr.name] = parts[0] if parts else []
            else:
                values[attr.name] = tf.TensorShape(value.shape) if kind == "shape" else getattr(value, kind)
    return values


def _words(error):
    """What an error says, without where the client made the node."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    skipped = ("Graph execution", "Detected at", "Node:", "Original", "<stack", "  ", "\t")
    return next((line for line in lines if not line.startswith(skipped)), lines[0] if lines else "")[:240]


class Call:
    """One call in the graph: what to feed, what to fetch, and what came of it."""

    def __init__(self, op, attrs, inputs):
        self.attrs, self.inputs, self.feeds = attrs, inputs, {}
        self.variables = []
        arguments = {}
        for argument, value in zip(op_def_registry.get(op).input_arg, inputs):
            if argument.is_ref or argument.type == tf.resource.as_datatype_enum:
                arguments[argument.name] = self._variable(value, argument.is_ref)
            else:
                arguments[argument.name] = [self._feed(a) for a in value] if isinstance(value, list) else self._feed(value)
        given = {**_defaults(op), **{name: _attribute(value) for name, value in attrs.items()}}
        with tf.control_dependencies([ready for _, ready in self.variables]):
            outputs = op_def_library.apply_op(op, **arguments, **given)
        flat = [] if isinstance(outputs, tf.Operation) else tf.nest.flatten(outputs)
        self.outputs = [tf.identity(t) if t.dtype._is_ref_dtype else t for t in flat]
        with tf.control_dependencies([outputs] if isinstance(outputs, tf.Operation) else flat):
            self.outputs += [read() for read, _ in self.variables]
        if not self.outputs:
            raise ValueError("no outputs")
        if any(t.dtype.is_quantized or t.dtype in (tf.resource, tf.variant) for t in self.outputs):
            raise ValueError("outputs that cannot be fetched")
        self.gradients = [] if self.variables else self._gradients()

    def _variable(self, array, by_reference):
        """A variable that every run sets anew, and how to read it afterwards."""
        value, kind = self._feed(array), tf.string if array.dtype == object else tf.dtypes.as_dtype(array.dtype)
        name = f"variable_{os.getpid()}_{next(_VARIABLES)}"
        if by_reference:
            variable = tf.raw_ops.VariableV2(shape=array.shape, dtype=kind, shared_name=name)
            set_variable = tf.raw_ops.Assign(ref=variable, value=value, validate_shape=False)
            self.variables.append((lambda: tf.raw_ops.Identity(input=variable), set_variable.op))
            return set_variable
        handle = tf.raw_ops.VarHandleOp(dtype=kind, shape=array.shape, shared_name=name)
        set_variable = tf.raw_ops.AssignVariableOp(resource=handle, value=value)
        self.variables.append((lambda: tf.raw_ops.ReadVariableOp(resource=handle, dtype=kind), set_variable))
        return handle

    def _feed(self, array):
        placeholder = v1.placeholder(tf.string if array.dtype == object else array.dtype)
        self.feeds[placeholder] = array
        return placeholder

    def _gradients(self):
        fine = lambda t: t.dtype.is_floating or t.dtype.is_complex  # noqa: E731
        outputs, inputs = [t for t in self.outputs if fine(t)], [t for t in self.feeds if fine(t)]
        if not outputs or not inputs:
            return []
        try:
            gradients = tf.gradients(outputs, inputs, grad_ys=outputs)
        except Exception:  # TensorFlow has none; it says so in many ways
            return []
        return [tf.convert_to_tensor(g) for g in gradients if g is not None]


def _run(session, calls, fetch, results):
    """Results of calls: all in one run where none fails, else by halves."""
    if not calls:
        return
    feeds = {key: value.copy() for call in calls for key, value in call.feeds.items()}  # TensorFlow writes into some
    try:
        values = session.run([fetch(call) for call in calls], feeds)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        if len(calls) == 1:
            if isinstance(error, tf.errors.UnavailableError):
                raise
            results[id(calls[0])] = error
            return
        half = len(calls) // 2
        _run(session, calls[:half], fetch, results)
        _run(session, calls[half:], fetch, results)
        return
    for call, value in zip(calls, values):
        results[id(call)] = value


def _difference(name, ours, theirs, factor):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{name} is {ours.dtype}{list(ours.shape)}, expected {theirs.dtype}{list(theirs.shape)}"
    kind = _type_name(theirs)
    if kind not in _TOLERANCE:
        bad = np.atleast_1d(ours != theirs)
    else:
        wide = np.complex128 if kind.startswith("complex") else np.float64
        a, b = ours.astype(wide), theirs.astype(wide)
        finite = np.abs(b[np.isfinite(b)])
        tolerance = _TOLERANCE[kind] * factor
        floor = tolerance / 1000 if name.startswith("gradient") else 1e-37  # what is left where terms of size 1 cancel
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= tolerance * np.abs(b) + tolerance * (finite.max() if finite.size else 0) / 4 + floor
        bad = np.atleast_1d(~(near | (a == b) | (np.isnan(a) & np.isnan(b))))
    if not bad.any():
        return None
    at = int(np.argmax(bad.ravel()))
    return f"{name}[{at}] is {ours.ravel()[at]!r}, expected {theirs.ravel()[at]!r} ({int(bad.sum())} of {bad.size} differ)"


def _shown(call):
    def text(a):
        return f"{_type_name(a)}{list(a.shape)}{a.ravel()[:24].tolist()}"
    return f"attrs {call.attrs} inputs " + "; ".join(text(a) for a in _flat(call.inputs))


def _empty_report(op, dtype):
    """Numbers: calls, those where TensorFlow fails, gradients, errors of another code, calls that only we can do."""
    return {"op": op, "dtype": dtype, "cases": 0, "errors": 0, "gradients": 0, "code": 0, "more": 0, "deliberate": [],
            "differences": [], "why": ""}


def compare(maker, dtype, count, target):
    """Counts and differences of `count` calls of one type."""
    report = _empty_report(maker.op, dtype)
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    with tf.Graph().as_default():
        calls = []
        for _ in range(8 * count):
            if len(calls) == count:
                break
            try:
                calls.append(Call(maker.op, *maker.make(dtype)))
            except (ValueError, TypeError, RuntimeError, OverflowError, tf.errors.OpError) as error:
                report["why"] = str(error).splitlines()[0][:200]  # the client refuses it: another one
        with v1.Session(config=config) as theirs, v1.Session(target) as ours:
            factor = LOOSE.get(f"{maker.op}/{dtype}", LOOSE.get(maker.op, 1))
            _compare_part(report, calls, theirs, ours, "output", lambda call: call.outputs, factor)
            smooth = [call for call in calls if call.gradients and not call.failed]
            _compare_part(report, smooth, theirs, ours, "gradient", lambda call: call.gradients, 8 * factor)
    return report


def _compare_part(report, calls, theirs, ours, part, fetch, factor):
    expected, got = {}, {}
    _run(theirs, calls, fetch, expected)
    fails = lambda results, call: isinstance(results[id(call)], Exception)  # noqa: E731
    good = [call for call in calls if not fails(expected, call)]
    _run(ours, good, fetch, got)
    for call in calls:
        if fails(expected, call):
            _run(ours, [call], fetch, got)
    for call in calls:
        report["gradients" if part == "gradient" else "cases"] += 1
        a, b = got[id(call)], expected[id(call)]
        call.failed = fails(expected, call)
        report["errors"] += call.failed and part == "output"
        if fails(got, call) or call.failed:
            report["code"] += type(a) is not type(b)
            if fails(got, call) and call.failed:
                continue
            if call.failed and (isinstance(b, tf.errors.UnimplementedError) or "No OpKernel was registered" in str(b)):
                report["more"] += 1  # TensorFlow has no kernel for it, and we have
                continue
            found = f"{part}: " + ("error expected: " + _words(b) if call.failed else "fails: " + _words(a))
        else:
            found = next(filter(None, (_difference(f"{part} {i}", x, y, factor) for i, (x, y) in enumerate(zip(a, b)))), None)
        if found:
            text = found + " | " + _shown(call)
            deliberate = any(report["op"] in ops.split() + [report["op"]] * (ops == "*") and words in text for ops, words, _ in DELIBERATE)
            report["deliberate" if deliberate else "differences"].append(text)


def compare_ops(ops, count, server, seed=0, most_types=99):
    """Yields a report for each op and type. Each op runs in a process of its own: TensorFlow dies of some calls."""
    seeds, kernels = read_seeds(), read_definitions()
    for op in ops:
        maker = Maker(op, seeds[op], kernels.get(op, []), seed)
        todo = maker.types()[:most_types]
        while todo:
            done = _in_child(maker, todo, count, server.target)
            yield from done
            todo = todo[len(done):]
            if todo:
                yield {**_empty_report(op, todo[0]), "died": True}
                todo = todo[1:]
            if not server.is_running():
                return


def _in_child(maker, types, count, target):
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as file:
        child = os.fork()
        if child == 0:
            try:
                for dtype in types:
                    file.write(json.dumps(compare(maker, dtype, count, target)) + "\n")
                    file.flush()
            except BaseException as error:
                print(f"{maker.op}: {type(error).__name__}: {error}"[:400], flush=True)
            finally:
                os._exit(0)
        _wait(child, file.name)
        file.seek(0)
        return [json.loads(line) for line in file if line.endswith("\n")]


def _wait(child, name):
    """Until it ends, or has said nothing for too long."""
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.time() - os.stat(name).st_mtime > _PATIENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.01)
