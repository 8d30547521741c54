"""The peers: which there are, how to get them, how to run them."""
import dataclasses
import fnmatch
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
SCRIPTS = HERE / "peers"
TIME_LIMIT = 1200  # seconds for one peer with one number of threads
_COMPLETE = ".caudal-complete"


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    script: str        # in peers/; a .cc file is compiled first
    group: str         # of packages
    cases: tuple       # patterns of the cases that it can run
    module: str        # imported to tell the time that a program with it takes to start
    threads: bool = True   # whether the number of threads matters
    environment: tuple = ()


PEERS = (
    Peer("tf1", "tensorflow_session.py", "default",
         ("train/*", "overhead/*", "io/checkpoint_save", "io/checkpoint_restore", "start/*"), "tensorflow"),
    Peer("tf-c", "tensorflow_c.cc", "default",
         ("overhead/one_op_run", "overhead/no_op_run", "overhead/add_*"), ""),
    Peer("tf2", "tensorflow_io.py", "default", ("io/tfrecord_*", "io/event_scalars"), ""),
    Peer("tensorboardX", "tensorboardx_events.py", "default", ("io/event_scalars",), "", threads=False),
    Peer("jax", "jax_jit.py", "default", ("train/*", "overhead/one_op_callable", "start/process", "start/first_inference"), "jax"),
    Peer("torch", "torch_eager.py", "torch",
         ("train/*", "overhead/add_*", "start/process", "start/first_inference"), "torch"),
    Peer("torch-nhwc", "torch_eager.py", "torch", ("train/lenet*", "train/book*", "train/nature*"), "",
         environment=(("CAUDAL_BENCH_NHWC", "1"),)),
    *(Peer(name, "environments.py", "rl", cases, "", environment=(("CAUDAL_BENCH_ENVIRONMENTS", name),))
      for name, cases in (("ale", ("env/pong", "env/breakout")), ("envpool", ("env/pong", "env/breakout", "env/cartpole")),
                          ("gymnasium", ("env/cartpole",)))),
)
REQUIREMENTS = {"default": HERE / "requirements.txt", "torch": HERE / "requirements-torch.txt",
                "rl": HERE / "requirements-rl.txt"}


class Unavailable(Exception):
    """A peer could not be installed; the message says why."""


def of_groups(groups):
    return [peer for peer in PEERS if peer.group in groups]


def supports(peer, case):
    return any(fnmatch.fnmatch(case, pattern) for pattern in peer.cases)


def environment(threads):
    """Threads, and memory that is kept: page faults are dear on virtual machines."""
    result = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS_", "OMP_"))}
    result.update({
        "MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_TOP_PAD_": str(64 << 20),
        "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"})
    return result


def _cache_folder():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "caudal"


def _run_logged(command, log):
    with open(log, "a", encoding="utf-8") as out:
        return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode == 0


def python_of(group, say):
    """The interpreter of a group's virtual environment, made where it is missing. Packages that cannot be had are left out."""
    requirements = REQUIREMENTS[group]
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:10]
    folder = _cache_folder() / f"bench-{group}-{key}"
    python, log = folder / "bin" / "python", folder.with_suffix(".log")
    if (folder / _COMPLETE).exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    say(f"  installing the peers of {requirements.name} (minutes)")
    if not _run_logged([sys.executable, "-m", "venv", str(folder)], log):
        raise Unavailable(f"no virtual environment (is python3-venv installed?); log: {log}")
    install = [str(python), "-m", "pip", "install", "--no-input", "--only-binary", ":all:"]
    if not _run_logged([*install, "-r", str(requirements)], log):
        lines = [line.strip() for line in requirements.read_text(encoding="utf-8").splitlines()]
        packages = [line for line in lines if line and not line.startswith("#")]
        missing = [package for package in packages if not _run_logged([*install, package], log)]
        say(f"  could not install {', '.join(missing)}; log: {log}")
        if len(missing) == len(packages):
            raise Unavailable(f"none of the packages of {requirements.name} could be installed")
        return python  # not marked complete: the next run tries again
    (folder / _COMPLETE).touch()
    return python


def _compiled(peer, python, folder):
    """The program of a peer in C++, linked with the library of TensorFlow's wheel."""
    libraries = next(iter(python.parent.parent.glob("lib/python3*/site-packages/tensorflow")), None)
    if libraries is None:
        raise Unavailable("TensorFlow is not installed")
    program = pathlib.Path(folder) / pathlib.Path(peer.script).stem
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", str(SCRIPTS / peer.script), str(HERE / "measure.cc"), "-o",
               str(program), f"-L{libraries}", "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2",
               f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise Unavailable(f"{peer.script} does not compile: {result.stderr[-300:]}")
    return [str(program)]


def command_of(peer, python, folder):
    if peer.script.endswith(".cc"):
        return _compiled(peer, python, folder)
    return [str(python), str(SCRIPTS / peer.script)]


def run(peer, command, threads, cases, arguments, log):
    """Values by case, from a process of its own. Yields (case, values, error)."""
    full = [*command, "--threads", str(threads), *arguments, *cases]
    with open(log, "a", encoding="utf-8") as errors:
        try:
            result = subprocess.run(full, env={**environment(threads), **dict(peer.environment)}, stdout=subprocess.PIPE,
                                    stderr=errors, text=True, timeout=TIME_LIMIT)
            output, code = result.stdout, result.returncode
        except subprocess.TimeoutExpired as timeout:
            output, code = (timeout.stdout or b"").decode(errors="replace"), f"over {TIME_LIMIT} s"
    done = set()
    for text in output.splitlines():
        if text.startswith("{"):
            found = json.loads(text)
            done.add(found["case"])
            yield found["case"], found.get("values"), found.get("error")
    for case in cases:
        if case not in done:
            yield case, None, f"no result (exit code {code}); log: {log}"


def versions(python):
    """Names and versions of the packages that requirements name."""
    code = "import importlib.metadata as m\nfor n in ('tensorflow-cpu','jax','torch','tensorboardX','ale-py','envpool','gymnasium'):\n" \
           "  try: print(n, m.version(n))\n  except m.PackageNotFoundError: pass"
    result = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    return ", ".join(result.stdout.splitlines())
