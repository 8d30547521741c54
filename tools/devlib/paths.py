"""Where things lie."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build_folder(preset):
    return ROOT / "build" / preset


def cache_folder():
    """The user's cache folder for Caudal; virtual environments and downloads live there, never in the tree."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "caudal"
