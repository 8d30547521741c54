#!/usr/bin/env python3
"""All C++ sources are as clang-format-16 would write them."""
import sys

from devlib import formatting, sources


def main():
    found = formatting.changes()
    for path, _ in found:
        print(f"{sources.relative(path)}: not formatted; run ./dev fmt")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
