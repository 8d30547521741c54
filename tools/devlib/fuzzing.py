"""./dev fuzz: builds the fuzz targets (x_fuzz.cc beside the code) with clang's libFuzzer and runs each for some seconds."""
import argparse

from devlib import building, console, suites
from devlib.paths import ROOT, build_folder
from devlib.sources import files_ending

PRESET = "fuzz"


def targets():
    """Names of the fuzz targets: bundle for caudal/formats/bundle_fuzz.cc."""
    return sorted(path.stem.removesuffix("_fuzz") for path in files_ending((".cc",), "caudal") if path.stem.endswith("_fuzz"))


def build():
    if targets():
        building.build(PRESET, "fuzz_targets")


def suite(name, seconds):
    """A suite that fuzzes one target. Inputs that reach new code collect in build/fuzz/corpus, crashes in build/fuzz/crashes."""
    work = build_folder(PRESET)
    found, crashes, seeds = work / "corpus" / name, work / "crashes", ROOT / "testdata" / "corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(exist_ok=True)
    options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=1024",
               f"-artifact_prefix={crashes}/{name}-", "-print_final_stats=1"]
    command = [str(work / "fuzz" / f"{name}_fuzz"), *options, str(found)]
    if seeds.is_dir():
        command.append(str(seeds))
    return suites.Suite(f"fuzz/{name}", command, is_check=True, time_limit=seconds + 120)


def main(arguments):
    parser = argparse.ArgumentParser(prog="dev fuzz", description="Fuzz the readers of formats.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="targets; all where none is named")
    parser.add_argument("--seconds", type=int, default=30, help="for each target (default 30)")
    options = parser.parse_args(arguments)
    known = targets()
    unknown = [name for name in options.names if name not in known]
    if unknown or not known:
        parser.error(f"no fuzz target {' '.join(unknown)}; there are: {' '.join(known) or 'none'}")
    build()
    failed = 0
    for name in options.names or known:
        console.say(f"  fuzzing {name} for {options.seconds} s")
        result = suites.run(suite(name, options.seconds), ROOT / "build" / "test-logs")
        suites.show(result)
        failed += len(result.failed)
    return 1 if failed else 0
