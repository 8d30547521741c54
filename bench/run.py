#!/usr/bin/env python3
"""./dev bench: measures Caudal and, with --peers, what others do on the same machine in the same sitting. See README.md."""
import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import machine
import peers
import rows

sys.path.append(str(peers.SCRIPTS))
import common  # what the peers' scripts share

ROOT = pathlib.Path(__file__).resolve().parents[1]
CASE_TIME_LIMIT = 300  # seconds for one case of ours
TIMED_FROM_OUTSIDE = {"start/process", "start/first_inference"}


def say(text=""):
    """Standard output belongs to the table or the rows."""
    print(text, file=sys.stderr, flush=True)


class Bench:
    def __init__(self, options, goals, folder):
        self.options, self.goals, self.folder = options, goals, folder
        self.program, self.caudal = options.build / "bench" / "caudal_bench", options.build / "caudal"
        self.log = options.build / "bench" / "bench.log"
        self.quick = ["--quick"] if options.quick else []
        self.ours = {}    # (case, beside a busy process) -> Figure or None
        self.theirs = {}  # case -> {peer: Figure}

    # ------------------------------------------------------------------ ours
    def own_measures(self):
        """(case, busy) for everything of ours that the rows need, each once."""
        needed = []
        for goal in self.goals:
            if "geometric_mean_of" in goal:
                continue
            needed += [(case, False) for case in goal.get("own", {}).values()]
            needed.append((measure_of(goal), goal.get("busy", False)))
        return list(dict.fromkeys(needed))

    def measure_ours(self):
        measures = self.own_measures()
        for number, (case, busy) in enumerate(measures, 1):
            start = time.monotonic()
            figure = self.measure_beside_busy(case) if busy else self.measure_one(case)
            self.ours[case, busy] = figure
            text = f"{figure.median:,.4g} ({figure.spread:.0%})" if figure else "failed"
            say(f"  [{number}/{len(measures)}] {case}{' beside a busy process' if busy else ''}: {text}, "
                f"{time.monotonic() - start:.0f} s")

    def measure_beside_busy(self, case):
        with machine.BusyNeighbour():
            return self.measure_one(case)

    def measure_one(self, case):
        if case == "start/process":
            return self.time_process([str(self.caudal), "--version"], 5, 10)
        if case == "start/first_inference":
            return self.time_process([str(self.program), "--first-inference"], 5, 3)
        command = [str(self.program), "--dir", self.folder, *self.quick, case]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=CASE_TIME_LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            say(f"  {case}: {error}")
            return None
        if result.returncode != 0:
            say(f"  {case}: {result.stderr.strip()[-600:] or f'ended with {result.returncode}'}")
            return None
        return rows.Figure(json.loads(result.stdout)["values"])

    def time_process(self, command, repeats, runs, environment=None):
        """Milliseconds from start to end, a mean over `runs` for each window; none if it fails."""
        def run():
            subprocess.run(command, stdout=log, stderr=log, env=environment, check=True)

        def window():
            return common.seconds_of(lambda: [run() for _ in range(runs)]) * 1000 / runs

        with open(self.log, "a", encoding="utf-8") as log:
            try:
                run()  # fills the file cache
                return rows.Figure(common.quietest(window, common.Settings(self.options.quick), repeats))
            except (OSError, subprocess.CalledProcessError) as error:
                say(f"  {error}; log: {self.log}")
                return None

    # ---------------------------------------------------------------- theirs
    def measure_theirs(self, groups):
        for group in groups:
            try:
                python = peers.python_of(group, say)
            except peers.Unavailable as error:
                say(f"  no peers of the group {group}: {error}")
                continue
            say(f"Peers: {peers.versions(python)}")
            for peer in peers.of_groups([group]):
                self.measure_peer(peer, python)

    def cases_for(self, peer):
        cases = []
        for goal in self.goals:
            case = measure_of(goal)
            wanted = peer.name in goal.get("peers", [peer.name])
            if wanted and "geometric_mean_of" not in goal and peers.supports(peer, case):
                cases.append(case)
        return list(dict.fromkeys(cases))

    def measure_peer(self, peer, python):
        cases = self.cases_for(peer)
        if not cases:
            return
        try:
            command = peers.command_of(peer, python, self.folder)
        except peers.Unavailable as error:
            say(f"  {peer.name}: {error}")
            return
        inside = [case for case in cases if case not in TIMED_FROM_OUTSIDE]
        for threads in sorted({1, machine.cores()}) if peer.threads else [machine.cores()]:
            if not inside:
                break
            start, load = time.monotonic(), machine.ForeignLoad()
            arguments = ["--dir", self.folder, *self.quick]
            for case, values, error in peers.run(peer, command, threads, inside, arguments, self.log):
                if error:
                    say(f"  {peer.name}: {case}: {error}")
                else:
                    self.keep_better(case, peer.name, rows.Figure(values))
            say(f"  {peer.name} with {threads} thread{'s' if threads > 1 else ''}: {len(inside)} cases, "
                f"{time.monotonic() - start:.0f} s, others used {load.processors():.1f} processors")
        self.time_peer_starts(peer, python, command, cases)

    def time_peer_starts(self, peer, python, command, cases):
        environment = peers.environment(machine.cores())
        commands = {"start/process": [str(python), "-c", f"import {peer.module}"],
                    "start/first_inference": [*command, "--threads", str(machine.cores()), "--first-inference"]}
        for case in sorted(TIMED_FROM_OUTSIDE.intersection(cases)):
            figure = self.time_process(commands[case], 3, 1, environment)
            if figure:
                self.keep_better(case, peer.name, figure)

    def keep_better(self, case, name, figure):
        """Peers count with their better number of threads."""
        found = self.theirs.setdefault(case, {})
        lower = any(goal.get("better") == "lower" for goal in self.goals if measure_of(goal) == case)
        if name not in found or (figure.median < found[name].median) == lower:
            found[name] = figure

    # ------------------------------------------------------------------ rows
    def table(self):
        made = {}
        for goal in self.goals:
            if "geometric_mean_of" in goal:
                parts = [made[case] for case in goal["geometric_mean_of"] if case in made]
                made[goal["case"]] = rows.geometric_mean_row(goal, parts)
            else:
                ours = self.ours.get((measure_of(goal), goal.get("busy", False)))
                made[goal["case"]] = rows.Row(goal, ours, self.peers_of(goal))
        return list(made.values())

    def peers_of(self, goal):
        found = self.theirs.get(measure_of(goal), {})
        wanted = goal.get("peers", list(found))
        figures = {name: figure for name, figure in found.items() if name in wanted}
        for name, case in goal.get("own", {}).items():
            if self.ours.get((case, False)):
                figures[name] = self.ours[case, False]
        if "limit" in goal:
            figures["limit"] = rows.Figure([goal["limit"]])
        return figures


