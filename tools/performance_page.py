#!/usr/bin/env python3
"""Writes docs/performance.md and its picture from measurements.

    ./dev bench --peers default,torch,rl --json > rows.json
    caudal train bench/models/lenet.json --data testdata/fashion-mnist-sample --profile 50 --json > profile.json
    tools/performance_page.py rows.json profile.json...

The picture is a roofline (Williams, Waterman, Patterson, CACM 52, 2009): the nodes of the profiled steps by multiplications a byte
and GFLOP/s, under the measured roof of the processor."""
import argparse
import json
import math
import pathlib
import sys

from devlib.paths import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import machine  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "performance.svg"
_WIDTH, _HEIGHT, _MARGIN = 760, 460, 64
_COLOURS = ("#0b6e99", "#b5431f", "#3a7d34", "#7a4fa3", "#8a6d00")


def read_lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if line.startswith("{")]


# ---------------------------------------------------------------- the table
def number(value):
    if value is None:
        return "-"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 3)}f}"


def best_peer(row):
    peers = {name: value for name, value in row["peers"].items() if value is not None}
    if not peers:
        return "-"
    smaller_is_better = row["ratio"] is not None and row["caudal"] is not None and any(
        abs(value / row["caudal"] - row["ratio"]) < 1e-3 * row["ratio"] for value in peers.values())
    name = (min if smaller_is_better else max)(peers, key=peers.get)
    return f"{number(peers[name])} ({name})"


def verdict(row):
    if row["ratio"] is None:
        return "no verdict"
    return "reached" if row["ratio"] >= row["goal"] else "short"


def table(rows):
    lines = ["| row | unit | Caudal | best peer | ratio | goal | |", "|---|---|---:|---:|---:|---:|---|"]
    for row in rows:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append(f"| `{row['case']}` | {row['unit']} | {number(row['caudal'])} | {best_peer(row)} | {ratio} | {row['goal']:g} | "
                     f"{verdict(row)} |")
    return "\n".join(lines)


# ---------------------------------------------------------------- the picture
class Axes:
    """Both logarithmic."""

    def __init__(self, xs, ys):
        self.x0, self.x1 = math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs)))
        self.y0, self.y1 = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def x(self, value):
        return _MARGIN + (math.log10(value) - self.x0) / (self.x1 - self.x0) * (_WIDTH - 2 * _MARGIN)

    def y(self, value):
        return _HEIGHT - _MARGIN - (math.log10(value) - self.y0) / (self.y1 - self.y0) * (_HEIGHT - 2 * _MARGIN)


