#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users get of a run: the summary in all its forms, right-sizing, and the same again from the recording."""

import contextlib
import fcntl
import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import termios
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import BINARY, ROOT, SANITIZED, Lines, Tracker, clean_env, directory, remove_group, run

try:
    import jsonschema
except ImportError:
    jsonschema = None

GOLDEN = ROOT / "tests" / "golden"
# Half of a second of work, then memory, held for a moment; ends with status 3.
WORK = """
import sys, time
end = time.monotonic() + 0.5
while time.monotonic() < end:
    pass
block = bytearray({mib} << 20)
for page in range(0, len(block), 4096):
    block[page] = 1
time.sleep({hold})
sys.exit(3)
"""


def work(mib, hold=0.4):
    return ["/usr/bin/python3", "-c", WORK.format(mib=mib, hold=hold)]


def check_schema(summary):
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    schema = json.loads((ROOT / "docs/schema/summary.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(summary, schema)
    equal(sorted(summary), sorted(set(schema["properties"]) - {"parts"}), "keys")  # which this is no summary of


def forms(place, name):
    """The flags that write every form of the summary, and where they are."""
    files = {kind: place / f"{name}.{kind}" for kind in ("json", "md", "html")}
    return files, ["--summary-json", files["json"], "--summary-markdown", files["md"], "--report", files["html"]]


def replay(place, source, *flags, status=0):
    result = run(["--from", str(source), *map(str, flags)], cwd=place)
    equal(result.returncode, status, f"exit status ({result.stderr})")
    return result


def without_files(summary):
    """The rows but those that name the files that were written."""
    return re.sub(r"^  files .*\n(?: {13}\S.*\n)*", "", summary, flags=re.M)


def four_decimals(value):
    """Halves go up, as the tracker writes them."""
    return int(value * 1e4 + 0.5) / 1e4


@test
def a_recording_gives_what_the_run_gave():
    with directory() as place:
        live, flags = forms(place, "live")
        result = run(["-i", "100ms", "-n", "job", "-o", "run.jsonl", "--summary=always", *map(str, flags), "--",
                      *work(50)], cwd=place)
        equal(result.returncode, 3, "exit status")
        again, flags = forms(place, "again")
        second = replay(place, "run.jsonl", "--summary=always", *flags)
        equal(second.stdout, "", "stdout")
        equal(without_files(second.stderr), without_files(result.stderr), "summary")
        expect("  files      run.jsonl, " in result.stderr and str(live["html"]) in result.stderr, result.stderr)
        for kind, path in live.items():
            expect(path.stat().st_size > 0, f"{path.name} is empty")
            equal(again[kind].read_bytes(), path.read_bytes(), kind)
        summary = json.loads(live["json"].read_text(encoding="utf-8"))
        check_schema(summary)
        samples = [json.loads(line) for line in (place / "run.jsonl").read_text(encoding="utf-8").splitlines()]
        used = sum(s["cpu"]["process_utime_secs"] + s["cpu"]["process_stime_secs"] for s in samples)
        expect(abs(summary["cpu"]["total_secs"] - used) < 1e-6, "CPU time", summary["cpu"], used)
        equal(summary["samples"], len(samples), "samples")
        equal(summary["wall_secs"], samples[-1]["elapsed_secs"], "wall time")
        peak = samples[-1]["cpu"]
        equal(summary["memory"]["rss_peak_mib"], four_decimals(peak["process_peak_rss_bytes"] / (1 << 20)), "peak")
        equal(peak["process_peak_rss_mib"], peak["process_peak_rss_bytes"] >> 20, "peak in whole MiB")
        equal((summary["result"]["verdict"], summary["result"]["exit_code"]), ("failed", 3), "result")
        equal(summary["job_name"], "job", "name")
        equal(summary["command"], work(50), "command")
        top = summary["memory"]["processes"]
        expect(top and top[0]["name"].startswith("python3"), "processes at the peak:", top)


def as_before(sample, elapsed):
    """The sample as versions before 0.2 wrote it: fractions of MiB and of milliseconds, no bytes."""
    def walk(value):
        if isinstance(value, list):
            return [walk(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        old = {}
        for key, inner in value.items():
            exact = value.get(key.replace("_mib", "_bytes")) if key.endswith("_mib") else None
            if not (key.endswith("_bytes") and key.replace("_bytes", "_mib") in value) and key != "unavailable_mib":
                old[key] = four_decimals(exact / (1 << 20)) if exact is not None else walk(inner)
        return old
    old = walk(sample)
    if "actual_interval_ms" in old:
        old["actual_interval_ms"] = round((sample["elapsed_secs"] - elapsed) * 1000, 4)
    return old


@test
def an_older_recording_gives_the_same():
    with directory() as place:
        run(["-i", "50ms", "-o", "run.jsonl", "--summary-json", "live.json", "--report", "live.html", "--", *work(20)],
            cwd=place)
        elapsed, lines = 0, []
        for line in (place / "run.jsonl").read_text(encoding="utf-8").splitlines():
            sample = json.loads(line)
            lines.append(json.dumps(as_before(sample, elapsed)) + "\n")
            elapsed = sample["elapsed_secs"]
        expect('"process_rss_bytes"' not in lines[0] and "." in lines[0].split('"process_rss_mib": ')[1][:8], lines[0])
        (place / "old.jsonl").write_text("".join(lines), encoding="utf-8")
        replay(place, "old.jsonl", "--summary-json", "old.json", "--report", "old.html")
        for kind in ("json", "html"):
            equal((place / f"old.{kind}").read_bytes(), (place / f"live.{kind}").read_bytes(), kind)


@test
def memory_of_a_job_that_was_never_seen_is_unknown():
    with directory() as place:
        run(["-q", "--summary-json", "s.json", "--", "true"], cwd=place)
        memory = json.loads((place / "s.json").read_bytes())["memory"]
    for key in ("rss_peak_mib", "pss_peak_mib", "need_mib", "limit_used_pct"):
        expect(memory[key] is None or memory[key] > 0, key, memory)


@test
def a_csv_of_processes_only_is_shown_as_the_tree():
    """What the Python package writes about processes."""
    header = ('"timestamp","pid","children","utime","stime","cpu_usage","memory_mib","disk_read_bytes",'
              '"disk_write_bytes","gpu_usage","gpu_vram_mib","gpu_utilized"\n')
    rows = "".join(f"{1700000000 + i}.123,4242,{i % 3},0.5,0.25,0.75,{100 + i}.5,4096,8192,0.5,256.0,1\n"
                   for i in range(1, 6))
    with directory() as place:
        (place / "processes.csv").write_text(header + rows, encoding="ascii")
        reported = replay(place, "processes.csv", "--summary=always", "--summary-json", "summary.json").stderr
        summary = json.loads((place / "summary.json").read_text(encoding="utf-8"))
        equal(summary["tracked_pid"], 4242, "tracked PID")
        expect(abs(summary["cpu"]["total_secs"] - 5 * 0.75) < 1e-6, summary["cpu"])
        equal(summary["memory"]["pss_peak_mib"], 105.5, "peak")
        equal((summary["disk"]["read_bytes"], summary["disk"]["write_bytes"]), (5 * 4096, 5 * 8192), "disk")
        equal((summary["cpu"]["host_cores_mean"], summary["memory"]["host_used_mean_mib"]), (None, None), "host")
        expect("columns this version does not know" not in reported, reported)


@test
def compressed_and_piped_recordings_are_the_same():
    with directory() as place:
        equal(run(["-i", "50ms", "-o", "run.jsonl", "--", "sleep", "0.3"], cwd=place).returncode, 0, "status")
        replay(place, "run.jsonl", "--summary-json", "plain.json")
        content = (place / "run.jsonl").read_bytes()
        half = content.index(b"\n") + 1
        (place / "run.jsonl.gz").write_bytes(gzip.compress(content[:half]) + gzip.compress(content[half:]))
        replay(place, "run.jsonl.gz", "--summary-json", "packed.json")
        piped = subprocess.run([BINARY, "--from", "-", "--summary-json", "-"], input=content, capture_output=True,
                               cwd=place, env=clean_env(), timeout=10, check=True)
        plain = (place / "plain.json").read_bytes()
        equal((place / "packed.json").read_bytes(), plain, "gzip")
        equal(piped.stdout, plain, "stdin to stdout")


def columns_of(name, kind):
    """The fixtures were made with an interval of a second, whatever their steps are."""
    recorded = (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8")
    with directory() as place:
        source = place / "run.jsonl"
        source.write_text(recorded.replace("{", '{"run":{"interval_secs":1.0},', 1), encoding="utf-8")
        result = run(["--from", str(source), "-f", "csv", "--csv-columns", kind, "-o", "-"])
    equal((result.returncode, result.stderr), (0, ""), "status")
    equal(result.stdout, (GOLDEN / f"{name}.{kind}.csv").read_text(encoding="utf-8"), "CSV")


for golden in sorted(GOLDEN.glob("*.jsonl")):
    for columns in ("system", "full"):
        if (GOLDEN / f"{golden.stem}.{columns}.csv").exists():
            tap.add(f"CSV from JSON lines: {golden.stem}, {columns}", columns_of, golden.stem, columns)


@test
def csv_has_what_is_less_than_a_millisecond():
    """1000 samples of 0.4 ms are 0.4 s, in CSV too."""
    sample = ('{{"timestamp_secs":{0},"timestamp_ms":{0}000,"elapsed_secs":{1}.0,"tracked_pid":7,'
              '"cpu":{{"process_utime_secs":0.0004,"process_stime_secs":0.0019,"process_cores_used":0.0}}}}\n')
    with directory() as place:
        text = "".join(sample.format(1700000000 + i, i) for i in range(1, 1001))
        (place / "run.jsonl").write_text(text, encoding="ascii")
        lines = replay(place, "run.jsonl", "-f", "csv", "-o", "-").stdout.splitlines()
        names = lines[0].split(",")
        for name, want in (("process_utime", 0.4), ("process_stime", 1.9)):
            total = sum(float(line.split(",")[names.index(name)]) for line in lines[1:])
            expect(abs(total - want) < 0.001, name, total)


@test
def csv_and_json_pass_through_unchanged():
    for name in ("small-vm", "disks"):
        full = ["-f", "csv", "--csv-columns", "full"]
        for source, flags in ((f"{name}.jsonl", ["-f", "json"]), (f"{name}.system.csv", ["-f", "csv"]),
                              (f"{name}.full.csv", full)):
            result = run(["--from", str(GOLDEN / source), *flags, "-o", "-"])
            equal(result.returncode, 0, result.stderr)
            equal(result.stdout, (GOLDEN / source).read_text(encoding="utf-8"), source)


@test
def a_pipe_gets_samples_unless_a_summary_is_asked_for():
    source = GOLDEN / "small-vm.jsonl"
    equal(run(["--from", str(source)]).stdout, source.read_text(encoding="utf-8"), "samples")
    result = run(["--from", str(source), "--summary"])
    equal(result.stdout, "", "stdout")
    expect("resource-tracker" in result.stderr, result.stderr)


@test(limit=40)
def one_and_a_half_gib_ask_for_a_little_more():
    with directory() as place:
        result = subprocess.run([BINARY, "-i", "200ms", "--summary=always", "--summary-json", "s.json", "-q", "--",
                                 *work(1536, 2.2)], cwd=place, env=clean_env(), capture_output=True, text=True,
                                timeout=30, check=False)
        equal(result.returncode, 3, "exit status")
        sizing = json.loads((place / "s.json").read_text(encoding="utf-8"))["sizing"]
        equal(sizing["memory_mib"], 1920, sizing)
        expect("--mem=1920M" in sizing["slurm"] and "--cpus-per-task=" in sizing["slurm"], sizing)
        expect("memory: 1920Mi" in sizing["kubernetes"], sizing)
        expect("--memory=1920m" in sizing["docker"], sizing)
        expect("memory=2014" in sizing["metaflow"], sizing)
        expect("--mem=1920M" in result.stderr, result.stderr)


@test
def a_short_run_gets_no_size():
    with directory() as place:
        run(["--summary-json", "s.json", "-q", "--", "true"], cwd=place)
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
        check_schema(summary)
        equal(summary["samples"], 1, "samples")
        equal((summary["sizing"]["vcpus"], summary["sizing"]["memory_mib"]), (None, None), "sizes")
        expect("too short" in summary["sizing"]["vcpus_reason"], summary["sizing"])


@contextlib.contextmanager
def memory_group(limit_mib):
    """A v1 or v2 memory group of ours with a limit, and the file that takes its members."""
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        if not os.path.exists(os.path.join(base, "memory.limit_in_bytes" if "bytes" in limit else "cgroup.procs")):
            continue
        try:
            group = pathlib.Path(tempfile.mkdtemp(prefix="rt-e2e-", dir=base))
        except OSError as error:
            raise Skip(f"no memory group can be made: {error.strerror}") from error
        try:
            if not (group / limit).exists():
                raise Skip("there is no memory controller here")
            (group / limit).write_text(str(limit_mib << 20), encoding="ascii")
            for swap in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
                with contextlib.suppress(OSError):
                    (group / swap).write_text(str(limit_mib << 20) if "memsw" in swap else "0", encoding="ascii")
            yield group
        finally:
            remove_group(group)
        return
    raise Skip("there is no memory controller here")


@test
def killed_by_the_kernel_out_of_memory():
    if SANITIZED:
        raise Skip("a sanitizer's own memory does not fit")
    with memory_group(64) as group, directory() as place:
        enter = f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"'
        words = ["-i", "50ms", "--summary=always", "--summary-json", "s.json", "-q", "--", *work(200)]
        result = subprocess.run(["sh", "-c", enter, BINARY, *words], env=clean_env(), cwd=place, capture_output=True,
                                text=True, timeout=15, check=False)
        equal(result.returncode, 137, f"exit status ({result.stderr})")
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
        equal(summary["result"]["verdict"], "out of memory", summary["result"])
        expect(summary["result"]["oom_kills"] >= 1, summary["result"])
        equal(summary["memory"]["limit_mib"], 64.0, "limit")
        equal(summary["sizing"]["memory_mib"], None, "size")
        expect("memory" in result.stderr and "64 MiB" in result.stderr, result.stderr)


@test
def tmpfs_of_the_cgroup_counts_in_the_need():
    """It cannot be dropped like page cache, and no process has it mapped."""
    if not os.access("/dev/shm", os.W_OK):
        raise Skip("there is no /dev/shm to write to")
    with memory_group(512) as group, directory() as place, tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        enter = f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"'
        job = f"head -c 100M /dev/zero > {file.name}; sleep 2.1; : > {file.name}"
        words = ["-i", "200ms", "--summary-json", "s.json", "-q", "--", "sh", "-c", job]
        result = subprocess.run(["sh", "-c", enter, BINARY, *words], env=clean_env(), cwd=place, capture_output=True,
                                text=True, timeout=15, check=False)
        equal(result.returncode, 0, f"exit status ({result.stderr})")
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
        expect(95 <= summary["memory"]["cgroup_shmem_mib"] <= 101, summary["memory"])
        expect(95 <= summary["memory"]["need_mib"] < 120, summary["memory"])
        expect(summary["sizing"]["memory_mib"] >= 114, summary["sizing"])
        expect("with tmpfs" in summary["sizing"]["memory_reason"], summary["sizing"])


@test
def killed_from_outside():
    with directory() as place:
        result = run(["--summary-json", "s.json", "-q", "--", "sh", "-c", "kill -9 $$"], cwd=place)
        equal(result.returncode, 137, "exit status")
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
        equal((summary["result"]["verdict"], summary["result"]["signal"]), ("signaled", 9), summary["result"])


def on_terminal(*args, env=None, columns=80):
    """What a terminal on stdout and stderr gets, and the exit status."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with os.fdopen(parent, "rb", closefd=True):
        with directory() as place:
            with Tracker(*args, stdout=child, stderr=child, cwd=place, env={"TERM": "xterm", **(env or {})}) as tracker:
                os.close(child)
                lines = Lines(parent).all()
                return b"\n".join(lines).decode("utf-8", "replace"), tracker.wait()


@test
def the_summary_fits_the_terminal():
    """The output of the program, an empty line, then the summary; only lines to copy may be wider than the terminal."""
    ready = ("  Slurm ", "  Kubernetes ", "  Docker ", "  Metaflow ")
    program = "import time; print('hello', flush=True); time.sleep(2.3)"
    for columns in (40, 80, 200):
        text, status = on_terminal("python3", "-c", program, columns=columns, env={"NO_COLOR": "1"})
        equal(status, 0, "status")
        first, second, head, *rows = [line.rstrip("\r") for line in text.split("\n")]
        equal((first, second), ("hello", ""), "the first lines")
        expect(head.startswith("resource-tracker: python3 ("), "the head of the summary:", head)
        wide = [row for row in [head, *rows] if len(row) > columns and not row.startswith(ready)]
        equal(wide, [], f"lines of more than {columns} columns")
        equal([row.split()[0] for row in rows if row.startswith(ready)], "Slurm Kubernetes Docker Metaflow".split(),
              "lines to copy")
        [at] = [number for number, row in enumerate(rows) if row.startswith("  memory ")]
        words = " ".join(" ".join(rows[at:at + 4]).split())
        share = r"(PSS|RSS|largest process( [\d.]+ .iB)?) is [\d.]+ % of (the limit )?[\d.,]+ .iB"
        expect(re.search(share, words), words)


@test
def a_terminal_gets_the_summary_by_itself():
    text, status = on_terminal("-q", "--", "sh", "-c", "echo hello; exit 4")
    equal(status, 4, "status")
    expect(text.startswith("hello"), text)
    expect("exit status 4" in text and "\x1b[" in text, text)
    expect(len(text.splitlines()) <= 36, "lines:", len(text.splitlines()))
    plain, _ = on_terminal("-q", "--", "true", env={"NO_COLOR": "1"})
    expect("exit status 0" in plain and "\x1b" not in plain, plain)
    never, _ = on_terminal("-q", "--summary=never", "--", "true")
    equal(never, "", "with --summary=never")
    samples, _ = on_terminal("-f", "json", "--", "true")
    expect("exit status" not in samples and samples.startswith("{"), samples)


@test
def files_are_named_where_they_were_written():
    with directory() as place:
        result = run(["-q", "--summary", "--summary-json", "a-{job}.json", "--report", "/dev/full", "-n", "x y",
                      "--summary-markdown", "/dev/null", "true"], cwd=place)
        equal(result.returncode, 0, result.stderr)
        rows = [line for line in result.stderr.splitlines() if line.startswith("  files ")]
        equal(rows, ["  files      a-x_y.json"], result.stderr)
        expect((place / "a-x_y.json").exists(), "no file")
        alone = run(["-q", "--summary", "true"], cwd=place).stderr
        expect("\n  files " not in alone, alone)


@test
def markdown_has_a_chart_of_the_run():
    with directory() as place:
        run(["-q", "-i", "50ms", "--summary-markdown", "s.md", "--", *work(40)], cwd=place)
        text = (place / "s.md").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if re.match(r"(cores|memory)  ", line)]
        equal(len(lines), 2, text)
        for line in lines:
            legend = r"  \u2588 = [0-9.]+ (cores?|[KMG]iB \((RSS|PSS)\))$"
            blocks = re.match(r"[a-z]+ +([\u2581-\u2588 ]{31,60})" + legend, line)
            expect(blocks and "\u2588" in blocks.group(1), line)
        run(["-q", "--summary-markdown", "t.md", "--", "true"], cwd=place)
        expect("\u2588" not in (place / "t.md").read_text(encoding="utf-8"), "a chart of one sample")


@test
def without_a_terminal_nothing_is_said():
    result = run(["-q", "--", "true"])
    equal((result.stdout, result.stderr), ("", ""), "streams")


@test
def names_that_would_break_a_page_are_text():
    hostile = "</script><img src=x onerror=alert(1)>|`\x1b[31m\n# x"
    with directory() as place:
        files, flags = forms(place, "s")
        result = run(["-n", hostile, "--summary=always", "-q", *map(str, flags), "--", "true"], cwd=place)
        equal(result.returncode, 0, result.stderr)
        expect("\x1b" not in result.stderr, repr(result.stderr))
        page = files["html"].read_text(encoding="utf-8")
        equal(page.lower().count("</script>"), page.lower().count("<script"), "script elements")
        expect("<img" not in page, "an image in the page")
        equal(json.loads(files["json"].read_text(encoding="utf-8"))["job_name"], hostile, "name")
        markdown = files["md"].read_text(encoding="utf-8")
        expect("<img" not in markdown and "\n# x" not in markdown and "\x1b" not in markdown, markdown)


@test
def markdown_renders_as_a_page_of_github():
    """As one heading, a chart, a table of the job and one of the host, lines to copy, and nothing of the names."""
    program = shutil.which("cmark-gfm")
    if not program and os.environ.get("CI") != "true":
        raise Skip("cmark-gfm is not installed")
    hostile = "</td></table><img src=x>|`a`|[x](http://y)|**b**"
    with directory() as place:
        (place / "s.md").write_text("# Before", encoding="ascii")
        run(["-q", "-i", "100ms", "-n", hostile, "--summary-markdown", "s.md", "--", "sh", "-c", "sleep 2.3", hostile],
            cwd=place)
        page = subprocess.run([program, "--unsafe", "-e", "table", "-e", "autolink", "s.md"], cwd=place,
                              capture_output=True, text=True, timeout=10, check=True).stdout
    for tag, count in (("<h1>", 1), ("<h3>", 1), ("<table>", 2), ("<pre", 2), ("<img", 0), ("<a ", 0),
                       ("<strong>b", 0)):
        equal(page.count(tag), count, f"{tag} in {page}")
    expect("#SBATCH --cpus-per-task=1" in page and "img src=x" in page, page)


@test
def markdown_is_appended_and_the_others_are_replaced():
    with directory() as place:
        for _ in range(2):
            result = run(["-q", "--summary-markdown", "s.md", "--summary-json", "s.json", "--", "true"], cwd=place)
            equal((result.returncode, result.stderr), (0, ""), "run")
        text = (place / "s.md").read_text(encoding="utf-8")
        equal(len(re.findall(r"^### ", text, re.M)), 2, text)
        equal(len((place / "s.json").read_text(encoding="utf-8").splitlines()), 1, "objects")


@test
def an_output_that_fails_at_the_end_is_a_warning():
    for flag in ("--report", "--summary-json", "--summary-markdown"):
        result = run(["-q", flag, "/dev/full", "--", "sh", "-c", "exit 6"])
        equal(result.returncode, 6, "exit status")
        equal(len(result.stderr.splitlines()), 1, result.stderr)
        expect("warning: cannot write /dev/full: No space left" in result.stderr, result.stderr)


@test
def stdout_keeps_what_others_have_written_there():
    with directory() as place:
        log = place / "log"
        for flag in ("--summary-json", "--report", "--summary-markdown"):
            for name in ("-", "/dev/stdout", "log"):
                log.write_text("precious\n", encoding="utf-8")
                with log.open("a", encoding="utf-8") as out:
                    result = run(["-q", flag, name, "--", "echo", "of the job"], cwd=place, stdout=out,
                                 capture_output=False, stderr=subprocess.PIPE)
                equal((result.returncode, result.stderr), (0, ""), name)
                lines = log.read_text(encoding="utf-8").splitlines()
                equal(lines[:2], ["precious", "of the job"], f"{flag} {name}")
                expect(len(lines) > 2, f"{flag} {name}: nothing was added")


@test
def the_configuration_file_is_never_an_output():
    with directory() as place:
        config = place / "resource-tracker.toml"
        text = "[tracker]\ninterval_secs = 1\n"
        config.write_text(text, encoding="ascii")
        for words in (["-o", config.name], ["--summary-json", config.name],
                      ["-c", f"./{config.name}", "--report", config]):
            result = run([*words, "--", "touch", "started"], cwd=place)
            equal(result.returncode, 125, result.stderr)
            expect("is the configuration file: choose another" in result.stderr, result.stderr)
            equal(os.listdir(place), [config.name], "files")
            equal(config.read_text(encoding="ascii"), text, "the configuration")


@test
def two_outputs_are_never_one_file():
    with directory() as place:
        for first, second in (("-o", "--summary-json"), ("--summary-json", "--report"), ("-o", "--summary-markdown"),
                              ("--summary-markdown", "--summary-json")):
            for before in (None, "", "precious\n"):
                if before is not None:
                    (place / "same").write_text(before, encoding="ascii")
                result = run([first, "same", second, "./same", "--", "touch", "started"], cwd=place)
                equal(result.returncode, 125, result.stderr)
                expect("same is given for two outputs" in result.stderr, result.stderr)
                equal(os.listdir(place), [] if before is None else ["same"], "files")
                if before is not None:
                    equal((place / "same").read_text(encoding="ascii"), before, "the file that was there")
                    (place / "same").unlink()


@test
def a_command_that_cannot_be_run_leaves_files_as_they_were():
    with directory() as place:
        _, flags = forms(place, "s")
        for before in (None, "", "precious\n"):
            for name in ("s.json", "s.md", "s.html") if before is not None else ():
                (place / name).write_text(before, encoding="ascii")
            result = run(["-q", *map(str, flags), "--", "/nonexistent/program"], cwd=place)
            equal(result.returncode, 127, result.stderr)
            equal({path.name: path.read_text(encoding="ascii") for path in place.iterdir()},
                  {name: before for name in ("s.json", "s.md", "s.html")} if before is not None else {}, "files")


@test
def readers_that_do_not_read_share_one_deadline():
    ends = []
    flags = []
    for flag in ("--summary-json", "--summary-markdown", "--report"):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        ends += [reader, writer]
        flags += [flag, f"/dev/fd/{writer}"]
    with Tracker("-q", *flags, "--", "true", pass_fds=ends) as tracker:
        equal(tracker.wait(12), 0, "status")
        expect(time.monotonic() - tracker.started < 9, "seconds:", time.monotonic() - tracker.started)
        equal(tracker.stderr().count("it is not being read"), 3, tracker.stderr())
    for end in ends:
        os.close(end)


@test
def a_recording_is_never_overwritten_by_what_is_made_of_it():
    with directory() as place:
        source = place / "run.jsonl"
        content = (GOLDEN / "small-vm.jsonl").read_bytes()
        source.write_bytes(content)
        for flags in (["-o", "run.jsonl"], ["--report", "./run.jsonl"], ["--summary-json", "run.jsonl"]):
            result = replay(place, "run.jsonl", *flags, status=125)
            expect("run.jsonl is the recording itself" in result.stderr, result.stderr)
            equal(source.read_bytes(), content, "recording")
        # Through the shell: stdin and stdout are the recording.
        for words, stream in ((["--from", "run.jsonl"], None), (["--from", "-", "-o", "run.jsonl"], source),
                              (["--from", "-"], source)):
            with source.open("ab") as out, (stream or pathlib.Path("/dev/null")).open("rb") as given:
                shared = out if "-o" not in words else subprocess.DEVNULL
                result = subprocess.run([BINARY, *words], cwd=place, env=clean_env(), stdin=given, stdout=shared,
                                        stderr=subprocess.PIPE, text=True, timeout=10, check=False)
            equal(result.returncode, 125, result.stderr)
            expect("is the recording itself" in result.stderr, result.stderr)
            equal(source.read_bytes(), content, "recording")


@test
def recordings_with_odd_ends_are_used_with_a_word():
    content = (GOLDEN / "small-vm.jsonl").read_bytes()
    lines = content.splitlines(keepends=True)
    cases = {
        "cut": (content[:-20], "cut"),
        "noise": (b"resource-tracker: warning: x\n" + content, "line 1"),
        "unknown": (lines[0].replace(b"{", b'{"new_key":[{"a":1}],', 1) + b"".join(lines[1:]), "new_key"),
    }
    with directory() as place:
        for name, (text, word) in cases.items():
            (place / name).write_bytes(text)
            result = replay(place, name, "--summary-json", "s.json")
            expect(word in result.stderr and name in result.stderr, name, result.stderr)
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
        equal(summary["samples"], len(lines), "samples")
        # As --append leaves them, which needs no word.
        (place / "twice").write_bytes(content + content)
        equal(replay(place, "twice", "--summary-json", "s.json").stderr, "", "two runs")
        equal(json.loads((place / "s.json").read_text(encoding="utf-8"))["runs"], 2, "runs")
        (place / "empty").write_bytes(b"")
        (place / "text").write_bytes(b"hello\nthere\n")
        for name in ("empty", "text", ".", "nowhere"):
            result = replay(place, name, "--summary-json", "s.json", status=125)
            equal(len(result.stderr.splitlines()), 1, result.stderr)


@test
def files_put_together_are_read_by_the_header_above():
    with directory() as place:
        run(["-i", "50ms", "-f", "csv", "-o", "host", "--duration", "200ms"], cwd=place)
        run(["-i", "50ms", "-f", "csv", "-o", "job", "--", "sleep", "0.2"], cwd=place)
        host, job = ((place / name).read_text(encoding="utf-8").splitlines(keepends=True) for name in ("host", "job"))
        (place / "both").write_text("".join(host + job), encoding="utf-8")
        result = run(["--from", "both", "-f", "csv"], cwd=place)
        equal([len(line.split(",")) for line in result.stdout.splitlines()],
              [len(host[0].split(","))] * (len(host) + len(job) - 1), "columns")
        expect("--csv-columns full" in result.stderr, "process columns that are left out", result.stderr)
        result = run(["--from", "both", "-f", "csv", "--csv-columns", "full"], cwd=place)
        equal(result.stdout.splitlines()[-len(job) + 1:], "".join(job[1:]).splitlines(), "rows of the job")
        expect("--csv-columns" not in result.stderr, result.stderr)
        (place / "rows").write_text("".join(host + job[1:]), encoding="utf-8")
        result = run(["--from", "rows", "-f", "csv"], cwd=place)
        expect(f"rows: line {len(host) + 1} is a CSV row of " in result.stderr, result.stderr)


@test
def runs_are_merged():
    with directory() as place:
        for name, mib in (("a", 30), ("b", 90)):
            run(["-i", "50ms", "-o", f"{name}.jsonl", "--", *work(mib, 0.2)], cwd=place)
            replay(place, f"{name}.jsonl", "--summary-json", f"{name}.json")
        replay(place, "a.jsonl", "--from", "b.jsonl", "--summary-json", "both.json")
        a, b, both = (json.loads((place / f"{n}.json").read_text(encoding="utf-8")) for n in ("a", "b", "both"))
        equal(both["runs"], 2, "runs")
        equal(both["samples"], a["samples"] + b["samples"], "samples")
        equal(both["memory"]["rss_peak_mib"], b["memory"]["rss_peak_mib"], "peak")
        mean = (a["cpu"]["total_secs"] + b["cpu"]["total_secs"]) / 2
        expect(abs(both["cpu"]["total_secs"] - mean) < 0.001, both["cpu"], mean)
        check_schema(both)


if __name__ == "__main__":
    tap.main()
