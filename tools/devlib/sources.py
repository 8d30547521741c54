"""The files of the project: those that git tracks or would track, or all where there is no repository."""
import functools
import subprocess

from devlib.paths import ROOT

CPP = (".h", ".cc")


@functools.lru_cache(maxsize=None)
def all_files():
    listing = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True)
    if listing.returncode != 0:
        skipped = {"build", ".git", "__pycache__"}
        return sorted(path for path in ROOT.rglob("*") if path.is_file() and not skipped & set(path.relative_to(ROOT).parts))
    names = sorted(set(listing.stdout.decode().split("\0")) - {""})
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def files_ending(suffixes, under=""):
    folder = ROOT / under
    return [path for path in all_files() if path.suffix in suffixes and path.is_relative_to(folder)]


def relative(path):
    return path.relative_to(ROOT).as_posix()