def text(x, y, content, anchor="middle", size=12, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{extra}>{content}</text>'


def grid(axes):
    parts = []
    for power in range(axes.x0, axes.x1 + 1):
        x = axes.x(10 ** power)
        parts.append(f'<path d="M{x:.1f} {_MARGIN}V{_HEIGHT - _MARGIN}" stroke="#ddd"/>')
        parts.append(text(x, _HEIGHT - _MARGIN + 18, f"{10 ** power:g}"))
    for power in range(axes.y0, axes.y1 + 1):
        y = axes.y(10 ** power)
        parts.append(f'<path d="M{_MARGIN} {y:.1f}H{_WIDTH - _MARGIN}" stroke="#ddd"/>')
        parts.append(text(_MARGIN - 8, y + 4, f"{10 ** power:g}", "end"))
    parts.append(text(_WIDTH / 2, _HEIGHT - 16, "FLOP a byte of inputs and outputs"))
    middle = _HEIGHT / 2
    parts.append(text(18, middle, "GFLOP/s", extra=f' transform="rotate(-90 18 {middle})"'))
    return parts


def points(profile):
    """(FLOP a byte, GFLOP/s, share of the step, op) of the nodes that multiply."""
    whole = sum(node["microseconds"] for node in profile["nodes"])
    for node in profile["nodes"]:
        if node["multiplications"] > 0 and node["bytes"] > 0 and node["microseconds"] > 0:
            flop = 2 * node["multiplications"]
            yield flop / node["bytes"], flop / node["microseconds"] / 1e3, node["microseconds"] / whole, node["op"]


def roofline(profiles):
    """SVG of {name: profile}. The roof is the highest that was measured."""
    gflops = max(profile["roof_gflops"] for profile in profiles.values())
    gbytes = max(profile["roof_gbytes"] for profile in profiles.values())
    all_points = [point for profile in profiles.values() for point in points(profile)]
    axes = Axes([p[0] for p in all_points] + [gflops / gbytes], [p[1] for p in all_points] + [gflops])
    left, ridge, right = 10 ** axes.x0, gflops / gbytes, 10 ** axes.x1
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">',
             f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>', *grid(axes)]
    low = max(left * gbytes, 10 ** axes.y0)
    parts.append(f'<path d="M{axes.x(low / gbytes):.1f} {axes.y(low):.1f}L{axes.x(ridge):.1f} {axes.y(gflops):.1f}H{axes.x(right):.1f}" '
                 'fill="none" stroke="black" stroke-width="2"/>')
    parts.append(text(axes.x(right) - 4, axes.y(gflops) - 8, f"{gflops:.0f} GFLOP/s", "end"))
    parts.append(text(axes.x(low / gbytes) + 24, axes.y(low) + 20, f"{gbytes:.0f} GB/s beyond the caches", "start"))
    for colour, (name, profile) in zip(_COLOURS, profiles.items()):
        for intensity, rate, share, op in points(profile):
            radius = 3 + 14 * math.sqrt(share)
            parts.append(f'<circle cx="{axes.x(intensity):.1f}" cy="{axes.y(rate):.1f}" r="{radius:.1f}" fill="{colour}" '
                         f'fill-opacity="0.55"><title>{name}: {op}, {rate:.0f} GFLOP/s</title></circle>')
        row = list(profiles).index(name)
        parts.append(f'<circle cx="{_MARGIN + 14}" cy="{_MARGIN + 14 + 20 * row}" r="6" fill="{colour}" fill-opacity="0.55"/>')
        parts.append(text(_MARGIN + 28, _MARGIN + 18 + 20 * row, name, "start"))
    return "\n".join([*parts, "</svg>", ""])


# ---------------------------------------------------------------- the page
def page(rows, profiles, cpu, versions):
    return f"""# Performance

Written by `tools/performance_page.py` from one sitting of `./dev bench --peers`, ours and theirs in turns on one machine. Machines differ: run it on
yours.

Processor: {cpu}. {versions}

{table(rows)}

`ratio` is ours against the best peer of the row, above 1 is better; peers count with their better number of threads and keep freed
memory. `bench/README.md` says what each row runs and how it is measured. Rows whose windows spread by more than 10% get no verdict.

## Against the roof

![Roofline](performance.svg)

Each circle is a node of a training step ({", ".join(profiles)}; `caudal train --profile 50 --json`), as large as its share of the time. The
slope is the memory's rate, the level what the processor's multiply-adds can do; a node between them that stays in the caches may lie
above the slope. Fused nodes count what they compute, not what the single nodes would: the way back through a max-pooling looks at one pixel
of four.

## How to repeat it

```sh
./dev bench --peers default,torch,rl --json > rows.json
build/release/caudal train bench/models/lenet.json --data testdata/fashion-mnist-sample --batch-size 50 --profile 50 --json > lenet.json
tools/performance_page.py rows.json lenet.json
```
"""


def main(arguments):
    parser = argparse.ArgumentParser(prog="performance_page.py", description=__doc__.splitlines()[0])
    parser.add_argument("rows", help="what ./dev bench --json printed")
    parser.add_argument("profiles", nargs="+", help="what caudal train --profile --json printed, each named by its file")
    parser.add_argument("--versions", default="", help="of the peers, as ./dev bench names them")
    options = parser.parse_args(arguments)
    profiles = {pathlib.Path(path).stem: read_lines(path)[-1] for path in options.profiles}
    cpu = f"{machine.cpu_name()} ({' '.join(machine.cpu_extensions())}), {machine.cores()} cores"
    PICTURE.write_text(roofline(profiles), encoding="utf-8")
    PAGE.write_text(page(read_lines(options.rows), profiles, cpu, options.versions), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
