# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side, column by column, each against what the kernel said at its own instants.

Rows are paired by the time at which they came. Amounts of an interval are compared as totals from the first pair to the
last, per second of that time, so that neither a few milliseconds between the tools nor a longer interval of one of them
looks like a difference; levels are compared as means over the pairs. A difference that is smaller than the floor of its
column is none: FLOORS says what the floor is and why.
"""

import dataclasses
import statistics
from typing import Callable, Optional

import parity_formulas
from parity_kernel import TICKS_PER_SEC

LIMIT_PCT = 5.0
PAIR_SECS = 0.5
APART_SECS = 0.1
TICK_SECS = 1 / TICKS_PER_SEC
SEGMENT_BYTES = 65536
PAGE_BYTES = 4096

WITHIN, FLOOR, DESIGN, FAILS = "within 5 %", "below the floor", "by design, proven", "FAILS"


@dataclasses.dataclass
class Run:
    """What one tool wrote: the values of each row by column, and the kernel's counters when it came."""

    name: str
    version: str
    raw_header: list = dataclasses.field(default_factory=list)
    header: list = dataclasses.field(default_factory=list)  # without the prefixes
    rows: list = dataclasses.field(default_factory=list)
    snaps: list = dataclasses.field(default_factory=list)
    why_ended: Optional[str] = None  # where it did so before its time


@dataclasses.dataclass(frozen=True)
class Floor:
    """The smallest difference of a mean that means anything: amount(scale) in the unit of the column, and why."""

    amount: Callable
    why: str
    is_exact: bool = False  # five percent of it would be nonsense


@dataclasses.dataclass(frozen=True)
class Scale:
    """What the floors depend on."""

    secs: float
    cpus: int
    members: int
    request_bytes: int


@dataclasses.dataclass
class Result:
    """One column of one comparison. The kernel's values are by our formula and by theirs, each at its own instants."""

    column: str
    ours: Optional[float]
    theirs: Optional[float]
    kernel: Optional[float]
    their_kernel: Optional[float]
    mad: Optional[float]
    deviation_pct: Optional[float]
    floor: float
    verdict: str
    reason: str


CPU_FLOOR = Floor(lambda scale: 2 * scale.cpus * TICK_SECS / scale.secs,
                  "one tick of each CPU at either end of the window")
MEMORY_FLOOR = Floor(lambda _scale: 2.5,
                     "2.5 MiB: whole MiB, rounded by one tool, cut off by another, cached in two parts")
DISK_FLOOR = Floor(lambda scale: 2 * scale.request_bytes / scale.secs,
                   "the largest request of a disk (max_sectors_kb) at either end of the window")
SPACE_FLOOR = Floor(lambda _scale: 0.01, "0.01 GB: two decimals in Python")
NET_FLOOR = Floor(lambda scale: 2 * SEGMENT_BYTES / scale.secs, "a segment of 64 KiB at either end of the window")
TREE_CPU_FLOOR = Floor(lambda scale: 2 * scale.members * TICK_SECS / scale.secs,
                       "one tick of each process at either end of the window")
TREE_IO_FLOOR = Floor(lambda scale: 2 * PAGE_BYTES / scale.secs, "one page at either end of the window")
NONE_FLOOR = Floor(lambda _scale: 0.0, "none")

FLOORS = {
    "timestamp": Floor(lambda _scale: 1 + PAIR_SECS, "1.5 s: whole seconds, rows paired within half of one; no percent",
                       is_exact=True),
    "processes": Floor(lambda _scale: 1.0, "one process"),
    "utime": CPU_FLOOR, "stime": CPU_FLOOR, "cpu_usage": CPU_FLOOR,
    "memory_free_mib": MEMORY_FLOOR, "memory_used_mib": MEMORY_FLOOR, "memory_buffers_mib": MEMORY_FLOOR,
    "memory_cached_mib": MEMORY_FLOOR, "memory_active_mib": MEMORY_FLOOR, "memory_inactive_mib": MEMORY_FLOOR,
    "disk_read_bytes": DISK_FLOOR, "disk_write_bytes": DISK_FLOOR,
    "disk_space_total_gb": SPACE_FLOOR, "disk_space_used_gb": SPACE_FLOOR, "disk_space_free_gb": SPACE_FLOOR,
    "net_recv_bytes": NET_FLOOR, "net_sent_bytes": NET_FLOOR,
    "gpu_usage": NONE_FLOOR, "gpu_vram_mib": NONE_FLOOR, "gpu_utilized": NONE_FLOOR,
    "process_pid": Floor(lambda _scale: 0.0, "none; no percent", is_exact=True),
    "process_children": Floor(lambda scale: 2 / scale.secs, "one process at either end of the window"),
    "process_utime": TREE_CPU_FLOOR, "process_stime": TREE_CPU_FLOOR, "process_cpu_usage": TREE_CPU_FLOOR,
    "process_memory_mib": Floor(lambda _scale: 1.5, "1.5 MiB: whole MiB, rounded by one tool, cut off by another"),
    "process_disk_read_bytes": TREE_IO_FLOOR, "process_disk_write_bytes": TREE_IO_FLOOR,
    "process_gpu_usage": NONE_FLOOR, "process_gpu_vram_mib": NONE_FLOOR, "process_gpu_utilized": NONE_FLOOR,
    "steal_time": CPU_FLOOR,
}


