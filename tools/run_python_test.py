#!/usr/bin/env python3
"""Runs the unittest cases of one file and prints GoogleTest's lines: run_python_test.py FILE [FILTER]."""
import importlib.util
import os
import pathlib
import sys
import unittest

from devlib import reporting


def cases_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases_of(item)
        else:
            yield item


def run_case(case):
    result = unittest.TestResult()
    case.run(result)
    if result.skipped:
        raise reporting.Skip(result.skipped[0][1])
    for _, text in result.errors + result.failures:
        print(text)
    if not result.wasSuccessful():
        raise AssertionError("see above")


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    report = reporting.Report()
    loader = unittest.defaultTestLoader
    # Class by class, so that setUpClass runs once before its cases.
    for value in list(vars(module).values()):
        if not (isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__):
            continue
        cases = [case for case in cases_of(loader.loadTestsFromTestCase(value)) if wanted in case.id()]
        if not cases:
            continue
        value.setUpClass()
        for case in cases:
            report.run(case.id().replace(f"{path.stem}.", "", 1), run_case, case)
        value.tearDownClass()
        value.doClassCleanups()
    return report.exit_code()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a client of TensorFlow that outlives its server would wait for it at the interpreter's end
