#!/usr/bin/env python3
"""Compiler launcher that notes what a compile cost: `source<TAB>seconds<TAB>megabytes` appended to $CAUDAL_COMPILE_COSTS.

Seconds are processor time, so that busy neighbours do not count; megabytes are the largest resident set of the compiler proper.
"""
import os
import subprocess
import sys


def source_of(command):
    for argument in command:
        if argument.endswith((".cc", ".cpp")):
            return argument
    return None


def main():
    command = sys.argv[1:]
    target = os.environ.get("CAUDAL_COMPILE_COSTS")
    source = source_of(command)
    if not target or not source or "-c" not in command:
        os.execvp(command[0], command)
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        line = f"{os.path.abspath(source)}\t{usage.ru_utime + usage.ru_stime:.1f}\t{usage.ru_maxrss // 1024}\n"
        with open(target, "a", encoding="utf-8") as out:
            out.write(line)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
