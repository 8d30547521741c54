"""Random programs of conditions and loops, with what TensorFlow makes of them.

    python tests/python/record_control_flow.py v1 testdata/control_flow/programs_v1.txt
    python tests/python/record_control_flow.py v2 testdata/control_flow/programs_v2.txt

A program works on a list of float32 vectors of length 2; every statement adds to the list. Its form:

    block     := '{' statement* 'ret' count index... '}'
    statement := 'op' name count index...
               | 'cond' index block block          # is the sum of the vector positive?
               | 'while' trips extra count index... block   # extra: 0 none, 1 also while sum(var 0) < 2, 2 maximum_iterations
               | 'map' index block | 'foldl' index index block | 'foldr' ... | 'scan' ...   # over a matrix made of rows

Rows of the matrix are index, index + 1 scaled. tests/control_flow_programs_test.cc reads the file. For each program: values
of the results, gradients of their sum in the three inputs, how many nodes of each kind of control flow the graph has, a
fingerprint of the graph of the values that does not depend on names.
"""

import os
import random
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.disable_resource_variables()

INPUTS = [[0.5, -0.25], [1.5, 0.75], [-0.5, 0.125]]
BINARY = ["add", "sub", "mul"]
UNARY = ["tanh", "sin", "neg"]
KINDS = ["Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "StackV2", "StackPushV2", "StackPopV2",
         "ControlTrigger", "TensorArrayV3", "If", "StatelessIf", "While", "StatelessWhile"]


class Generator:
    def __init__(self, seed, mapped):
        self.random = random.Random(seed)
        self.mapped = mapped

    def pick(self, size):
        # Young values are likelier, so that chains get deep.
        return size - 1 - min(int(self.random.expovariate(0.5)), size - 1)

    def op(self, size):
        if self.random.random() < 0.6:
            return ["op", self.random.choice(BINARY), "2", str(self.pick(size)), str(self.random.randrange(size))]
        return ["op", self.random.choice(UNARY), "1", str(self.pick(size))]

    def block(self, size, depth, results, statements):
        tokens = ["{"]
        for _ in range(statements):
            kind = self.random.random()
            if depth == 0 or kind < 0.4:
                tokens += self.op(size)
                size += 1
            elif kind < 0.65:
                count = self.random.randint(1, 2)
                tokens += ["cond", str(self.pick(size))]
                tokens += self.block(size, depth - 1, count, self.random.randint(0, 2))
                tokens += self.block(size, depth - 1, count, self.random.randint(1, 3))
                size += count
            elif kind < 0.9 or not self.mapped:
                count = self.random.randint(1, 2)
                trips = self.random.choice([0, 1, 2, 3, 3, 5])
                tokens += ["while", str(trips), str(self.random.choice([0, 0, 1, 2])), str(count)]
                tokens += [str(self.pick(size)) for _ in range(count)]
                tokens += self.block(size + count, depth - 1, count, self.random.randint(1, 3))
                size += count
            else:
                what = self.random.choice(["map", "foldl", "foldr", "scan"])
                tokens += [what, str(self.pick(size))]
                if what != "map":
                    tokens += [str(self.pick(size))]
                tokens += self.block(size + (1 if what == "map" else 2), depth - 1, 1, self.random.randint(1, 3))
                size += 1
        tokens += ["ret", str(results)]
        tokens += [str(self.pick(size)) for _ in range(results)]
        return tokens + ["}"]


class Builder:
    def __init__(self, tokens):
        self.tokens = tokens
        self.at = 0

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def number(self):
        return int(self.next())

    def skip_block(self):
        depth = 0
        while True:
            token = self.next()
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return

    def later(self, env, extra):
        """The block that comes next as a function; builds when it is called, with what `extra` adds."""
        start = self.at
        self.skip_block()

        def build(*arguments):
            back, self.at = self.at, start
            results = self.block(env + extra(*arguments))
            self.at = back
            return results

        return build

    def block(self, env):
        env = list(env)
        assert self.next() == "{"
        while True:
            kind = self.next()
            if kind == "ret":
                results = [env[self.number()] for _ in range(self.number())]
                assert self.next() == "}"
                return results
            env += getattr(self, "make_" + kind)(env)

    def make_op(self, env):
        name = self.next()
        x = [env[self.number()] for _ in range(self.number())]
        make = {"add": tf.add, "sub": tf.subtract, "mul": tf.multiply, "tanh": tf.tanh, "sin": tf.sin,
                "neg": tf.negative}[name]
        return [make(*x)]

    def total(self, x):
        return tf.reduce_sum(x, axis=tf.constant([0]))

    def make_cond(self, env):
        pred = tf.greater(self.total(env[self.number()]), tf.constant(0.0))
        if_true = self.later(env, lambda: [])
        if_false = self.later(env, lambda: [])
        # As one does in C++: a list of one stays a list.
        return tf.nest.flatten(tf1.cond(pred, if_true, if_false, strict=True))

    def make_while(self, env):
        trips, extra, count = self.number(), self.number(), self.number()
        start = [env[self.number()] for _ in range(count)]
        body = self.later(env, lambda *v: list(v))
        if extra == 2:
            return list(tf1.while_loop(lambda *v: tf.less(self.total(v[0]), tf.constant(2.0)), lambda *v: body(*v), start,
                                       maximum_iterations=tf.constant(trips), return_same_structure=True))

        def condition(i, *v):
            go = tf.less(i, tf.constant(trips))
            return tf.logical_and(go, tf.less(self.total(v[0]), tf.constant(2.0))) if extra == 1 else go

        return list(tf1.while_loop(condition, lambda i, *v: [tf.add(i, tf.constant(1))] + body(*v),
                                   [tf.constant(0)] + start, return_same_structure=True))[1:]

    def rows(self, x):
        return tf.stack([x, tf.multiply(x, tf.constant(0.5)), tf.multiply(x, tf.constant(-0.25))])

    def make_map(self, env):
        rows = self.rows(env[self.number()])
        body = self.later(env, lambda *v: list(v))
        return [tf.reduce_sum(tf1.map_fn(lambda row: body(row)[0], rows), axis=tf.constant([0]))]

    def fold(self, env, fold):
        rows, start = self.rows(env[self.number()]), env[self.number()]
        body = self.later(env, lambda *v: list(v))
        return fold(lambda a, row: body(a, row)[0], rows, initializer=start)

    def make_foldl(self, env):
        return [self.fold(env, tf1.foldl)]

    def make_foldr(self, env):
        return [self.fold(env, tf1.foldr)]

    def make_scan(self, env):
        return [tf.reduce_sum(self.fold(env, tf1.scan), axis=tf.constant([0]))]


