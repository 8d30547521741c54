#!/usr/bin/env python3
"""Random graphs of waiting and plain ops, run under TensorFlow: makes testdata/waiting_graphs.tfrecord.

  make_waiting_graphs.py OUT [COUNT]

Each graph mixes queues, barriers, accumulators, switches and arithmetic in one run: enqueues and dequeues of a queue
stand in chains of control dependencies, so that the graph is a Kahn network, whose result does not depend on the order in
which its nodes run, and neither does whether it waits for ever. A record is three lines, the seed, the fetches with their values
("c0_Dequeue:0=3", or without a value where TensorFlow waits for ever) and the targets, followed by the serialized
GraphDef. tests/waiting_graphs_test.cc runs them.
"""
import os
import random
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.disable_resource_variables()


class Channel:
    """Something that hands int32 scalars on in order; puts and takes are chained."""

    def __init__(self, rng, index):
        self.rng, self.puts, self.takes = rng, [], []
        self.kind = rng.choice(["fifo", "fifo", "fifo_reference", "padding"])
        capacity = rng.randint(1, 3)
        name = f"c{index}"
        if self.kind == "fifo":
            self.queue = tf1.FIFOQueue(capacity, [tf.int32], shapes=[[]], name=name)
        elif self.kind == "fifo_reference":
            ref = tf.raw_ops.FIFOQueue(component_types=[tf.int32], shapes=[[]], capacity=capacity, name=name)
            self.ref = ref
        else:
            self.queue = tf1.PaddingFIFOQueue(capacity, [tf.int32], shapes=[[]], name=name)

    def put(self, values):
        """One put of one or more values."""
        with tf1.control_dependencies(self.puts[-1:]):
            if self.kind == "fifo_reference":
                if len(values) == 1:
                    op = tf.raw_ops.QueueEnqueue(handle=self.ref, components=values)
                else:
                    op = tf.raw_ops.QueueEnqueueMany(handle=self.ref, components=[tf.stack(values)])
            elif len(values) == 1:
                op = self.queue.enqueue(values)
            else:
                op = self.queue.enqueue_many([tf.stack(values)])
        self.puts.append(op)
        return op

    def take(self, count):
        """A scalar made of the next `count` values."""
        with tf1.control_dependencies(self.takes[-1:]):
            if self.kind == "fifo_reference":
                if count == 1:
                    value = tf.raw_ops.QueueDequeue(handle=self.ref, component_types=[tf.int32])[0]
                else:
                    many = tf.raw_ops.QueueDequeueMany(handle=self.ref, n=count, component_types=[tf.int32])[0]
                    value = tf.reduce_sum(many)
            elif count == 1:
                value = self.queue.dequeue()
            else:
                value = tf.reduce_sum(self.queue.dequeue_many(count))
        self.takes.append(value.op)
        return value


def plain(rng, values):
    a, b = rng.choice(values), rng.choice(values)
    kind = rng.randrange(5)
    if kind == 0:
        return tf.add(a, b)
    if kind == 1:
        return tf.subtract(a, b)
    if kind == 2:
        return tf.bitwise.bitwise_xor(a, b)
    if kind == 3:
        false, true = tf.raw_ops.Switch(data=a, pred=tf.greater(b, rng.randint(-5, 5)))
        return tf.raw_ops.Merge(inputs=[tf.negative(false), tf.add(true, 1)])[0]
    return tf.maximum(a, b)


def accumulate(rng, values, index):
    """The sum of some values, by way of an accumulator."""
    total = tf1.ConditionalAccumulator(tf.float32, shape=[], reduction_type="SUM", name=f"sum{index}")
    count = rng.randint(1, 3)
    applied = [total.apply_grad(tf.cast(rng.choice(values) % 1000, tf.float32)) for _ in range(count)]
    return tf.cast(total.take_grad(count), tf.int32), applied


def collect(rng, values, index):
    """A value that a barrier hands on once its two halves are there."""
    barrier = tf.raw_ops.Barrier(component_types=[tf.int32, tf.int32], shapes=[[], []], name=f"b{index}")
    key = tf.constant(["k"])
    puts = [tf.raw_ops.BarrierInsertMany(handle=barrier, keys=key, values=tf.reshape(rng.choice(values), [1]),
                                         component_index=i) for i in range(2)]
    rng.shuffle(puts)
    taken = tf.raw_ops.BarrierTakeMany(handle=barrier, num_elements=1, component_types=[tf.int32, tf.int32])
    return tf.reduce_sum(taken.values[0]) - tf.reduce_sum(taken.values[1]), puts


def build(rng):
    values = [tf.constant(rng.randint(-9, 9)) for _ in range(2)]
    targets = []
    channels = [Channel(rng, i) for i in range(rng.randint(1, 3))]
    # What each channel still has to do; takes may come before the puts that they wait for.
    work = []
    for channel in channels:
        counts = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
        total = sum(counts)
        takes = []
        while total > 0:
            takes.append(min(total, rng.randint(1, 3)))
            total -= takes[-1]
        if rng.random() < .06:
            takes.append(1)  # waits for ever
        work += [("put", channel, n) for n in counts] + [("take", channel, n) for n in takes]
    work += [("plain", None, 0)] * rng.randint(2, 6)
    work += [("sum", None, 0)] * rng.randint(0, 1) + [("barrier", None, 0)] * rng.randint(0, 1)
    rng.shuffle(work)
    careful = rng.random() < .7  # mostly, puts come before the takes: fewer graphs wait for ever
    if careful:
        work.sort(key=lambda item: item[0] == "take" and rng.random() < .8)
    for i, (kind, channel, n) in enumerate(work):
        if kind == "put":
            targets.append(channel.put([rng.choice(values) for _ in range(n)]))
        elif kind == "take":
            values.append(channel.take(n))
        elif kind == "plain":
            values.append(plain(rng, values))
        else:
            value, more = (accumulate if kind == "sum" else collect)(rng, values, i)
            values.append(value)
            targets += more
    return values, targets


def outcome(graph, values, targets):
    config = tf1.ConfigProto(inter_op_parallelism_threads=4, intra_op_parallelism_threads=1)
    with tf1.Session(graph=graph, config=config) as session:
        try:
            results = session.run(values + targets, options=tf1.RunOptions(timeout_in_ms=700))
            return [int(v) for v in results[:len(values)]]
        except tf.errors.DeadlineExceededError:
            return None


def main():
    out, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    options = tf.io.TFRecordOptions(compression_type="ZLIB")
    stuck = made = seed = 0
    with tf.io.TFRecordWriter(out, options) as writer:
        while made < count:
            seed += 1
            rng = random.Random(seed)
            graph = tf.Graph()
            with graph.as_default():
                values, targets = build(rng)
            expected = outcome(graph, values, targets)
            if expected is None:
                if stuck > made // 8:
                    continue  # enough of those
                stuck += 1
            made += 1
            names = [v.name for v in values]
            fetches = names if expected is None else [f"{name}={value}" for name, value in zip(names, expected)]
            header = "\n".join([str(seed), " ".join(fetches), " ".join(op.name for op in targets), ""])
            writer.write(header.encode() + graph.as_graph_def().SerializeToString())
    print(f"{made} graphs, {stuck} wait for ever, {os.path.getsize(out)} bytes")


main()
