#!/usr/bin/env python3
"""No source takes more than 20 s of processor time or 1 GB to compile: check_compile_costs.py COSTS.tsv (of a release build).

Sources that came out of a compiler cache from elsewhere have no measure and are named in the count only."""
import pathlib
import sys

from devlib import building, sources

SECONDS, MEGABYTES = 20, 1024


def main():
    file = pathlib.Path(sys.argv[1])
    costs = building.read_costs(file) if file.exists() else []
    bad = [cost for cost in costs if cost[1] > SECONDS or cost[2] > MEGABYTES]
    for source, seconds, megabytes in bad:
        print(f"{source}: {seconds:.1f} s and {megabytes} MB; the limits are {SECONDS} s and {MEGABYTES} MB")
    print(f"{len(costs)} of {len(sources.files_ending(('.cc',), 'caudal'))} sources measured")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
