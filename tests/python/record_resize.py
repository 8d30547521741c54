#!/usr/bin/env python3
"""Writes testdata/rl/resize.npz: a picture and what OpenCV 4.12 makes of it by INTER_AREA in several sizes, and some colours with
their gray by RGB2GRAY. caudal/rl/area_resize_test.cc compares."""
import pathlib

import cv2
import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "rl" / "resize.npz"
SIZES = [(84, 84), (168, 168), (252, 252), (42, 42), (64, 64), (105, 80), (70, 80), (42, 40), (30, 200)]


def picture(rng):
    blocks = np.kron(rng.integers(0, 256, (35, 20)), np.ones((6, 8)))
    few = rng.choice([87, 147, 148, 236], (210, 160))
    rows = [rng.integers(0, 256, (40, 160)), few[40:110], blocks[110:190], 255 * rng.integers(0, 2, (20, 160))]
    return np.concatenate(rows).astype(np.uint8)


def main():
    rng = np.random.default_rng(7)
    source = picture(rng)
    arrays = {"source": source}
    for height, width in SIZES:
        arrays[f"{height}x{width}"] = cv2.resize(source, (width, height), interpolation=cv2.INTER_AREA)
    arrays["rgb"] = rng.integers(0, 256, (1, 2000, 3)).astype(np.uint8)
    arrays["gray"] = cv2.cvtColor(arrays["rgb"], cv2.COLOR_RGB2GRAY)
    np.savez_compressed(OUT, **arrays)
    print(cv2.__version__, OUT.stat().st_size)


if __name__ == "__main__":
    main()
