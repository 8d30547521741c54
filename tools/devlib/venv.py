"""Virtual environments with TensorFlow and TensorBoard, the oracles of tests/python and tests/suite."""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

from devlib.paths import ROOT, cache_folder

REQUIREMENTS = ROOT / "tests" / "python" / "requirements.txt"
_COMPLETE = ".caudal-complete"


def python(requirements=REQUIREMENTS):
    """The interpreter of an environment with these requirements, made where it is missing (minutes). CAUDAL_VENV names
    another environment."""
    if os.environ.get("CAUDAL_VENV"):
        return pathlib.Path(os.environ["CAUDAL_VENV"]) / "bin" / "python"
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:10]
    folder = cache_folder() / f"venv-{key}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Two test runs at once must not both fill the folder.
    with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / _COMPLETE).exists():
            _create(folder, requirements)
    return folder / "bin" / "python"


def _create(folder, requirements):
    shutil.rmtree(folder, ignore_errors=True)
    log = folder.with_suffix(".log")
    commands = [
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "pip"), "install", "--no-input", "--disable-pip-version-check", "--no-compile",
         "--only-binary", ":all:", "-r", str(requirements)],
    ]
    with open(log, "w", encoding="utf-8") as out:
        for command in commands:
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode != 0:
                tail = log.read_text(encoding="utf-8").splitlines()[-5:]
                raise RuntimeError("cannot make the virtual environment:\n" + "\n".join(tail) + f"\n(whole log: {log})")
    (folder / _COMPLETE).touch()
