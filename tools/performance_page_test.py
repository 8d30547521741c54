#!/usr/bin/env python3
"""Tests of performance_page.py: its table, its picture, and that the page in docs/ is one it wrote."""
import re
import sys
import xml.etree.ElementTree as ElementTree

import performance_page
from devlib.reporting import Report

ROWS = [
    {"case": "train/a", "unit": "img/s", "caudal": 3000.0, "peers": {"tf1": 1000.0, "jax": 1500.0}, "ratio": 2.0, "goal": 1.5},
    {"case": "start/b", "unit": "ms", "caudal": 4.0, "peers": {"tf1": 2000.0, "jax": 8.0}, "ratio": 2.0, "goal": 3.0},
    {"case": "io/c", "unit": "MB/s", "caudal": 10.0, "peers": {}, "ratio": None, "goal": 1.0},
]
PROFILE = {"step_microseconds": 20.0, "roof_gflops": 200.0, "roof_gbytes": 20.0, "nodes": [
    {"node": "m", "op": "MatMul", "microseconds": 10.0, "multiplications": 500_000, "bytes": 40_000},
    {"node": "r", "op": "Relu", "microseconds": 1.0, "multiplications": 0, "bytes": 40_000}]}


def table_names_the_best_peer_and_the_verdict():
    lines = performance_page.table(ROWS).splitlines()
    assert lines[2] == "| `train/a` | img/s | 3,000 | 1,500 (jax) | 2.00 | 1.5 | reached |", lines[2]
    assert lines[3] == "| `start/b` | ms | 4.00 | 8.00 (jax) | 2.00 | 3 | short |", lines[3]
    assert lines[4] == "| `io/c` | MB/s | 10.0 | - | - | 1 | no verdict |", lines[4]


def picture_has_a_circle_for_each_product():
    svg = ElementTree.fromstring(performance_page.roofline({"net": PROFILE}))
    titles = [circle[0].text for circle in svg.iter("{http://www.w3.org/2000/svg}circle") if len(circle)]
    assert titles == ["net: MatMul, 100 GFLOP/s"], titles


def page_is_the_tools():
    text = performance_page.PAGE.read_text(encoding="utf-8")
    wanted = performance_page.page([], {"net": PROFILE}, "", "")
    headings = re.findall(r"^#.*", wanted, re.MULTILINE)
    assert re.findall(r"^#.*", text, re.MULTILINE) == headings, "docs/performance.md was edited by hand"
    assert performance_page.table([]) in text
    ElementTree.parse(performance_page.PICTURE)


def main():
    report = Report()
    report.run("PerformancePage.Table", table_names_the_best_peer_and_the_verdict)
    report.run("PerformancePage.Picture", picture_has_a_circle_for_each_product)
    report.run("PerformancePage.IsTheTools", page_is_the_tools)
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(main())