def measure_of(goal):
    return goal.get("measure", goal["case"])


def select(goals, pattern):
    """Rows whose name contains the pattern or fits it; a mean needs its parts."""
    if not pattern:
        return goals
    chosen = {goal["case"] for goal in goals if pattern in goal["case"] or fnmatch.fnmatch(goal["case"], pattern)}
    for goal in goals:
        if goal["case"] in chosen:
            chosen.update(goal.get("geometric_mean_of", []))
    return [goal for goal in goals if goal["case"] in chosen]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="dev bench", description="Measures Caudal and, with --peers, others beside it.")
    parser.add_argument("--peers", nargs="?", const="default,rl", metavar="GROUPS",
                        help="install peers and measure them too; groups: default (TensorFlow, JAX, tensorboardX), rl (ALE, "
                             "EnvPool, Gymnasium), torch; without names the first two")
    parser.add_argument("--only", default="", metavar="PATTERN", help="rows whose name contains this or fits it: train/, io/check*")
    parser.add_argument("--quick", action="store_true", help="short windows: shows the path, not the truth")
    parser.add_argument("--json", action="store_true", help="a JSON line per row on standard output")
    parser.add_argument("--list", action="store_true", help="name the rows and their goals")
    parser.add_argument("--dir", type=pathlib.Path, help="where to put files while measuring; default: the build folder")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="build folder with caudal_bench")
    options = parser.parse_args(arguments)
    options.groups = options.peers.split(",") if options.peers else []
    unknown = set(options.groups) - set(peers.REQUIREMENTS)
    if unknown:
        parser.error(f"no group of peers {', '.join(sorted(unknown))}; there are: {', '.join(peers.REQUIREMENTS)}")
    return options


def print_machine():
    load = machine.ForeignLoad()
    time.sleep(1)
    say(f"Processor: {machine.cpu_name()} ({' '.join(machine.cpu_extensions())}), {machine.cores()} cores; load "
        f"{os.getloadavg()[0]:.1f}, others use {load.processors():.1f} processors")


def main(arguments):
    options = parse(arguments)
    goals = select(rows.load_goals(), options.only)
    if not goals:
        say(f"bench: no row fits '{options.only}'; --list names them")
        return 2
    if options.list:
        for goal in goals:
            print(f"{goal['case']:<32} {goal['metric']:<14} goal {goal['goal']:g}x")
        return 0
    if not (options.build / "bench" / "caudal_bench").exists():
        say("bench: caudal_bench is not built; ./dev bench does that")
        return 2
    print_machine()
    load = machine.ForeignLoad()
    place = options.dir or options.build / "bench"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="files-", dir=place) as folder:
        bench, interrupted = Bench(options, goals, folder), False
        try:
            bench.measure_ours()
            bench.measure_theirs(options.groups)
        except KeyboardInterrupt:  # what is known already is not lost
            interrupted = True
        table = bench.table()
    if options.json:
        for row in table:
            print(row.to_json())
    else:
        print("\n".join(["", rows.header(), *map(rows.line, table)]))
    say(f"\nAll the while others used {load.processors():.1f} processors; ours and min .. max: windows of one case. "
        "A row that spreads by more than 10% gets no verdict.")
    if interrupted:
        return 130
    return 1 if any(row.verdict == rows.FAILED for row in table) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
