"""./dev fmt and the format check: clang-format-16 with the .clang-format of the tree."""
import argparse
import concurrent.futures
import subprocess

from devlib import building, console, sources

PROGRAM = "clang-format-16"


def _formatted(path):
    # Not --dry-run: it reports the closing comment of every `namespace caudal::inline v0`, which it would leave as it is.
    return subprocess.run([PROGRAM, str(path)], check=True, capture_output=True).stdout


def changes():
    """(path, text) of each source that is not as the program would write it."""
    files = sources.files_ending(sources.CPP)
    with concurrent.futures.ThreadPoolExecutor(building.jobs()) as pool:
        return [(path, text) for path, text in zip(files, pool.map(_formatted, files)) if text != path.read_bytes()]


def main(arguments):
    argparse.ArgumentParser(prog="dev fmt", description="Format the C++ sources in place.").parse_args(arguments)
    for path, text in changes():
        path.write_bytes(text)
        console.say(f"  formatted {sources.relative(path)}")
    return 0
