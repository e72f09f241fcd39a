#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTML report in a real browser: what it shows, how it is used, and that nothing leaves the page; and the picture.

The recordings are made here; tests/peers/report.js opens the report they give and prints what it found.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, diag, equal, expect, test
from tracker import BINARY, SLOW, clean_env, directory

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "build-tools" / "peers"
SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "peers" / "report.js"
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"
BROWSER_SECS = 90
DAY_SECS = 86400
# The budget is 1 s on an idle machine; a loaded one gets some of the patience that other tests have.
OPEN_MS_MAX = 3000
PAGE_BYTES_MAX = 1_500_000
NODE_LEAST = 20
RSS_KIB_MAX = 30 * 1024
# Runs its arguments and prints their ru_maxrss last. A program takes over the peak of its parent, so this is small.
MEASURE = """import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))"""
# What a script shows by mistake where a value is missing.
NO_VALUE = re.compile(r"\b(NaN|Infinity|undefined|null|false|true)\b")
JARGON = re.compile(r"\btree\b|CPU some|memory full|I/O full")
CHARTS = ["CPU", "Memory", "Disk", "Network", "Waiting on the host", "CPUs of the host"]


def missing(words):
    """In CI a report that was never opened is no pass."""
    expect(os.environ.get("CI") != "true", words)
    raise Skip(words)


def need_browser():
    """The path of Chromium. In CI only a machine without npm, or without a way to its packages, may do without."""
    node = shutil.which("node")
    if not node or not (PEERS / "node_modules").is_dir():
        raise Skip("there is no node, or npm could not fetch anything (tools/setup check)")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    if int(version.strip().lstrip("v").split(".")[0]) < NODE_LEAST:
        raise Skip(f"node {version.strip()} is too old")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser:
        missing("Chromium is not installed")
    if not (PEERS / "node_modules" / "playwright-core").is_dir():
        missing("playwright-core was not fetched (tools/setup check, with npm)")
    return browser


def sample(second, cores=2, **changes):
    """One recorded sample with something in every chart but those of GPUs."""
    busy = 1.5 + (second % 7) / 10
    whole = {
        "timestamp_secs": 1767225600 + second,
        "timestamp_ms": (1767225600 + second) * 1000,
        "elapsed_secs": float(second),
        "actual_interval_ms": 1000.0,
        "job_name": "nightly build",
        "tracked_pid": 4242,
        "cpu": {
            "utilization_pct": busy + 0.25,
            "per_core_pct": [90.0 if core == 0 else 10.0 for core in range(cores)],
            "process_cores_used": busy,
            "process_child_count": 1,
            "process_thread_count": 3,
            "process_utime_secs": busy * 0.75,
            "process_stime_secs": busy * 0.25,
            "process_rss_mib": 100.0 + second % 50,
            "process_pss_mib": 90.0 + second % 50,
            "process_peak_rss_mib": 80.0,
            "process_disk_read_bytes": 1000000,
            "process_disk_write_bytes": 2000 * (second % 3),
        },
        "memory": {"total_mib": 8192.0, "used_mib": 700.0, "swap_used_mib": 0.0},
        "network": [{"interface": "eth0", "rx_bytes_per_sec": 5000.0, "tx_bytes_per_sec": 100.0, "rx_bytes": 5000,
                     "tx_bytes": 100, "virtual": False}],
        "disk": [{"device": "sda", "read_bytes_per_sec": 1500000.0, "write_bytes_per_sec": 0.0, "read_bytes": 1500000,
                  "write_bytes": 0, "stacked": False}],
        "gpu": [],
        "pressure": {"cpu_some_secs": 0.05, "memory_some_secs": 0.0, "memory_full_secs": 0.0, "io_some_secs": 0.01,
                     "io_full_secs": 0.005},
        "cgroup": {"cpu_limit_cores": 2.0, "throttled_secs": 0.0, "memory_limit_mib": 512.0, "memory_used_mib": 160.0,
                   "memory_peak_mib": 170.0, "oom_kills": 0},
        "tracker": {"cpu_secs": 0.0002, "rss_mib": 1.9, "late_ms": 0.1, "missed_samples": 0},
        "resource-tracker-version": "0.0.0-test",
    }
    whole.update(changes)
    return whole