AMOUNTS = {column for column in FLOORS if column.endswith(("time", "bytes"))}
SHARES = {column for column in FLOORS if column.endswith("cpu_usage")}


def pair(ours, theirs):
    """Indexes of rows that belong together; the first row of each has no kernel counters before it."""
    pairs, taken = [], set()
    for i in range(1, len(ours.rows)):
        near = sorted((abs(theirs.snaps[j].at - ours.snaps[i].at), j) for j in range(1, len(theirs.rows)))
        if near and near[0][0] < PAIR_SECS and near[0][1] not in taken:
            taken.add(near[0][1])
            pairs.append((i, near[0][1]))
    return pairs


def mean(values):
    """The mean of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def is_near(value, other, floor, is_exact):
    if value is None or other is None:
        return value is other
    return abs(value - other) <= max(floor, 0 if is_exact else LIMIT_PCT / 100 * abs(other))


def span_secs(run, places):
    return run.snaps[places[-1]].at - run.snaps[places[0]].at


def fold(column, values, run, places):
    """One figure for the values of all rows: per second for an amount, by time for a share, else over the pairs."""
    if column not in AMOUNTS and column not in SHARES:
        return mean([values[place] for place in places])
    between = [place for place in range(places[0] + 1, places[-1] + 1) if values[place] is not None]
    if not between:
        return None
    weights = {place: 1 if column in AMOUNTS else run.snaps[place].at - run.snaps[place - 1].at for place in between}
    return sum(values[place] * weights[place] for place in between) / span_secs(run, places)


def fold_kernel(column, formula, run, facts, places):
    """The same for what a formula gives; is there such a source at all?"""
    values = formula(run.snaps, facts)
    return (True, fold(column, [None, *values], run, places)) if values is not None else (False, None)


def classify(result, is_known, is_their_known, peer, apart_secs):
    """The verdict and, where there is one, the reason. Rows that come far apart may both be right and yet differ."""
    floor = FLOORS[result.column]

    def near(value, other):
        return is_near(value, other, result.floor, floor.is_exact)

    if is_known and not near(result.ours, result.kernel):
        return FAILS, "ours is not what the kernel says"
    if near(result.ours, result.theirs):
        share = result.deviation_pct
        return (WITHIN if share is not None and abs(share) <= LIMIT_PCT else FLOOR), ""
    known = parity_formulas.PEERS[peer].get(result.column)
    if not known and apart_secs < APART_SECS:
        return FAILS, "no reason is known"
    reason = known[1] if known else f"the same formula at other moments: rows come {apart_secs * 1e3:.0f} ms apart"
    if not (is_known and is_their_known and near(result.theirs, result.their_kernel)):
        return FAILS, "the known reason does not give their value: " + reason
    return DESIGN, reason


def percent(ours, theirs):
    if ours == theirs:
        return 0.0
    return 100 * (ours - theirs) / abs(theirs) if ours is not None and theirs else None


def compare_column(column, ours, theirs, pairs, facts):
    left, right = ([row.get(column) for row in run.rows] for run in (ours, theirs))
    both = [(left[i], right[j]) for i, j in pairs if left[i] is not None and right[j] is not None]
    mine, others = ([pair[side] for pair in pairs] for side in (0, 1))
    scale = Scale(span_secs(ours, mine), ours.snaps[-1].cpus, max(len(snap.tree) for snap in ours.snaps),
                  facts.request_bytes)
    formula = parity_formulas.OURS[column]
    their_formula = parity_formulas.PEERS[theirs.name].get(column, (formula,))[0]
    is_known, kernel = fold_kernel(column, formula, ours, facts, mine)
    is_their_known, their_kernel = fold_kernel(column, their_formula, theirs, facts, others)
    value, other = fold(column, left, ours, mine), fold(column, right, theirs, others)
    result = Result(column, value, other, kernel, their_kernel, mean([abs(a - b) for a, b in both]),
                    percent(value, other), FLOORS[column].amount(scale), "", "")
    apart_secs = mean([abs(ours.snaps[i].at - theirs.snaps[j].at) for i, j in pairs])
    result.verdict, result.reason = classify(result, is_known, is_their_known, theirs.name, apart_secs)
    return result


def compare(ours, theirs, facts):
    """The results for every column that both should have, in our order, and the pairs they rest on."""
    pairs = pair(ours, theirs)
    if len(pairs) < 2:
        return [], pairs
    # Who knows the tree at all must have all of its columns, and the one behind them.
    of_host = [column for column in ours.header if not column.startswith("process_") and column != "steal_time"]
    expected = ours.header if "process_pid" in theirs.header else of_host
    return [compare_column(column, ours, theirs, pairs, facts) if column in theirs.header else
            Result(column, None, None, None, None, None, None, 0.0, FAILS, "it has no such column")
            for column in expected], pairs