MASK = (1 << 64) - 1


def fnv(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def fingerprint(graph):
    """Of ops, edges and what makes control flow, by rounds of hashing."""
    label = {}
    nodes = graph.get_operations()
    for op in nodes:
        text = op.type
        if op.type in ("Enter", "RefEnter"):
            text += "/const" if op.get_attr("is_constant") else "/var"
            text += "/%d" % op.get_attr("parallel_iterations")
        if op.type == "Const":
            text += "/" + op.outputs[0].dtype.name
        label[op] = fnv(text)
    for _ in range(12):
        fresh = {}
        for op in nodes:
            text = "%x(" % label[op]
            text += ",".join("%x:%d" % (label[x.op], x.value_index) for x in op.inputs)
            text += ")^" + ",".join(sorted("%x" % label[c] for c in op.control_inputs))
            fresh[op] = fnv(text)
        label = fresh
    return "%x" % fnv(" ".join(sorted("%x" % h for h in label.values())))


def kinds(graph):
    count = {}
    for op in graph.get_operations():
        if op.type in KINDS:
            count[op.type] = count.get(op.type, 0) + 1
    return " ".join("%s=%d" % item for item in sorted(count.items()))


def numbers(values):
    return " ".join("%.9g" % v for v in np.asarray(values).reshape(-1))


def v1_gradients(tokens):
    """Of the same program in v1 form: in v2 form TensorFlow 2.21 gets a few wrong (a gradient counted twice)."""
    tf1.disable_control_flow_v2()
    with tf.Graph().as_default():
        inputs = [tf1.placeholder(tf.float32, [2]) for _ in range(3)]
        results = Builder(tokens).block(inputs)
        gradients = tf1.gradients(results, inputs)
        with tf1.Session() as session:
            feeds = dict(zip(inputs, INPUTS))
            found = [np.zeros(2) if g is None else session.run(g, feeds) for g in gradients]
    tf1.enable_control_flow_v2()
    return found


def record(name, tokens, second_order):
    with tf.Graph().as_default() as graph:
        inputs = [tf1.placeholder(tf.float32, [2], name="x%d" % i) for i in range(3)]
        results = Builder(tokens).block(inputs)
        results = [tf.identity(r) for r in results]
        prints = fingerprint(graph)
        loss = tf.add_n([tf.reduce_sum(r, axis=tf.constant([0])) for r in results])
        gradients = tf1.gradients(loss, inputs)
        second = None
        if second_order and any(g is not None for g in gradients):
            total = tf.add_n([tf.reduce_sum(g * g, axis=tf.constant([0])) for g in gradients if g is not None])
            second = tf1.gradients(total, inputs)
        counted = kinds(graph)
        with tf1.Session() as session:
            feeds = dict(zip(inputs, INPUTS))
            values = session.run(results, feeds)
            lines = ["program " + name, " ".join(tokens), "graph " + prints, "kinds " + counted]
            lines += ["value " + numbers(v) for v in values]
            for tag, grads in (("gradient", gradients), ("second", second)):
                if tag == "gradient" and kinds(graph).find("While=") >= 0:
                    for grad, other in zip(grads, v1_gradients(tokens)):
                        if grad is not None and not np.allclose(session.run(grad, feeds), other, 1e-4, 1e-5):
                            raise ValueError("gradients of both forms differ")
                for grad in grads or []:
                    lines.append(tag + (" none" if grad is None else " " + numbers(session.run(grad, feeds))))
    text = "\n".join(lines)
    if "nan" in text or "inf" in text or max(abs(float(t)) for line in lines if line.startswith(("value", "grad", "sec"))
                                             for t in line.split()[1:] if t != "none") > 1e4:
        raise ValueError("too large")
    return text + "\n"


def main():
    form, path = sys.argv[1:]
    if form == "v1":
        tf1.disable_control_flow_v2()
    else:
        tf1.enable_control_flow_v2()
    wanted = int(os.environ.get("PROGRAMS", "150"))
    kept = []
    seed = 0
    skipped = {}
    while len(kept) < wanted:
        seed += 1
        depth = 1 + seed % 3
        tokens = Generator(seed, mapped=seed % 2 == 0).block(3, depth, 2, 1 + seed % 4)
        if not {"cond", "while", "map", "foldl", "foldr", "scan"} & set(tokens) or len(tokens) > 250:
            continue
        try:
            kept.append(record("p%d" % seed, tokens, form == "v2" and seed % 4 == 0))
        except Exception as error:  # what TensorFlow cannot do
            reason = type(error).__name__ + ": " + str(error).split("\n")[0][:100]
            skipped[reason] = skipped.get(reason, 0) + 1
    with open(path, "w") as out:
        out.write("".join(kept))
    print(len(kept), "programs;", skipped)


if __name__ == "__main__":
    main()