def recording(count, job="nightly build", command=("make", "-j2", "all")):
    """Samples of a whole run, with what only the first and the last one have."""
    samples = [sample(second, job_name=job) for second in range(1, count + 1)]
    samples[0]["run"] = {"interval_secs": 1.0, "hostname": "builder", "kernel": "6.1.0", "cpus_allowed": 2,
                         "command": list(command)}
    samples[-1]["end"] = {"exit_code": 0, "signal": None, "oom_kills": 0, "host_oom_kills": 0,
                          "gpu_energy_joules": None, "cpu_is_lower_bound": False, "left_running": 0}
    samples[49 % count]["processes"] = [{"pid": 4242, "name": job[:15], "rss_mib": 99.5, "cpu_secs": 3.25}]
    return samples


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)


def convert(place, source, *words):
    """What the tracker makes of a recording: its messages and its ru_maxrss in KiB. Memory that is only reserved must
    not be filled for a test of something else."""
    done = subprocess.run([sys.executable, "-SIc", MEASURE, BINARY, "--from", str(source), *map(str, words)],
                          env=clean_env(MALLOC_PERTURB_="0"), cwd=place, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    equal(done.returncode, 0, f"exit status ({done.stderr.strip()})")
    return done.stderr, int(done.stdout.split()[-1])


def make_report(place, lines):
    """The path of the report of recorded lines, how long it took and the memory it took in KiB."""
    source, page = place / "run.jsonl", place / "report.html"
    write_lines(source, lines)
    before = time.monotonic()
    _, rss_kib = convert(place, source, "--report", page)
    return page, time.monotonic() - before, rss_kib


def data_of(page):
    return json.loads(page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])


def lines_of(data):
    """All lines of all charts by name; of several with one name the first."""
    lines = {}
    for chart in data["charts"]:
        for line in chart["lines"]:
            lines.setdefault(line["name"], line)
    return lines


def open_page(page, width=1280, scheme="light", mode=""):
    """What report.js says of the page."""
    browser = need_browser()
    words = ["node", SCRIPT, browser, page, str(width), scheme, *([mode] if mode else [])]
    done = subprocess.run(words, env=clean_env(NODE_PATH=str(PEERS / "node_modules")), capture_output=True, text=True,
                          timeout=BROWSER_SECS, check=False)
    expect(done.returncode == 0, "the browser failed:", done.stderr)
    return json.loads(done.stdout)


