# SPDX-License-Identifier: Apache-2.0
"""(b) What a sample costs at 1 s, 100 ms and 10 ms: CPU time, and the memory of the whole set of processes.

CPU per sample is what the set took between two instants of one run, by the scheduler's own count, so that start-up and
end do not matter. The same as the difference of a long and of a short run by wait4, and by the tool's own words, stand
beside it.
"""

import statistics
import time

import table
from process import Failed, Running, memory_of
from section import Section

# Interval, seconds before the window, seconds of the window, seconds of the short run; rounds.
FULL = ((1, 2.4, 8, 4.0), (0.1, 1.5, 4, 2.0), (0.01, 1.5, 4, 2.0))
FULL_ROUNDS = 2
QUICK = ((1, 2.4, 3, None),)
AFTER_SECS = 0.4
KEEPS_UP = 0.75
START_TICKS = 2  # intervals before the first line of a tool that waits for a round second and then for a baseline
WHOLE_SECONDS = ("python-psutil",)  # left out below a second, where it does not keep up and tells nothing new
READINGS = 4
QUICK_TOOLS = ("ours", "rust", "python", "psrecord")


def cadence(samples):
    """Seconds from sample to sample; the last one, taken at the end, is not of the cadence."""
    times = [sample["time_secs"] for sample in samples[:-1]]
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 and times[-1] > times[0] else None


def run(tool, interval, before, window, place):
    """One run around `sleep`: what the window cost, the whole run, its samples and the memory."""
    output = place / f"{tool.name}-{time.monotonic_ns()}"
    command = ["sleep", f"{before + window + AFTER_SECS:g}"]
    with Running(tool.argv_wrap(command, interval, output), tool.environ()) as job:
        job.sleep_until(before)
        at_start = job.cpu_secs()
        job.sleep_until(before + window)
        spent = job.cpu_secs() - at_start
        readings = []
        for _ in range(READINGS):
            readings.append(memory_of(job.members(command)))
            time.sleep(AFTER_SECS / READINGS / 2)
        job.check()
        kind = job.group.kind
    samples = tool.read_samples(output)
    every = cadence(samples)
    if not every:
        raise Failed(f"{tool.name} wrote {len(samples)} samples at {interval} s")
    if (len(samples) + START_TICKS) * every < KEEPS_UP * (before + window):
        # Its lines carry the instants that it wished for: count the lines instead.
        every = (before + window + AFTER_SECS) / len(samples)
    own = [sample["tracker_cpu_secs"] for sample in samples[1:-1] if "tracker_cpu_secs" in sample]
    return {"cpu_secs": spent / (window / every), "share": spent / window, "whole_secs": job.usage,
            "samples": len(samples), "every_secs": every, "rss_mib": max(rss for rss, _ in readings),
            "pss_mib": max(pss for _, pss in readings), "own_secs": statistics.mean(own) if own else None, "kind": kind}


def short_secs(tool, interval, secs, place):
    """CPU seconds and samples of a short run, by wait4."""
    output = place / f"{tool.name}-{time.monotonic_ns()}"
    with Running(tool.argv_wrap(["sleep", f"{secs:g}"], interval, output), tool.environ()) as job:
        job.check()
    return job.usage, len(tool.read_samples(output))


def one_round(tool, plan, place):
    interval, before, window, short = plan
    figures = run(tool, interval, before, window, place)
    if short:
        usage, samples = short_secs(tool, interval, short, place)
        figures["rusage_secs"] = (figures["whole_secs"] - usage) / max(1, figures["samples"] - samples)
    return figures


def merge(rounds):
    """The middle of the rounds, key by key; memory at its highest."""
    result = {"kind": rounds[0]["kind"], "rounds": len(rounds)}
    for key in ("cpu_secs", "share", "every_secs", "own_secs", "rusage_secs"):
        values = [figures[key] for figures in rounds if figures.get(key) is not None]
        result[key] = statistics.median(values) if values else None
    for key in ("rss_mib", "pss_mib", "samples"):
        result[key] = max(figures[key] for figures in rounds)
    return result


def micro(secs):
    return None if secs is None else table.number(secs * 1e6)


def measure(context):
    section = Section("cost", "Cost of a sample, one tracked process",
                      ["interval (s)", "tool", "CPU per sample (us)", "by wait4 (us)", "by its own words (us)",
                       "share of a core (%)", "real interval (ms)", "RSS (MiB)", "PSS (MiB)"])
    tools = [tool for tool in context.trackers() if not context.quick or tool.name in QUICK_TOOLS]
    failed, kinds = {}, set()
    with context.folder("cost") as place:
        for plan in QUICK if context.quick else FULL:
            interval = plan[0]
            rounds = {tool.name: [] for tool in tools if tool.argv_wrap(["true"], interval, None)
                      and not (interval < 1 and tool.name in WHOLE_SECONDS)}
            for _ in range(1 if context.quick else FULL_ROUNDS):
                for tool in [tool for tool in tools if tool.name in rounds]:
                    try:
                        rounds[tool.name].append(one_round(tool, plan, place))
                    except (Failed, OSError, ValueError, KeyError) as reason:
                        failed[f"{tool.name} at {interval} s"] = str(reason)
            section.values[f"{interval:g}"] = {name: merge(found) for name, found in rounds.items() if found}
    for interval, tools_of in section.values.items():
        for name, figures in tools_of.items():
            kinds.add(figures["kind"])
            section.rows.append([interval, name, micro(figures["cpu_secs"]), micro(figures["rusage_secs"]),
                                 micro(figures["own_secs"]), table.number(figures["share"] * 100),
                                 table.number(figures["every_secs"] * 1e3), table.number(figures["rss_mib"]),
                                 table.number(figures["pss_mib"])])
    section.notes.append(f"CPU per sample: {', '.join(sorted(kinds))}, between two instants of one run; by wait4: "
                         "the difference of a long and of a short run (not in a quick bench).")
    section.notes.append("RSS: the sum of the peaks of the tool's processes; PSS: the highest of a few readings. "
                         "The command is not in them.")
    section.notes.append("The Rust tool takes whole seconds only; Python with psutil is measured at 1 s only.")
    section.notes += [f"{name}: {why}" for name, why in failed.items()]
    return section
