#!/usr/bin/env python3
"""Compiler launcher for a changed copy of the tree: takes the object of an unchanged source from the original's build.

reuse_object.py COMPILER... with $CAUDAL_ORIGINAL (tree), $CAUDAL_COPY (tree) and $CAUDAL_ORIGINAL_BUILD. Sound only while the copy
differs from the original by new files, which no old file includes."""
import os
import pathlib
import shutil
import sys


def object_to_reuse(command):
    """(object of the original, where the copy wants it), or None if the source is not the original's."""
    if "-c" not in command or "-o" not in command:
        return None
    source = pathlib.Path(command[command.index("-c") + 1]).resolve()
    wanted = pathlib.Path(command[command.index("-o") + 1])
    copy, original = pathlib.Path(os.environ["CAUDAL_COPY"]).resolve(), pathlib.Path(os.environ["CAUDAL_ORIGINAL"])
    if not source.is_relative_to(copy):
        return None
    old_source = original / source.relative_to(copy)
    old_object = pathlib.Path(os.environ["CAUDAL_ORIGINAL_BUILD"]) / wanted
    if old_object.exists() and old_source.exists() and old_source.read_bytes() == source.read_bytes():
        return old_object, wanted
    return None


def main():
    command = sys.argv[1:]
    found = object_to_reuse(command)
    if not found:
        os.execvp(command[0], command)
    shutil.copyfile(*found)
    if "-MF" in command:
        pathlib.Path(command[command.index("-MF") + 1]).write_text(f"{found[1]}:\n", encoding="utf-8")


if __name__ == "__main__":
    main()
