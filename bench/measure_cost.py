# SPDX-License-Identifier: Apache-2.0
"""(b) What a sample costs at 1 s, 100 ms and 10 ms: CPU time, and the memory of the whole set of processes.

CPU per sample is what the set took between two instants of one run, by the scheduler's own count, so that start-up and
end do not matter. The same as the difference of a long and of a short run by wait4, and by the tool's own words, stand
beside it.
"""

import contextlib
import os
import pathlib
import re
import signal
import statistics
import time

import helper
import table
from process import PREFIX, Failed, Running, memory_of
from section import Section, clean_env

# Interval, seconds before the window, seconds of the window, seconds of the short run; rounds.
FULL = ((1, 2.4, 8, 4.0), (0.1, 1.5, 4, 2.0), (0.01, 1.5, 4, 2.0))
FULL_ROUNDS = 2
QUICK = ((1, 2.4, 3, None),)
AFTER_SECS = 0.4
KEEPS_UP = 0.75
START_TICKS = 2  # intervals before the first line of a tool that waits for a round second and then for a baseline
WHOLE_SECONDS = ("python-psutil",)  # left out below a second, where it does not keep up and shows nothing new
READINGS = 4
# What ours reads in every sample; what it keeps open for now and then is not among them.
EVERY_SAMPLE = re.compile(r"/proc/(stat|loadavg|meminfo|\d+/net/dev|diskstats|pressure/\w+|\d+/statm|"
                          r"\d+/task/\d+/children|\d+/stat)$|"
                          r"/cpuacct\.usage$|/cpu\.stat$|/memory\.(current|peak|events|usage_in_bytes|"
                          r"max_usage_in_bytes|oom_control)$")
QUICK_TOOLS = ("ours", "rust", "python", "psrecord")


def cadence(samples):
    """Seconds from sample to sample; the last one, taken at the end, is not of the cadence."""
    times = [sample["time_secs"] for sample in samples[:-1]]
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 and times[-1] > times[0] else None


def files_of(pids):
    """The files that a tool keeps open and reads in every sample."""
    links = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    links.add(os.readlink(entry))
    return sorted(link for link in links if EVERY_SAMPLE.search(link))


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
        files = files_of(job.members(command))
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
            "pss_mib": max(pss for _, pss in readings), "own_secs": statistics.mean(own) if own else None, "kind": kind,
            "files": files, "sample_bytes": os.path.getsize(output) // max(1, len(samples))}


def bare_loop(ours, plan, place):
    """The same for a loop that only reads what ours reads, and writes as much. The command it was about has ended, and
    its group is gone: the files of this process and of the group above are read instead."""
    interval, before, window, _ = plan
    program = helper.build("bare_loop", place)
    if not program:
        raise Failed("there is no C compiler for it")
    me = os.getpid()
    files = [re.sub(r"^/proc/\d+/(task/)?(\d+/)?", lambda found: f"/proc/{me}/" + (f"task/{me}/" if found[1] else ""),
                    re.sub(rf"/{PREFIX}[^/]*", "", name)) for name in ours["files"]]
    files = list(filter(os.path.exists, files))
    argv = [program, f"{interval * 1000:.0f}", str(ours["sample_bytes"]), place / "bare", "/", *files]
    with Running(argv, clean_env()) as job:
        job.sleep_until(before)
        at_start = job.cpu_secs()
        job.sleep_until(before + window)
        spent = job.cpu_secs() - at_start
        job.end(signal.SIGTERM)
        if job.status != -signal.SIGTERM:
            raise Failed(f"the bare loop ended with status {job.status}")
    return {"cpu_secs": spent / (window / interval), "files": len(files)}


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
    failed, kinds, loops = {}, set(), []
    with context.directory("cost") as place:
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
                if interval == 1 and rounds.get("ours"):
                    try:
                        loops.append(bare_loop(rounds["ours"][-1], plan, place))
                    except (Failed, OSError) as reason:
                        failed["bare loop"] = str(reason)
            section.values[f"{interval:g}"] = {name: merge(found) for name, found in rounds.items() if found}
    for interval, tools_of in list(section.values.items()):
        for name, figures in tools_of.items():
            kinds.add(figures["kind"])
            section.rows.append([interval, name, micro(figures["cpu_secs"]), micro(figures["rusage_secs"]),
                                 micro(figures["own_secs"]), table.number(figures["share"] * 100),
                                 table.number(figures["every_secs"] * 1e3), table.number(figures["rss_mib"]),
                                 table.number(figures["pss_mib"])])
    section.notes.append(f"CPU per sample: {', '.join(sorted(kinds))}, between two instants of one run; by wait4: "
                         "the difference of a long and of a short run (not in a quick bench).")
    if loops:
        secs, count = statistics.median(loop["cpu_secs"] for loop in loops), loops[0]["files"]
        section.notes.append(f"A bare loop that reads the same {count} files, asks for the space of / and writes as "
                             f"many bytes, understanding nothing, takes {micro(secs)} us at 1 s.")
        section.values["bare_loop"] = {"cpu_secs": secs, "files": count}
    section.notes.append("RSS: the sum of the peaks of the tool's processes; PSS: the highest of a few readings. "
                         "The command is not in them.")
    section.notes.append("The Rust tool takes whole seconds only; Python with psutil is measured at 1 s only.")
    section.notes += [f"{name}: {why}" for name, why in failed.items()]
    return section
