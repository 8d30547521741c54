#!/usr/bin/env python3
"""No file names a path of somebody's machine, a host of a package mirror, a key or a private address."""
import re
import sys

from devlib import sources

# Written in pieces so that this file passes its own check.
_FORBIDDEN = re.compile("|".join([
    r"(?<![\w.$}/-])/" + r"(?:home|Users)/\w+",
    r"(?<![\w.$}/-])/" + r"work/",
    r"(?<![\w.$}/-])/" + r"opt/(?:slots|wheels)",
    r"(?<![\w.$}/-])/" + r"root/",
    r"artifact-?" + r"registry",
    r"\bpkg\." + r"dev\b",
    r"googleapis\." + r"com/(?!tensorflow)",
    r"(?:deb|security|snapshot|ftp)\." + r"debian\.org",
    r"(?:files\.)?python" + r"hosted\.org",
    r"pypi\." + r"org",
    r"\b(?:10\.\d+|192\.168|172\.(?:1[6-9]|2\d|3[01]))" + r"\.\d+\.\d+\b",
    r"-----BEGIN [A-Z ]*" + r"PRIVATE KEY",
]))
_BINARY = b"\0"


def main():
    failed = False
    for path in sources.all_files():
        data = path.read_bytes()
        if _BINARY in data:
            continue
        for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
            match = _FORBIDDEN.search(line)
            if match:
                print(f"{sources.relative(path)}:{number}: '{match[0]}' belongs to one machine or mirror")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
