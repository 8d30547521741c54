#!/usr/bin/env python3
"""Each layer includes only itself and the layers before it (order: CAUDAL_LAYERS in CMakeLists.txt); only caudal/proto sees
protobuf. Tests and fuzz targets may look upwards."""
import re
import sys

from devlib import sources
from devlib.paths import ROOT

_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
# Dependencies that one layer alone may see.
_CONFINED = {"google/protobuf/": "proto"}


def layers():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"set\(CAUDAL_LAYERS\s+([^)]*)\)", text)[1].split()


def problems(path, order):
    name = sources.relative(path)
    parts = name.split("/")
    if len(parts) == 2:  # caudal/caudal.h stands above all layers
        return
    layer = parts[1]
    if layer not in order:
        yield f"{name}: folder caudal/{layer} is no layer of CMakeLists.txt"
        return
    for include in _INCLUDE.findall(path.read_text(encoding="utf-8")):
        confined_to = next((home for prefix, home in _CONFINED.items() if include.startswith(prefix)), layer)
        if include.endswith(".pb.h"):
            confined_to = "proto"
        if layer != confined_to:
            yield f"{name}: includes {include}, which only caudal/{confined_to} may see"
        match = re.match(r"caudal/(?:(\w+)/)?", include)
        if not match:
            continue
        other = match[1]
        if other is None:
            yield f"{name}: includes {include}, which stands above all layers"
        elif other in order and order.index(other) > order.index(layer):
            yield f"{name}: layer {layer} includes {include} of the later layer {other}"


def main():
    order = layers()
    found = [problem for path in sources.files_ending(sources.CPP, "caudal")
             if not path.stem.endswith(("_test", "_fuzz")) and "bin" not in path.parts
             for problem in problems(path, order)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
