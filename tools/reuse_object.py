#!/usr/bin/env python3
"""Compiler launcher for a changed copy of the tree: takes the object of an unchanged source from the original's build.

reuse_object.py COMPILER... with $CAUDAL_ORIGINAL (tree), $CAUDAL_COPY (tree) and $CAUDAL_ORIGINAL_BUILD. Sound only while the copy
differs from the original by new files, which no old file includes. Imports little: it runs once per source."""
import os
import sys


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def object_to_reuse(command):
    """(bytes of the original's object, where the copy wants it), or None if the source is not the original's."""
    if "-c" not in command or "-o" not in command:
        return None
    source = os.path.realpath(command[command.index("-c") + 1])
    wanted = command[command.index("-o") + 1]
    copy = os.path.realpath(os.environ["CAUDAL_COPY"])
    if not source.startswith(copy + os.sep):
        return None
    old_object = read(os.path.join(os.environ["CAUDAL_ORIGINAL_BUILD"], wanted))
    if old_object is None or read(source) != read(os.path.join(os.environ["CAUDAL_ORIGINAL"], os.path.relpath(source, copy))):
        return None
    return old_object, wanted


def main():
    command = sys.argv[1:]
    found = object_to_reuse(command)
    if not found:
        os.execvp(command[0], command)
    data, wanted = found
    with open(wanted, "wb") as out:
        out.write(data)
    if "-MF" in command:
        with open(command[command.index("-MF") + 1], "w", encoding="utf-8") as out:
            out.write(f"{wanted}:\n")


if __name__ == "__main__":
    main()
