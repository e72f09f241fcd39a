# SPDX-License-Identifier: Apache-2.0
"""The budgets of the specification (its section 10) against what was measured: one row each, "no" where it is no.

Counts and accuracy are the same on every machine, however busy: where one of them is missed, the run fails.
"""

import table
from section import Section

CALLS, CALLS_PER_PROCESS = 20, 3
GROWTH_MIB = 0.1  # in the second half: code that is needed now and then is mapped then, 64 KiB at a time
OWN_GROWTH_MIB = 0.02
BARE_LOOP_FACTOR = 1.4
DRIFT_SECS = 0.01
OUTPUT_FACTOR = 3.5


def dig(done, section, *keys):
    """A value of a section, or None where it was not measured."""
    value = done[section].values if section in done else None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def wrapper(done):
    ours, bare = (dig(done, "wrapper", "true", name, "p50") for name in ("ours", "bare"))
    measured = ours / bare if ours and bare else None
    rows = [("`-q -- true` against bare `true`, medians", "<= 2.5 x", measured and f"{measured:.2f} x",
             measured and measured <= 2.5)]
    for state in ("idle", "busy disk"):
        for name in ("-o FILE", "--summary"):
            ours, bare = (dig(done, "wrapper", "outputs", state, which, "p50") for which in (name, "bare"))
            measured = ours / bare if ours and bare else None
            rows.append((f"`{name} -- true` against bare `true`, {state}", f"<= {OUTPUT_FACTOR} x",
                         measured and f"{measured:.2f} x", measured and measured <= OUTPUT_FACTOR))
    return rows


def counts(done):
    ours = dig(done, "calls", "ours") or {}
    rows = []
    calls, mounts = ours.get("calls_without_pss"), ours.get("mounts")
    limit = None if mounts is None else CALLS + mounts + CALLS_PER_PROCESS
    rows.append(("system calls per sample, T = 1 (readings of PSS on top)",
                 f"<= 20 + M + 3 T = {limit or '?'}", table.number(calls), limit and calls <= limit))
    for word, key, want in (("opens per sample", "opens_without_pss", 0), ("writes per sample", "writes", 1),
                            ("heap allocations per sample", "allocations", 0)):
        value = ours.get(key)
        # A process that is born elsewhere in between may make it look for children, which takes an open.
        rows.append((word, str(want), table.number(value), None if value is None else abs(value - want) < 0.2))
    return rows


def instructions(done):
    ours = dig(done, "calls", "ours") or {}
    value = ours.get("instructions")
    return [("user instructions per sample, T = 1", "<= 40,000",
             ours.get("reported") and value and f"{value:,.0f} ({ours['reported']})", value and value <= 40000)]


def cpu(done):
    second, fast = (dig(done, "cost", interval, "ours") or {} for interval in ("1", "0.01"))
    value, share = second.get("cpu_secs"), fast.get("share") or dig(done, "lateness", "idle 0.01", "ours", "share")
    bare = dig(done, "cost", "bare_loop", "cpu_secs")
    ratio = value / bare if value and bare else None
    rows = [("CPU per sample at 1 s against a bare loop of the same reads", f"<= {BARE_LOOP_FACTOR} x",
             ratio and f"{ratio:.2f} x ({value * 1e3:.3f} ms)", ratio and ratio <= BARE_LOOP_FACTOR)]
    few, many = (dig(done, "scaling", key, "ours") for key in ("100x10", "10000x10"))
    rows.append(("the same with 10,000 processes on the host, tree of 10", "<= 1.5 x that with 100",
                 few and many and f"{many / few:.2f} x ({many * 1e3:.3f} ms)", few and many and many <= 1.5 * few))
    trees = [dig(done, "scaling", f"{others}x1000", "ours") for others in (100, 1000, 10000)]
    worst = max(filter(None, trees), default=None)
    rows.append(("tree of 1,000", "<= 10 ms", worst and f"{worst * 1e3:.2f} ms", worst and worst <= 10e-3))
    rows.append(("10 ms interval: share of a core", "<= 3 %", share and f"{share * 100:.2f} %",
                 share and share <= 0.03))
    return rows


def own_account(done):
    """What it says of itself against what the scheduler charges to it; the two windows are not quite the same."""
    found = dig(done, "cost", "0.01", "ours") or dig(done, "cost", "1", "ours") or {}
    reported, charged = found.get("own_secs"), found.get("cpu_secs")
    ratio = reported / charged if reported and charged else None
    return [("its own account of its CPU time against the scheduler's", "0.8 to 1.25 x", ratio and f"{ratio:.2f} x",
             ratio and 0.8 <= ratio <= 1.25)]


