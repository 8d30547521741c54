#!/usr/bin/env python3
"""No source file above 800 lines; above 400 a warning."""
import sys

from devlib import sources

LIMIT, WARNING = 800, 400


def main():
    failed = False
    for path in sources.files_ending((*sources.CPP, ".py", ".sh", ".cmake", ".proto")):
        lines = path.read_bytes().count(b"\n")
        if lines > WARNING:
            print(f"{'error' if lines > LIMIT else 'warning'}: {sources.relative(path)} has {lines} lines")
            failed |= lines > LIMIT
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
