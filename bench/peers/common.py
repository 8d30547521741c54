"""What the peers' scripts share: arguments, measuring as bench/measure.cc does it, and the lines they print.

A script runs the cases it is given in one process and prints a JSON line {"case", "values"} for each; a case that the
peer cannot run prints {"case", "error"}.
"""
import argparse
import json
import os
import statistics
import sys
import time

QUIET_SPREAD = 0.10
WARM_UPS, WARM_UP_SECONDS = 3, 2
SHAPES = {"mlp": (784,), "lenet": (28, 28, 1), "book": (28, 28, 1), "nature": (84, 84, 4)}
EPOCH_ROWS = 60000
VARIABLES, VARIABLE_SIZE = 25, 1 << 20
CHECKPOINT_MEGABYTES = VARIABLES * VARIABLE_SIZE * 4 / 1e6
CHAIN = 1000
ITERATIONS = 10_000


class Settings:
    def __init__(self, quick, threads=1, directory="."):
        self.quick, self.threads, self.directory = quick, threads, directory
        self.seconds, self.repeats, self.patience = (0.2, 3, 5) if quick else (0.6, 5, 30)


def spread(values):
    return (max(values) - min(values)) / statistics.median(values)


def quietest(window, settings, repeats=None):
    """The `repeats` neighbouring windows that spread least; goes on while they spread too much, at most three times as long."""
    wanted = repeats or settings.repeats
    start, every, best = time.perf_counter(), [], None
    while len(every) < 3 * wanted and (len(every) < wanted or time.perf_counter() - start < settings.patience):
        every.append(window())
        last = every[-wanted:]
        if len(last) == wanted and (best is None or spread(last) < spread(best)):
            best = last
        if best and spread(best) <= QUIET_SPREAD:
            break
    return best


def rates(step, work, settings):
    """Work per second of `step`, which does `work` of it."""
    start = time.perf_counter()
    for _ in range(WARM_UPS):
        if time.perf_counter() - start < WARM_UP_SECONDS:
            step()
    before = time.perf_counter()
    step()
    steps = max(1, int(settings.seconds / max(time.perf_counter() - before, 1e-8)))

    def window():
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        return steps * work / (time.perf_counter() - begin)

    return quietest(window, settings)


def microseconds(step, work, settings):
    return [1e6 / rate for rate in rates(step, work, settings)]


def seconds_of(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def batch_of(model, size):
    """Pictures, labels and, for nature, values."""
    import numpy as np
    random = np.random.default_rng(1)
    pictures = random.random((size,) + SHAPES[model], dtype=np.float32)
    labels = random.integers(0, 6 if model == "nature" else 10, size).astype(np.int32)
    return (pictures, labels) + ((random.random(size, dtype=np.float32),) if model == "nature" else ())


def random_pictures(rows):
    import numpy as np
    random = np.random.default_rng(1)
    pictures = random.integers(0, 256, (rows, 28, 28, 1), np.uint8).astype(np.float32) / 255
    return pictures, random.integers(0, 10, rows).astype(np.int32)


def resident_mebibytes():
    with open("/proc/self/status", encoding="ascii") as status:
        return next(float(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:"))


def training_case(name):
    """("lenet", 50) for "train/lenet_50"."""
    model, size = name.removeprefix("train/").split("_")
    return model, int(size)


def sync_disks():
    os.sync()


def main(run, first_inference=None):
    """run(case, settings) gives the values of a case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dir", default=".")
    parser.add_argument("--first-inference", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    settings = Settings(options.quick, options.threads, options.dir)
    if options.first_inference:
        print(first_inference(settings))
        return
    for case in options.cases:
        try:
            line = {"case": case, "values": [float(f"{value:.6g}") for value in run(case, settings)]}
        except Exception as error:  # one case that fails must not cost the others
            line = {"case": case, "error": f"{type(error).__name__}: {' '.join(str(error).split())[-200:]}"}
        print(json.dumps(line), flush=True)
    sys.stdout.flush()
    os._exit(0)  # frameworks may take seconds, or crash, taking themselves down