def contrast(one, other):
    """Of two colours as WCAG 2.1 computes it; rgb(1, 2, 3)."""
    lights = []
    for colour in (one, other):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        lights.append(0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
    return max(lights) / min(lights)


def browse(page, width=1280, scheme="light", touch=False):
    """The same, after what must hold of every report."""
    found = open_page(page, width, scheme, "touch" if touch else "")
    equal(found["console"], [], "messages of the page")
    equal(found["dialogs"], [], "dialogs")
    expect(found["isOwnFileOnly"], "it asked for", found["requests"])
    equal(found["wide"], 0, "pixels to scroll sideways")
    equal(found["elements"], [0, 0, 0, 0, 0], "images, frames, foreign styles and scripts, inline handlers")
    equal(found["scripts"], 2, "scripts")
    equal(found["wrapped"], [], "units that do not stand beside their number")
    expect(not NO_VALUE.search(found["text"]), "a value that is none is shown:", found["text"])
    equal(found["scopeless"], 0, "heads of tables without a scope")
    expect(not JARGON.search(found["text"]), "a word of the kernel or of ours:", JARGON.findall(found["text"]))
    equal([colour for colour in found["lineColours"] if contrast(colour, found["cardColour"]) < 3], [], "pale lines")
    equal(len(found["abouts"]), len(found["figures"]), "charts that explain themselves")
    expect(all(len(about) > 20 for about in found["abouts"]), "explanations:", found["abouts"])
    found["text"] = found["text"].replace("\u00a0", " ")
    found["hover"] = [tip and tip.replace("\u00a0", " ") for tip in found.get("hover", [])]
    return found


def look(count=300, width=1280, scheme="light", touch=False, **about):
    """What is found in the report of an ordinary run."""
    need_browser()
    with directory() as place:
        page, *_ = make_report(place, [json.dumps(one) for one in recording(count, **about)])
        return browse(page, width, scheme, touch)


@test(limit=120)
def it_shows_the_run_and_follows_the_pointer():
    found = look()
    equal(found["title"], "nightly build · resources", "title")
    equal(found["heading"], "nightly build", "heading")
    equal(found["figures"], CHARTS, "charts")
    equal(found["legends"][0], ["job", "host", "limit 2\u00a0cores"], "lines of the first chart")
    equal(found["hint"], "Drag to zoom, double-click to see all.", "hint")
    equal(found["svgs"], 0, "pictures beside charts")
    for words in ("✓ finished", "make -j2 all", "builder", "6.1.0", "2026-01-01 00:05:00 UTC", "5 min",
                  "300 every 1 s", "4242", "All numbers", "Limits"):
        expect(words in found["text"], f"{words!r} is not shown in", found["text"])
    expect(all(share > 0.01 for share in found["inked"]), "an empty chart:", found["inked"])
    # The middle of 300 s: 150 % 7 is 3, so 1.8 cores, and 1.5 of the disk's MB/s are the host's.
    expect("2:30" in found["hover"][0] and "job 1.8 cores" in found["hover"][0], "hover:", found["hover"])
    expect("host 2.05 cores" in found["hover"][0], "hover:", found["hover"])
    expect("host read 1.5 MB/s" in found["hover"][2], "hover:", found["hover"])
    expect("for CPU 5 %" in found["hover"][4], "pressure:", found["hover"][4])
    equal(found["left"], [None] * 6, "tooltips after the pointer left")
    expect("CPU 0 90\u00a0%" in found["heat"], "heat map:", found["heat"])


@test
def numbers_are_spelled_as_in_the_summary():
    node = shutil.which("node")
    if not node:
        raise Skip("there is no node")
    source = (ROOT / "src" / "summary" / "report" / "page" / "page.js").read_text(encoding="utf-8")
    functions = "".join(re.search(rf"^function {name}\(.*?^}}$", source, re.M | re.S).group(0) + "\n"
                        for name in ("num", "duration"))
    values = {"num": {0: "0", 0.0001: "<0.001", 0.042: "0.042", 9.996: "10", 999.6: "1,000", 1234567: "1,234,567"},
              "duration": {0: "0 s", 12.34: "12.3 s", 59.96: "1 min", 185: "3 min 5 s", 3599.6: "1 h",
                           3733: "1 h 2 min", 86399: "23 h 59 min", 99252: "1 d 3 h", 1e9: "11,574 d 1 h"}}
    script = "const {round, floor} = Math\n" + functions + "console.log(JSON.stringify([" + ", ".join(
        f"{name}({value})" for name, pairs in values.items() for value in pairs) + "]))"
    out = subprocess.run([node, "-e", script], capture_output=True, text=True, timeout=20, check=True).stdout
    equal([text.replace("\u00a0", " ") for text in json.loads(out)],
          [text for pairs in values.values() for text in pairs.values()], "spelling")


@test
def the_label_of_the_peak_stays_inside():
    """Of a drawing of any width, wherever the peak is, and however long the words are."""
    node = shutil.which("node")
    if not node:
        raise Skip("there is no node")
    source = (ROOT / "src" / "summary" / "report" / "page" / "charts.js").read_text(encoding="utf-8")
    function = re.search(r"^function drawPeak\(.*?^}$", source, re.M | re.S).group(0)
    script = """
const {max, min} = Math, left = 54, RIGHT = 10, TOP = 8, view = [0, 100], runs = [{on: true}], isOverlay = false
const colour = {}, peakIsOn = () => true, hueOf = () => '', nothing = () => {}
""" + function + """
let drawn = []
const c = {setLineDash: nothing, beginPath: nothing, moveTo: nothing, lineTo: nothing, arc: nothing, fill: nothing,
    stroke: nothing, strokeText: nothing, measureText: label => ({width: label.length * 6}),
    fillText: (label, x, y, most) => drawn.push([x, y, min(label.length * 6, most)])}
for (const w of [180, 250, 320, 1000]) for (const at of [0, 50, 100]) for (const y of [10, 80])
    for (const apart of [false, true])
    for (const text of ['9 MiB at 1 s', '12.7 GiB at 23 h 59 min', '12.7 GiB, highest sample at 23 h 59 min 59 s']) {
        drawn = []
        drawPeak({peak: {line: 0, run: 0, secs: at, value: 1, apart, text}, lines: [{on: true}], y: () => y,
            area: {w, x: secs => left + (w - left - RIGHT) * secs / 100}}, c)
        const [[x, height, wide]] = drawn
        if (!(x >= 2 && x + wide <= w - 2 && height > 0)) console.log(w, at, y, apart, text, x, wide)
    }
"""
    out = subprocess.run([node, "-e", script], capture_output=True, text=True, timeout=20, check=True).stdout
    equal(out, "", "labels that are cut")


@test(limit=120)
def zoom_is_shared_and_comes_back():
    found = look()
    plots = len(found["figures"])
    equal(found["all"], [[0, 300]] * plots, "the view at first")
    equal(len({tuple(span) for span in found["zoomed"]}), 1, "different views")
    start, end = found["zoomed"][0]
    expect(abs(start - 75) < 2 and abs(end - 150) < 2, "dragged from 75 s to 150 s, got", start, end)
    expect("Show all" in (found["zoomText"] or ""), "no way back is offered:", found["zoomText"])
    equal(found["reset"], [[0, 300]] * plots, "the view after a double click")
    equal(len({tuple(span) for span in found["keyZoomed"]}), 1, "different views by keyboard")
    expect(found["keyZoomed"][0][1] - found["keyZoomed"][0][0] < 160, "plus does not zoom:", found["keyZoomed"][0])
    equal(found["keyReset"], [[0, 300]] * plots, "the view after Escape")


@test(limit=120)
def keyboard_buttons_and_print():
    found = look(scheme="dark")
    expect(found["keyFirst"] and found["keySecond"] and found["keyFirst"] != found["keySecond"], "arrow keys:",
           found["keyFirst"], found["keySecond"])
    expect("job" in found["said"], "nothing is said to those who listen:", found["said"])
    equal(found["pressed"], ["false", "true"], "aria-pressed")
    expect(found["hides"], "the line is still there")
    expect(found["showsAgain"], "the line does not come back")
    equal(found["copied"][0], found["copied"][1], "the copied line")
    equal(found["copies"], 5, "buttons: four lines and the picture")
    name, kind, width, height = found["png"]
    equal([name, kind], ["resources.png", "PNG"], "the picture")
    expect(width == 2000 and height > 2000, "a picture of", width, height)
    expect(found["sameAfterPng"], "the charts changed with the picture")
    equal(found["printed"], {"backgrounds": ["rgb(255, 255, 255)"] * 2, "buttons": 0, "adjust": "exact"}, "on paper")
    expect(found["paper"]["width"] == 636 and found["paper"]["legends"] > 8, "paper:", found["paper"])
    # A CPU that was busy is dark on paper, also from a dark screen.
    expect(found["paper"]["dark"] and found["paper"]["dark"][0] < 300, "inverted on paper:", found["paper"])
    expect(found["sameAfterPaper"], "the charts changed with the paper")


@test(limit=120)
def light_dark_narrow_and_touch():
    light, dark = look(), look(width=320, scheme="dark", touch=True)
    numbers = [sum(map(int, found["background"][4:-1].split(","))) for found in (light, dark)]
    expect(numbers[0] > 600 and numbers[1] < 150, "backgrounds", light["background"], dark["background"])
    expect("job" in (dark["touched"] or ""), "a touch shows nothing:", dark["touched"])
    expect("pinch" in dark["hint"] and "rag" not in dark["hint"], "hint:", dark["hint"])
    expect(dark["pinched"][0][1] - dark["pinched"][0][0] < 150, "pinching does not zoom:", dark["pinched"][0])


@test(limit=120)
def hostile_names_are_text():
    found = look(count=60, job=HOSTILE, command=("sh", "-c", "<script>alert(2)</script>", "it's <!-- \u2028 \x1b[31m"))
    equal(found["heading"], HOSTILE.replace("\u202e", "?"), "heading")
    equal(found["title"], HOSTILE.replace("\u202e", "?") + " · resources", "title")
    expect("\u202e" not in found["text"], "the text is reversed")
    expect("'<script>alert(2)</script>'" in found["text"], "the command is not shown:", found["text"])
    expect(HOSTILE[:15] in found["text"], "the process is not shown:", found["text"])


@test(limit=120)
def phases_have_bands_names_and_a_table():
    need_browser()
    samples = recording(300)
    for second, name in ((1, HOSTILE), (100, "train"), (200, "w" * 120)):
        samples[second - 1]["marks"] = [{"elapsed_secs": second, "kind": "mark", "name": name}]
    with directory() as place:
        page, *_ = make_report(place, map(json.dumps, samples))
        equal(data_of(page)["spans"], [[0, 0, 1], [1, 1, 100], [2, 100, 200], [3, 200, 300]], "spans")
        found = browse(page)
        shown = HOSTILE.replace("\u202e", "?")
        equal(found["legends"][0], ["Phases", "start", shown, "train", "w" * 120], "names")
        expect("train" in found["hover"][0] and "start" not in found["hover"][0], "hover:", found["hover"][0])
        expect("named by the job" in found["text"] and shown in found["text"], "table:", found["text"])
        browse(page, width=390, scheme="dark", touch=True)
        text = open_page(page, mode="off")["text"]
        expect(text.count("train") >= 2, "without scripts:", text)


@test(limit=120)
def one_sample_and_little_in_it():
    need_browser()
    with directory() as place:
        page, *_ = make_report(place, [json.dumps(recording(1)[0])])
        found = browse(page)
        equal(found["figures"], [], "charts of nothing")
        expect("no history" in found["text"], "one sample:", found["text"])
        expect("\n1\n" in found["text"] and "1 every" not in found["text"], "samples:", found["text"])
        little = {"timestamp_secs": 1767225600, "timestamp_ms": 1767225600000, "elapsed_secs": 1.0,
                  "memory": {"total_mib": 100.0, "used_mib": 5.0}}
        page, *_ = make_report(place, [json.dumps(little), json.dumps(little | {"elapsed_secs": 2.0})])
        found = browse(page, width=320)
        equal(found["figures"], ["Memory"], "charts")
        equal([names[0] for names in found["legends"]], ["host"], "lines")


@test(limit=120)
def what_is_unknown_is_a_gap():
    need_browser()
    samples = recording(40)
    for second, one in enumerate(samples, 1):
        one["cpu"]["process_rss_mib"] = 400.0
        if not (10 <= second <= 20 or second == 30):
            one["cpu"]["process_pss_mib"] = None
    with directory() as place:
        page, *_ = make_report(place, map(json.dumps, samples))
        found = browse(page)
        equal(found["legends"][1][1], "job PSS", "the line")
        # A value holds for its interval, which ends with its sample. The peak's dot has a rim in the last of them.
        (first, last), (left, _), *rim = found["secondOfMemory"]
        right = max(end for _, end in found["secondOfMemory"])
        expect(all(start > left for start, _ in rim), "more pieces:", found["secondOfMemory"])
        expect(abs(first - 9 / 40) < 0.01 and abs(last - 20 / 40) < 0.02, "drawn from", first, "to", last)
        expect(abs(left - 29 / 40) < 0.01 and abs(right - 30 / 40) < 0.02, "one value goes from", left, "to", right)


@test(limit=120)
def the_line_ends_with_the_job():
    need_browser()
    samples = recording(8)
    samples[-1]["cpu"].update({"process_rss_mib": 0.0, "process_pss_mib": 0.0})
    with directory() as place:
        page, *_ = make_report(place, map(json.dumps, samples))
        start = data_of(page)
        equal(lines_of(start)["job RSS"]["values"][-2:], [107 * 1024, None], "the last values of RSS")
        found = browse(page)
        ends = [last for _, last in found["firstOfMemory"]]
        expect(abs(max(ends) - 7 / 8) < 0.02, "drawn to", ends)


@test(limit=120)
def tiles_say_what_is_meant():
    need_browser()
    samples = recording(20)
    for one in samples:
        one.pop("processes", None)  # larger than this tree
        one["cgroup"].update({"cpu_limit_cores": 1.0, "memory_limit_mib": 100000.0})
        one["cpu"].update({"process_pss_mib": 0.4261, "process_rss_mib": 0.6, "process_peak_rss_mib": 0.3,
                           "process_cores_used": 1.0, "process_utime_secs": 0.75, "process_stime_secs": 0.25})
        one["pressure"]["cpu_some_secs"] = 1.03
    with directory() as place:
        page, *_ = make_report(place, map(json.dumps, samples))
        found = browse(page)
        tiles = {words.split("\n")[0]: words.replace("\u00a0", " ") for words in found["tiles"]}
        memory, cpu = tiles["Peak memory of the job"], tiles["Mean CPU of the job"]
        expect("436 KiB" in memory.split("\n")[1], "memory:", memory)
        expect("1 core" in cpu and "1 cores" not in found["text"], "CPU:", cpu)
        expect("P95 1, peak 1 of 1 core\n" in cpu, "CPU:", cpu)
        waiting = tiles["Waiting on the host"]
        expect("100 %\nof the time a task waited for CPU" in waiting, "pressure:", waiting)
        equal(found["legends"][0][-1], "limit 1\u00a0core", "the limit")
        expect("for CPU 100 %" in found["hover"][4], "pressure:", found["hover"][4])


@test(limit=120)
def several_runs_are_named_and_drawn_over_each_other():
    need_browser()
    with directory() as place:
        files = []
        for number, (job, code) in enumerate((("before", 0), ("after", 1), ("after", 3))):
            samples = recording(20 + 10 * number, job=job)
            samples[-1]["end"]["exit_code"] = code
            files += ["--from", place / f"{number}.jsonl"]
            write_lines(files[-1], map(json.dumps, samples))
        page = place / "report.html"
        convert(place, *files[1:], "--report", page)
        found = browse(page)
        equal(found["runs"], ["before", "after, run 2 (2026-01-01 00:00)", "after, run 3 (2026-01-01 00:00)"], "runs")
        expect("2 of 3 runs failed" in found["text"], "badge:", found["text"])
        equal(found["figures"], CHARTS[:-1], "charts")
        # One clock for all: the longest is 40 s.
        equal(found["all"], [[0, 40]] * 5, "the view")
        for name in ("before, job", "after, run 2", "after, run 3"):
            expect(name in found["hover"][0], f"{name} is not in", found["hover"][0])
        picture = place / "report.svg"
        convert(place, *files[1:], "--report", picture)
        expect("after, run 3" in picture.read_text(encoding="utf-8"), "names in the picture")


@test(limit=120)
def the_command_is_quoted_for_a_shell():
    words = ("echo", "it's", "a b", "", "$x", "a_Z9@%+=:,./-", "''", "é")
    with directory() as place:
        source = place / "run.jsonl"
        write_lines(source, map(json.dumps, recording(3, job="q", command=words)))
        reported, _ = convert(place, source, "--quiet", "--summary=always")
        headline = reported.splitlines()[0]
        shown = headline[headline.index("(") + 1:headline.rindex(")")]
        equal(shlex.split(shown), list(words), "words of the summary")
        expect(" a_Z9@%+=:,./- " in shown, "quoted without need:", shown)
    shown = look(count=3, command=words)["command"]
    equal(shlex.split(shown), list(words), "words of the page")


@test
def rows_of_csv_have_charts_of_the_host():
    with directory() as place:
        source, rows, page = place / "run.jsonl", place / "run.csv", place / "report.html"
        write_lines(source, map(json.dumps, recording(20)))
        convert(place, source, "--format", "csv", "--output", rows)
        convert(place, rows, "--report", page)
        lines = lines_of(data_of(page))
        equal([lines[name]["values"][5] for name in ("host read", "host write", "host received", "host sent")],
              [1500000, 0, 5000, 100], "bytes per second")


def gpus(second, count=8):
    """Devices of which numbers 2, 5 and 6 do nothing."""
    return [{"uuid": f"GPU-{number}", "name": "NVIDIA H200", "device_type": "GPU", "host_id": str(number), "detail": {},
             "utilization_pct": 0.0 if number in (2, 5, 6) else 90.0, "vram_total_bytes": 80 << 30,
             "vram_used_bytes": 40 << 30, "power_watts": 70.0 if number in (2, 5, 6) else 500.0 + second % 9,
             "temperature_celsius": 30 if number in (2, 5, 6) else 71} for number in range(count)]


@test(limit=120)
def every_gpu_has_its_row():
    need_browser()
    samples = recording(60)
    for second, one in enumerate(samples):
        one["gpu"] = gpus(second)
        one["cpu"].update({"process_gpu_usage": 4.5, "process_gpu_vram_mib": 10000.0 if second == 20 else 1000.0})
    samples[-1]["end"]["gpu_energy_joules"] = 8.04e6
    with directory() as place:
        page, *_ = make_report(place, map(json.dumps, samples))
        start = data_of(page)
        heats = {heat["title"]: heat for heat in start["heats"]}
        equal([row[5] for row in heats["GPUs of the host"]["rows"]], list("ttAttAAt"), "the sixth column")
        equal((heats["GPU power"]["most"], heats["GPU temperature"]["most"]), (508, 71), "scales")
        equal([chart["peak"]["text"] for chart in start["charts"] if chart["title"] == "GPU memory"],
              ["9.77 GiB at 21 s"], "the peak")
        found = browse(page)
        equal(found["figures"][-4:], ["CPUs of the host", "GPUs of the host", "GPU power", "GPU temperature"], "maps")
        expect("2.23 kWh" in found["text"] and "MJ" not in found["text"], "energy:", found["text"])


@test(limit=120)
def it_is_useful_without_scripts():
    need_browser()
    with directory() as place:
        page, *_ = make_report(place, map(json.dumps, recording(100)))
        for mode in ("off", "forbidden"):
            found = open_page(page, mode=mode)
            text = found["text"].replace("\u00a0", " ")
            for words in ("nightly build", "✓ finished", "make -j2 all", "Peak memory of the job", "#SBATCH",
                          "Metaflow", "All numbers", "exit status 0"):
                expect(words in text, f"{mode}: {words!r} is not shown in", text)
            expect("149 MiB" in " ".join(found["cells"]), f"{mode}: the peak is not in a table:", found["cells"])
            expect(found["pictures"] > 5 and found["heads"] > 10, f"{mode}:", found["pictures"], found["heads"])


@test
def the_picture_needs_no_browser():
    with directory() as place:
        source, picture = place / "run.jsonl", place / "{job}.svg"
        samples = recording(200, job='a<&"\u202e\x1b]\uffff')
        samples[120]["cpu"].update({"process_rss_mib": 400.0, "process_pss_mib": 390.0})
        write_lines(source, map(json.dumps, samples))
        convert(place, source, "--report", picture)
        [made] = place.glob("*.svg")
        text = made.read_text(encoding="utf-8")
        tree = xml.etree.ElementTree.fromstring(text)
        words = ["".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text")]
        expect("peak 390 MiB at 2 min 1 s" in words, "the peak:", words)
        equal(words[0], 'a<&"?\\x1b]?', "the title")
        expect(all(name in words for name in ("job", "host", "job read", "limit 2 cores")), "legend:", words)
        expect(len(text) < 300_000, len(text), "bytes")
        for forbidden in ("<script", "href", "style=", "url(", "\u202e"):
            expect(forbidden not in text, f"{forbidden} in the picture")
        write_lines(source, map(json.dumps, samples[:1]))
        convert(place, source, "--report", place / "one.svg")
        expect("no history" in (place / "one.svg").read_text(encoding="utf-8"), "one sample")
        convert(place, source, "--report", place / "svg")
        expect((place / "svg").read_text(encoding="utf-8").startswith("<!doctype html>"), "another ending")


@test
def the_name_decides_what_is_written():
    """HTML, SVG, or one line of error before the command starts and before anything is made."""
    with directory() as place:
        def track(name, job="z"):
            words = [BINARY, "-q", "-o", "kept.jsonl", "--summary-json", "new.json", "-n", job, "--report", name]
            return subprocess.run([*words, "sh", "-c", "echo ran"], env=clean_env(), cwd=place, text=True,
                                  capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        for name, begin in (("a.html", "<!doctype html>"), ("a.htm", "<!doctype html>"), ("a", "<!doctype html>"),
                            ("v1.5", "<!doctype html>"), ("a.svg", "<?xml"), ("a.SVG", "<?xml"),
                            ("{job}.svg", "<?xml")):
            done = track(name)
            equal((done.returncode, done.stdout), (0, "ran\n"), f"{name}: {done.stderr}")
            made = place / name.replace("{job}", "z")
            expect(made.read_text(encoding="utf-8").startswith(begin), f"{name} is something else")
        equal(track("{job}", "z.svg").returncode, 0, "an ending of the job's name")
        (place / "new.json").unlink()
        before = sorted(place.iterdir())
        for name, job, words in (("a.png", "z", "button"), ("a.PNG", "z", "button"), ("{job}.png", "z", "button"),
                                 ("{job}", "z.png", "button"), ("a.pdf", "z", "prints the page"),
                                 ("a.json", "z", "--summary-json"), ("a.html.gz", "z", "not compressed")):
            done = track(name, job)
            equal((done.returncode, done.stdout), (125, ""), f"{name}: {done.stderr}")
            lines = [line for line in done.stderr.splitlines() if "--quiet overrides" not in line]
            equal(len(lines), 1, f"lines of error: {lines}")
            expect("HTML (.html) or SVG (.svg)" in lines[0] and words in lines[0], name, lines)
            equal(sorted(place.iterdir()), before, f"{name}: files")


@test
def a_peak_between_samples_is_the_same_everywhere():
    """A job that held 313 MiB between two samples: process_peak_rss_mib has it, no sample does."""
    with directory() as place:
        source, page, picture, markdown = (place / name for name in ("run.jsonl", "run.html", "run.svg", "run.md"))
        samples = recording(100)
        samples[-1]["cpu"]["process_peak_rss_mib"] = 313.0
        write_lines(source, map(json.dumps, samples))
        convert(place, source, "--report", page, "--summary-markdown", markdown)
        convert(place, source, "--report", picture)
        text = page.read_text(encoding="utf-8").replace("\u00a0", " ")
        expect('Peak memory of the job</b> <span class="big">313 <small>MiB' in text, "the tile:", text[:8000])
        [memory] = [chart for chart in data_of(page)["charts"] if chart["title"] == "Memory"]
        equal((memory["peak"]["text"], memory["peak"]["apart"], memory["peak"]["value"]),
              ("313 MiB between samples", True, 313 << 20), "the chart")
        expect(">peak 313 MiB between samples</text>" in picture.read_text(encoding="utf-8"), "the picture")
        [line] = [line for line in markdown.read_text(encoding="utf-8").splitlines() if line.startswith("memory")]
        expect(line.endswith("(PSS), peak 313 MiB between samples"), "Markdown:", line)
        equal([chart["title"] for chart in data_of(page)["charts"] if "GPU" in chart["title"]], [], "charts of no GPU")


@test
def an_hour_is_complete():
    with directory() as place:
        page, *_ = make_report(place, map(json.dumps, recording(3600)))
        start = data_of(page)
        equal(len(start["ms"]), 3600, "points")
        equal(start["resolution"], "", "resolution")
        expect(page.stat().st_size < PAGE_BYTES_MAX, page.stat().st_size, "bytes")


@test(limit=180)
def a_day_of_samples():
    need_browser()
    with directory() as place:
        # Texts are put together by hand: 86,400 calls of json.dumps take longer than all the rest.
        first, *_, last = recording(2)
        middle = json.dumps(sample(0, cores=64, gpu=gpus(0))).replace('"process_pss_mib": 90.0, ', "")
        for key, value, mark in (("elapsed_secs", "0.0", "%d.0"), ("process_cores_used", "1.5", "%s"),
                                 ("process_rss_mib", "100.0", "%s")):
            middle = middle.replace(f'"{key}": {value}', f'"{key}": {mark}')
        last["elapsed_secs"] = float(DAY_SECS)
        lines = [json.dumps(first)]
        lines += [middle % (second, 63.5 if second == 40001 else 1 + second % 9 / 8,
                            13004.0 if second == 28801 else 100.0 + second % 50) for second in range(2, DAY_SECS)]
        page, secs, rss_kib = make_report(place, [*lines, json.dumps(last)])
        size = page.stat().st_size
        found = browse(page)
        diag(f"{size} bytes, written in {secs:.2f} s with {rss_kib} KiB, open after {found['openMs']:.0f} ms")
        expect(size <= PAGE_BYTES_MAX, f"{size} bytes")
        expect(found["openMs"] <= OPEN_MS_MAX, f"open after {found['openMs']} ms")
        expect(secs < (30 if SLOW else 8), f"written in {secs} s")
        expect(SLOW or rss_kib <= RSS_KIB_MAX, f"{rss_kib} KiB of memory")
        expect("peak 63.5" in found["text"], "the peak is lost:", found["text"])
        start = data_of(page)
        equal(max(lines_of(start)["job"]["high"]), 63500, "the highest point")
        equal(sum(start["ms"]), DAY_SECS * 1000, "milliseconds")
        equal(len(start["ms"]), DAY_SECS // 16, "points")
        equal(len(start["heats"][0]["rows"]), 64, "rows of the heat map")
        [memory] = [chart for chart in start["charts"] if chart["title"] == "Memory"]
        equal(memory["peak"]["text"], "12.7 GiB at 8 h", "the peak of memory")
        most = max(value for value in memory["lines"][0]["values"] if value) * memory["one"]
        expect(abs(most - (13004 << 20)) <= memory["one"], "the highest point of memory:", most)
        expect("Each point is 16 s (16 samples)" in found["text"], "the picture is coarse:", found["text"])


tap.main()
