"""What machine this is and how busy others keep it."""
import os
import pathlib
import subprocess
import sys
import time


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def cpu_extensions():
    """The instruction sets that decide about speed."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    flags = set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())
    wanted = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
    return [name for name in wanted if name in flags]


def cores():
    return len(os.sched_getaffinity(0))


def busy_seconds():
    """Processor seconds that the whole machine has used, time stolen by its host included."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


class ForeignLoad:
    """Processors that others kept busy since this object was made."""

    def __init__(self):
        self.time, self.busy, self.own = time.monotonic(), busy_seconds(), self._own()

    @staticmethod
    def _own():
        times = os.times()
        return times.user + times.system + times.children_user + times.children_system

    def processors(self):
        used = busy_seconds() - self.busy - (self._own() - self.own)
        return max(0.0, used) / max(time.monotonic() - self.time, 1e-9)


class BusyNeighbour:
    """A process that keeps one processor busy while the object is open."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
