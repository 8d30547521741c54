"""./dev lint: clang-tidy-16 with the .clang-tidy of the tree."""
import argparse
import concurrent.futures
import subprocess

from devlib import building, console, sources
from devlib.paths import ROOT, build_folder

PROGRAM = "clang-tidy-16"


def _git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True).stdout.split()


def changed_sources():
    """The .cc files that differ from the upstream branch, committed or not."""
    base = _git("merge-base", "HEAD", "@{upstream}") or ["HEAD"]
    names = set(_git("diff", "--name-only", base[0])) | set(_git("ls-files", "-o", "--exclude-standard"))
    return [path for path in sources.files_ending((".cc",), "caudal") if sources.relative(path) in names]


def main(arguments):
    parser = argparse.ArgumentParser(prog="dev lint", description="clang-tidy on the changed sources.")
    parser.add_argument("--all", action="store_true", help="on all sources")
    options = parser.parse_args(arguments)
    building.configure("release")
    files = sources.files_ending((".cc",), "caudal") if options.all else changed_sources()
    files = [path for path in files if not path.stem.endswith("_fuzz")]
    progress = console.Progress("clang-tidy")
    failed = done = 0

    def tidy(path):
        return subprocess.run([PROGRAM, "-p", str(build_folder("release")), "--quiet", str(path)], capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(building.jobs()) as pool:
        for path, result in zip(files, pool.map(tidy, files)):
            done += 1
            progress.update(done, len(files), path.name)
            if result.returncode != 0:
                # Standard error only counts the warnings that were suppressed, unless there is nothing else.
                console.say((result.stdout.strip() or result.stderr).rstrip())
                failed += 1
    progress.finish(f"{len(files)} files, {failed} with findings")
    return 1 if failed else 0
