"""TensorFlow 2's input pipeline and its writers of event files."""
import os
import tempfile

import numpy as np
import tensorflow as tf

import common


def read_records(case, settings):
    """The faster of two ways to drain tf.data's iterator inside the runtime."""
    record_size = int(case.removeprefix("io/tfrecord_read_").removesuffix("KB")) << 10
    megabytes = 32 if settings.quick else 128
    path = os.path.join(settings.directory, f"records_{record_size}_{megabytes}.tfrecord")
    records = (megabytes << 20) // record_size
    options = tf.data.Options()
    options.threading.private_threadpool_size = settings.threads

    def one_by_one():
        data = tf.data.TFRecordDataset(path).with_options(options)
        assert data.reduce(np.int64(0), lambda count, record: count + 1).numpy() == records

    def batches():
        data = tf.data.TFRecordDataset(path, buffer_size=8 << 20).batch(256).with_options(options)
        assert sum(len(batch) for batch in data) == records

    both = [common.quietest(lambda: records * record_size / 1e6 / common.seconds_of(way), settings) for way in (one_by_one, batches)]
    return max(both, key=np.median)


def event_scalars(settings):
    """The writer in C++, driven by a loop inside the runtime, so that Python costs nothing."""
    scalars = 2000 if settings.quick else 20000
    with tempfile.TemporaryDirectory(dir=settings.directory) as directory:
        runs = 0

        def window():
            nonlocal runs
            runs += 1
            writer = tf.summary.create_file_writer(os.path.join(directory, str(runs)), max_queue=1000)

            @tf.function
            def write(count):
                with writer.as_default():
                    for i in tf.range(count):
                        tf.summary.scalar("loss", tf.cast(i, tf.float32), step=i)
                    writer.flush()

            write(tf.constant(1, tf.int64))
            return scalars / common.seconds_of(lambda: write(tf.constant(scalars, tf.int64)))

        return common.quietest(window, settings)


def run(case, settings):
    tf.config.threading.set_intra_op_parallelism_threads(settings.threads)
    tf.config.threading.set_inter_op_parallelism_threads(settings.threads)
    return event_scalars(settings) if case == "io/event_scalars" else read_records(case, settings)


if __name__ == "__main__":
    common.main(run)
