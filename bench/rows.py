"""The rows of the table: goals, ratios, verdicts; how they are printed."""
import dataclasses
import json
import math
import pathlib
import statistics

QUIET_SPREAD = 0.10
REACHED, SHORT, NOISY, NO_PEER, FAILED = "reached", "short", "noisy", "no peer", "failed"


def load_goals():
    return json.loads((pathlib.Path(__file__).parent / "goals.json").read_text(encoding="utf-8"))["rows"]


@dataclasses.dataclass
class Figure:
    """What was measured: a value per window."""
    values: list

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def spread(self):
        return (max(self.values) - min(self.values)) / self.median


class Row:
    """One line of the table. `ours` is a Figure or none; `peers` are Figures by name."""

    def __init__(self, goal, ours, peers, without_value=FAILED):
        self.case, self.metric, self.unit, self.goal = goal["case"], goal["metric"], goal["unit"], goal["goal"]
        self.lower = goal.get("better") == "lower"
        self.ours, self.peers = ours, peers
        self.without_value = without_value  # the verdict where there is no figure of ours

    @property
    def best(self):
        """Name of the best peer; none if there is none."""
        pick = min if self.lower else max
        return pick(self.peers, key=lambda name: self.peers[name].median) if self.peers else None

    @property
    def raw_ratio(self):
        """Above 1: better than the best peer."""
        if self.ours is None or not self.peers:
            return None
        theirs = self.peers[self.best].median
        return theirs / self.ours.median if self.lower else self.ours.median / theirs

    @property
    def spread(self):
        figures = [figure for figure in (self.ours, self.peers.get(self.best)) if figure]
        return max((figure.spread for figure in figures), default=0.0)

    @property
    def verdict(self):
        if self.ours is None:
            return self.without_value
        if not self.peers:
            return NO_PEER
        if self.spread > QUIET_SPREAD:
            return NOISY
        return REACHED if self.raw_ratio >= self.goal else SHORT

    @property
    def ratio(self):
        """The ratio, but none where there is no verdict."""
        return self.raw_ratio if self.verdict in (REACHED, SHORT) else None

    def to_json(self):
        return json.dumps({
            "case": self.case, "metric": self.metric, "unit": self.unit, "caudal": _rounded(self.ours and self.ours.median),
            "peers": {name: _rounded(figure.median) for name, figure in sorted(self.peers.items())},
            "ratio": _rounded(self.ratio), "goal": self.goal})


def geometric_mean_row(goal, rows):
    """The mean of the ratios of other rows; without a value unless all of them have one."""
    verdicts = [row.verdict for row in rows]
    for missing in (FAILED, NO_PEER, NOISY):
        if missing in verdicts or not rows:
            return Row(goal, None, {}, missing)
    mean = math.exp(statistics.fmean(math.log(row.ratio) for row in rows))
    return Row(goal, Figure([mean]), {"best peers": Figure([1.0])})


def _rounded(value):
    return None if value is None else float(f"{value:.4g}")


def _number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


_COLUMNS = "{:<28} {:>10} {:<6} {:>21} {:>10} {:<13} {:>7} {:>6}  {}"


def header():
    return _COLUMNS.format("case", "ours", "unit", "min .. max", "best peer", "", "ratio", "goal", "verdict")


def line(row):
    ours, best = row.ours, row.best
    ends = f"{_number(min(ours.values))} .. {_number(max(ours.values))}" if ours else ""
    noisy = row.verdict == NOISY
    verdict = f"noisy ({row.spread:.0%})" if noisy and ours else row.verdict
    ratio = "noisy" if noisy else _number(row.ratio)
    return _COLUMNS.format(row.case, _number(ours and ours.median), row.unit, ends,
                           _number(row.peers[best].median) if best else "-", f"({best})" if best else "", ratio,
                           f"{row.goal:g}", verdict).rstrip()