def lateness(done):
    rows = []
    for word, key in (("idle", "idle 0.01"), ("busy", "busy 0.01")):
        ours = dig(done, "lateness", key, "ours") or {}
        # Not by its own words: a sample is never later than an interval where ticks are skipped.
        late, drift = ours.get("late_p99"), ours.get("drift_secs")
        missed = f", {ours['missed']} of {ours['ticks']} missed" if ours.get("missed") else ""
        rows.append((f"10 ms interval: late p99, {word}", "<= 10 ms",
                     None if late is None else f"{late * 1e3:.2f} ms{missed}", None if late is None else late <= 0.01))
        rows.append((f"10 ms interval: drift, {word}", "none",
                     None if drift is None else f"{drift * 1e3:.2f} ms in {ours['ticks']} ticks",
                     None if drift is None else abs(drift) <= DRIFT_SECS))
    return rows


def size(done):
    rss = dig(done, "cost", "1", "ours", "rss_mib")
    rows = [("resident memory, no GPU, not streaming", "<= 2.5 MiB", rss and f"{rss:.2f} MiB", rss and rss <= 2.5)]
    runs = done["memory"].values.items() if "memory" in done else ()
    for name, found in ((name, found) for name, found in runs if isinstance(found, dict)):
        rows.append((f"the same over {found['samples']:,} samples ({name})", "<= 2.5 MiB, flat",
                     f"{found['100']:.2f} MiB, growth {found['growth']:.2f}",
                     found["peak"] <= 2.5 and abs(found["growth"]) <= GROWTH_MIB
                     and abs(found["own_growth"]) <= OWN_GROWTH_MIB))
    value = dig(done, "startup", "ours", "stripped_bytes")
    rows.append(("program, stripped, all features", "<= 800 KiB", value and f"{value / 1024:.0f} KiB",
                 value and value <= 800 * 1024))
    return rows


def accuracy(done):
    found = dig(done, "accuracy_cpu", "worst", "ours") or {}
    pct = found.get("pct")
    rows = [("tree CPU against the kernel's total, worst job", "0.0 % (one tick)",
             None if pct is None else f"{pct:+.2f} % ({found['worst_secs'] * 1e3:+.1f} ms)",
             found.get("all_within_tick"))]
    found = dig(done, "accuracy_cpu", "worst_auto_reaped", "ours --cgroup") or {}
    if not found and dig(done, "accuracy_cpu", "truth") != "cgroup":
        return rows
    pct = found.get("pct")
    rows.append(("auto-reaped children with --cgroup", "0.0 % (one tick)",
                 None if pct is None else f"{pct:+.2f} % ({found['worst_secs'] * 1e3:+.1f} ms)",
                 found.get("all_within_tick")))
    return rows


def device_bytes(done):
    factor, pct = dig(done, "truth_disk", "worst_factor", "ours"), dig(done, "truth_io", "worst_pct", "ours")
    if any(row["cells"]["ours"] is None for row in dig(done, "truth_disk", "rows") or []):
        factor = None
    return [("bytes of a disk against what went through it, worst", "1.000 x", factor and f"{factor:.4f} x",
             factor and abs(factor - 1) < 0.001),
            ("bytes that a tree wrote, worst job", "0 %", None if pct is None else f"{pct:+.2f} %",
             None if pct is None else abs(pct) < 1)]


# The parts, and the sections whose figures must hold on every machine, however busy.
PARTS = ((wrapper, ()), (counts, ("calls",)), (instructions, ()), (cpu, ()), (own_account, ("cost",)), (lateness, ()),
         (size, ("cost", "startup")), (accuracy, ("accuracy_cpu",)), (device_bytes, ("truth_disk", "truth_io")))


def faults_of(done, sections, what, measured, holds):
    """A budget that is missed, or that a section which did measure has no figure of ours for."""
    if not sections:
        return []
    if measured is None:
        ran = all(name in done and done[name].values for name in sections)
        return [f"{what} (not measured)"] if ran else []
    return [what] if holds is not None and not holds else []


def evaluate(done):
    """All budgets; a line that was not measured says so."""
    section = Section("budgets", "Budgets", ["what", "budget", "measured", "holds"])
    faults = []
    for part, sections in PARTS:
        for what, budget, measured, holds in part(done):
            faults += faults_of(done, sections, what, measured, holds)
            word = "not measured" if measured is None or holds is None else "yes" if holds else "**no**"
            section.rows.append([what, budget, measured, word])
            section.values[what] = {"budget": budget, "measured": measured,
                                    "holds": None if holds is None else bool(holds)}
    section.values["faults"] = faults
    missed = [row[0] for row in section.rows if row[3] == "**no**"]
    section.notes.append(f"Not held in this run: {'; '.join(missed)}." if missed else "All that was measured holds.")
    section.notes.append("Times are of this run on this machine; its load at the start stands above. Instructions grow "
                         "with the CPUs, disks and interfaces that a sample reports.")
    return section
