"""A `caudal server` as a child process, and calls to it below TensorFlow's client."""
import json
import os
import signal
import subprocess
import time


class ServerProcess:
    """Started with the object, ended by stop() or as a context manager."""

    def __init__(self, *words, stderr=subprocess.DEVNULL):
        self.process = subprocess.Popen([os.environ["CAUDAL_BIN"], "server", "--port", "0", "--json", *map(str, words)],
                                        stdout=subprocess.PIPE, stderr=stderr, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server did not start, exit code {self.process.wait()}")
        values = json.loads(line)
        self.port, self.target = values["port"], values["target"]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stop()

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))

    def is_running(self):
        return self.process.poll() is None

    def stop(self, with_signal=signal.SIGTERM, patience=30):
        """Ends it and returns its exit code and the seconds that took."""
        start = time.monotonic()
        if self.is_running():
            self.process.send_signal(with_signal)
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process.stdout.close()
        return code, time.monotonic() - start
