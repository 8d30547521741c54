"""./dev fmt and the format check: clang-format-16 with the .clang-format of the tree."""
import argparse
import pathlib
import shutil
import subprocess
import tempfile

from devlib import console, sources
from devlib.paths import ROOT

PROGRAM = "clang-format-16"


def changes():
    """(path, text) of each source that is not as the program would write it.

    Formats copies in one go: a process per file costs more than the formatting, and --dry-run reports the closing comment of every
    `namespace caudal::inline v0`, which the program would leave as it is."""
    files = sources.files_ending(sources.CPP)
    with tempfile.TemporaryDirectory() as folder:
        copies = [pathlib.Path(folder) / sources.relative(path) for path in files]
        for path, copy in zip(files, copies):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        if copies:
            subprocess.run([PROGRAM, "-i", f"--style=file:{ROOT / '.clang-format'}", *map(str, copies)], check=True)
        formatted = [copy.read_bytes() for copy in copies]
    return [(path, text) for path, text in zip(files, formatted) if text != path.read_bytes()]


def main(arguments):
    argparse.ArgumentParser(prog="dev fmt", description="Format the C++ sources in place.").parse_args(arguments)
    for path, text in changes():
        path.write_bytes(text)
        console.say(f"  formatted {sources.relative(path)}")
    return 0
