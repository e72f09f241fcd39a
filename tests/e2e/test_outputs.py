#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands in the output files: CSV to the byte, appending, and disks that are full."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import (BINARY, PATIENCE_SECS, WAIT_SECS, Lines, Tracker, clean_env, directory, file_lines, grid_index,
                     of_machine, parse, run, wait_file_lines, wait_until)

SYSTEM = (b"timestamp,processes,utime,stime,cpu_usage,memory_free,memory_used,memory_buffers,memory_cached,"
          b"memory_active,memory_inactive,disk_read_bytes,disk_write_bytes,disk_space_total_gb,"
          b"disk_space_used_gb,disk_space_free_gb,net_recv_bytes,net_sent_bytes,gpu_usage,gpu_vram,gpu_utilized")
FULL = (b"timestamp,system_processes,system_utime,system_stime,system_cpu_usage,system_memory_free_mib,"
        b"system_memory_used_mib,system_memory_buffers_mib,system_memory_cached_mib,system_memory_active_mib,"
        b"system_memory_inactive_mib,system_disk_read_bytes,system_disk_write_bytes,system_disk_space_total_gb,"
        b"system_disk_space_used_gb,system_disk_space_free_gb,system_net_recv_bytes,system_net_sent_bytes,"
        b"system_gpu_usage,system_gpu_vram_mib,system_gpu_utilized,process_pid,process_children,process_utime,"
        b"process_stime,process_cpu_usage,process_memory_mib,process_disk_read_bytes,process_disk_write_bytes,"
        b"process_gpu_usage,process_gpu_vram_mib,process_gpu_utilized,system_steal_time")
# Decimals of the 21 system columns; None stands for the timestamp.
DECIMALS = [None, 0, 3, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 6, 6, 6, 0, 0, 4, 4, 0]


# The names of the Python package, version 0.5.0.
PYTHON_SYSTEM = re.sub(rb"(memory_\w+|gpu_vram)", rb"\1_mib", SYSTEM)
PYTHON = FULL.removesuffix(b",system_steal_time")


def check_row(row, columns, stamp):
    fields = row.decode("ascii").split(",")
    equal(len(fields), columns, f"fields of {row!r}")
    expect(re.fullmatch(stamp, fields[0]), f"timestamp {fields[0]!r}")
    for number, (field, decimals) in enumerate(zip(fields, DECIMALS)):
        if decimals is None or field == "":
            continue
        pattern = r"\d+" if decimals == 0 else rf"\d+\.\d{{{decimals}}}"
        expect(re.fullmatch(pattern, field), f"column {number} is {field!r}, want {decimals} decimals")
    if columns == 33:
        expect(re.fullmatch(r"\d+\.\d{3}", fields.pop()), f"the time stolen in {row!r}")
    equal([field for field in fields[21:] if field], [], "process columns in host mode")


def write_file(path, *args, lines=3, status=0):
    """Runs a tracker that writes to the file until it holds that many new lines; returns what stderr got."""
    before = path.read_bytes().count(b"\n") if path.exists() and "--append" in args else 0
    with Tracker("-i", "0.05", "-o", path, *args) as tracker:
        if "--append" not in args:
            wait_until(lambda: any(link == str(path) for link in tracker.links().values()), "the output file")
        wait_file_lines(path, before + lines)
        equal(tracker.stop(), status, "exit status")
        equal(tracker.stdout.all(), [], "stdout")
        return tracker.stderr()


@test
def rank_and_node_are_in_names_of_files_and_in_the_samples():
    env = {"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "3", "SLURMD_NODENAME": "n2/x", "SLURM_JOB_ID": "77"}
    with directory() as place:
        done = run(["-f", "json", "-o", str(place / "{node}-{rank}.jsonl"), "--", "true"], env)
        equal(done.returncode, 0, done.stderr)
        sample = json.loads((place / "n2_x-3.jsonl").read_text(encoding="utf-8").splitlines()[0])
        run(["--rank", "5", "-f", "json", "-o", str(place / "given-{rank}.jsonl"), "--", "true"], env)
        expect((place / "given-5.jsonl").exists(), "the flag wins", list(place.iterdir()))
    equal({key: sample["run"]["metadata"][key] for key in ("rank", "world_size", "node")},
          {"rank": "3", "world_size": "8", "node": "n2/x"}, "metadata")


@test
def csv_has_the_21_columns_of_the_system_set():
    for more in ([], ["--csv-columns", "auto"], ["--csv-columns", "system"]):
        with Tracker("-i", "0.1", "-f", "csv", *more) as tracker:
            lines = tracker.stdout.take(4)
            equal(tracker.stop(), 0, "exit status")
            lines += tracker.stdout.all()
            equal(tracker.stdout.rest, b"", "what follows the last LF")
            equal(tracker.stderr(), "", "stderr")
        equal(lines[0], SYSTEM, "header")
        equal(SYSTEM.count(b",") + 1, 21, "columns")
        for row in lines[1:]:
            check_row(row, 21, r"\d{10}\.\d{3}")


@test
def csv_has_the_33_columns_of_the_full_set_and_those_of_python():
    for name, header, columns in (("full", FULL, 33), ("python", PYTHON_SYSTEM, 21)):
        with Tracker("-i", "0.1", "-f", "csv", "--csv-columns", name) as tracker:
            lines = tracker.stdout.take(4)
            equal(tracker.stop(), 0, "exit status")
            lines += tracker.stdout.all()
        equal(lines[0], header, "header")
        equal(header.count(b",") + 1, columns, "columns")
        for row in lines[1:]:
            check_row(row, columns, r"\d{10}\.\d{3}")


@test
def csv_of_a_command():
    for name, header in (("auto", FULL), ("full", FULL), ("python", PYTHON), ("system", SYSTEM)):
        done = run(["-i", "0.1", "-f", "csv", "--csv-columns", name, "-o", "-", "--", "sleep", "0.25"])
        first, *rows = done.stdout.splitlines()
        equal(first, header.decode(), "header")
        expect(rows, "no rows")
        for row in map(lambda text: dict(zip(first.split(","), text.split(","))), rows):
            equal(len(row), len(first.split(",")), "fields")
            if name == "system":
                continue
            for key in ("process_utime", "process_stime"):
                expect(re.fullmatch(r"\d+\.\d{4}", row[key]), f"{key} is {row[key]!r}")
            expect(int(row["process_pid"]) > 0 and row["process_memory_mib"].isdigit(), row)


@test
def used_memory_is_what_is_not_available_in_all_but_the_system_set():
    columns = {name: run(["-i", "0.1", "-f", "csv", "--csv-columns", name, "-o", "-", "--", "true"]).stdout.splitlines()
               for name in ("system", "full", "python")}
    for name, lines in columns.items():
        row = dict(zip(lines[0].removeprefix("system_").replace(",system_", ",").split(","), lines[1].split(",")))
        meminfo = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
        known = dict(re.findall(r"^(\w+):\s+(\d+) kB$", meminfo, re.M))
        total, gone = int(known["MemTotal"]) // 1024, int(known["MemAvailable"]) // 1024
        parts = sum(int(known[key]) for key in ("MemFree", "Buffers", "Cached", "SReclaimable")) // 1024
        want = total - parts if name == "system" else total - gone
        got = int(row["memory_used" if name == "system" else "memory_used_mib"])
        expect(abs(got - want) < 256, f"{name}: {got} MiB used, {want} by /proc/meminfo")


@test
def csv_timestamps_are_whole_for_whole_second_intervals():
    for interval, stamp in (("60", r"\d{10}"), ("2s", r"\d{10}"), ("1.5", r"\d{10}\.\d{3}")):
        with Tracker("-i", interval, "-f", "csv") as tracker:
            tracker.wait_ready()
            equal(tracker.stop(), 0, "exit status")
            header, row = tracker.stdout.all()
        equal(header, SYSTEM, "header")
        check_row(row, 21, stamp)


@test
def csv_goes_to_a_captured_file_with_its_header_once():
    with directory() as place, open(place / "f", "wb") as output:
        with Tracker("-i", "0.05", "-f", "csv", stdout=output) as tracker:
            wait_file_lines(place / "f", 5)
            equal(tracker.stop(), 0, "exit status")
        lines = file_lines(place / "f")
    equal(lines[0], SYSTEM, "first line")
    equal(lines.count(SYSTEM), 1, "headers")


@test
def csv_appended_twice_has_one_header():
    with directory() as place:
        path = place / "run.csv"
        for _ in range(3):
            equal(write_file(path, "-f", "csv", "--append"), "", "stderr")
        lines = file_lines(path)
    equal(lines[0], SYSTEM, "first line")
    equal(lines.count(SYSTEM), 1, "headers")
    expect(len(lines) >= 9, f"{len(lines)} lines")
    stamps = [float(line.split(b",")[0]) for line in lines[1:]]
    equal(stamps, sorted(stamps), "timestamps")


@test
def csv_appended_by_several_at_once_has_one_header():
    """All of them find the file missing; it is written only an interval later."""
    with directory() as place, contextlib.ExitStack() as stack:
        path = place / "run.csv"
        trackers = [stack.enter_context(Tracker("-i", "0.3", "-f", "csv", "--append", "-o", path)) for _ in range(4)]
        wait_file_lines(path, 1 + 3 * len(trackers))
        for tracker in trackers:
            equal(tracker.stop(), 0, "exit status")
            equal(tracker.stderr(), "", "stderr")
        lines = file_lines(path)
    equal(lines[0], SYSTEM, "first line")
    equal(lines.count(SYSTEM), 1, "headers")
    for row in lines[1:]:
        check_row(row, 21, r"\d{10}\.\d{3}")


@test
def json_appended_by_several_at_once_is_whole():
    """Every sample of four trackers is there, in its order; a replay says that they are mixed."""
    with directory() as place:
        words = [BINARY, "--append", "-o", "run.jsonl", "-i", "0.02", "--", "sleep", "0.6"]
        jobs = [subprocess.Popen(words, cwd=place, env=clean_env(), stderr=subprocess.PIPE, text=True)
                for _ in range(4)]
        for job in jobs:
            equal((of_machine(job.communicate(timeout=WAIT_SECS)[1]), job.returncode), ("", 0), "stderr and status")
        samples = [parse(line) for line in file_lines(place / "run.jsonl")]
        done = run(["--from", "run.jsonl", "--summary-json", "s.json"], cwd=place)
    runs = {}
    for sample in samples:
        runs.setdefault(sample["tracked_pid"], []).append(sample)
    equal(len(runs), 4, "runs")
    for own in runs.values():
        missed = sum(sample["tracker"]["missed_samples"] for sample in own[:-1])
        expect("run" in own[0] and "end" in own[-1], "the first or the last is lost")
        equal(grid_index(own[-2], 0.02), len(own) - 1 + missed, "samples of a run")
        equal([sample["elapsed_secs"] for sample in own], sorted(sample["elapsed_secs"] for sample in own), "order")
    equal(done.returncode, 0, "status of the replay")
    expect(re.search(r"run\.jsonl: samples of several runs are mixed.* give each its own", done.stderr), done.stderr)


@test
def runs_appended_one_after_the_other_are_merged_without_a_warning():
    with directory() as place:
        for command in (["sleep", "0.1"], ["sh", "-c", "exit 3"], ["true"]):
            equal(run(["-i", "0.05", "--append", "-o", "run.jsonl", "--", *command], cwd=place).stderr, "", "stderr")
        done = run(["--from", "run.jsonl", "--summary", "--report", "r.html", "--summary-markdown", "s.md"], cwd=place)
        page = (place / "r.html").read_text(encoding="utf-8")
        markdown = (place / "s.md").read_text(encoding="utf-8")
    equal(done.returncode, 0, "status")
    expect("warning" not in done.stderr, done.stderr)
    head, *rows = done.stderr.splitlines()
    expect(re.fullmatch(r"resource-tracker: 3 runs( on \S+)?", head), "the head:", head)
    [result] = [row for row in rows if row.startswith("  result ")]
    expect(re.search(r"3 runs \(1 failed\), .* on average +last failure: exit status 3$", result), result)
    expect("✕ 1 of 3 runs failed" in page and "last failure: exit status 3" in page, "the page")
    expect("<code>true" not in page + markdown, "the command of one run beside the status of another")


@test
def csv_appended_to_an_empty_file_begins_with_the_header():
    with directory() as place:
        (place / "run.csv").touch()
        write_file(place / "run.csv", "-f", "csv", "--append")
        equal(file_lines(place / "run.csv")[0], SYSTEM, "first line")


@test
def csv_is_not_appended_to_what_has_another_header():
    for content in (FULL + b"\n1,2\n", b"a,b,c\n1,2,3\n", b'{"timestamp_secs":1}\n', SYSTEM[:-1] + b"\n",
                    SYSTEM + b",more\n", SYSTEM, b"\n"):
        with directory() as place:
            (place / "run.csv").write_bytes(content)
            done = run(["-f", "csv", "--append", "-o", "run.csv"], cwd=place)
            equal(done.returncode, 125, f"exit status on {content[:40]!r}")
            equal(done.stdout, "", "stdout")
            expect(re.fullmatch(r"resource-tracker: error: [^\n]*run\.csv[^\n]*\n", done.stderr), repr(done.stderr))
            equal((place / "run.csv").read_bytes(), content, "the file")


@test
def nothing_is_appended_to_a_file_of_NUL_bytes():
    for arguments in (["-f", "csv"], []):
        with directory() as place:
            (place / "run").write_bytes(b"\0" * 4096)
            with Tracker(*arguments, "-i", "0.05", "--append", "-o", "run", cwd=place) as tracker:
                equal(tracker.wait(2), 125, "exit status")
            equal((place / "run").read_bytes(), b"\0" * 4096, "the file")


@test
def json_is_not_appended_to_csv():
    with directory() as place:
        (place / "run").write_bytes(SYSTEM + b"\n")
        done = run(["--append", "-o", "run"], cwd=place)
        equal(done.returncode, 125, "exit status")
        equal((place / "run").read_bytes(), SYSTEM + b"\n", "the file")


@test
def json_appended_twice_keeps_everything():
    with directory() as place:
        path = place / "run.jsonl"
        for _ in range(2):
            equal(write_file(path, "--append"), "", "stderr")
        samples = [parse(line) for line in file_lines(path)]
    equal(sum("actual_interval_ms" not in sample for sample in samples), 2, "first samples")


@test
def appending_goes_on_behind_a_torn_last_line():
    with directory() as place:
        path = place / "run.jsonl"
        write_file(path)
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"timestamp_secs":17')
        write_file(path, "--append", lines=4)
        content = path.read_bytes()
        expect(content.startswith(whole + b'{"timestamp_secs":17\n{'), "the torn line was not ended")
        for line in content[len(whole):].split(b"\n")[1:-1]:
            parse(line)


@test
def csv_appending_goes_on_behind_a_torn_last_line():
    with directory() as place:
        path = place / "run.csv"
        path.write_bytes(SYSTEM + b"\n1794732139.0")
        write_file(path, "-f", "csv", "--append", lines=4)
        lines = file_lines(path)
    equal(lines[:2], [SYSTEM, b"1794732139.0"], "the first two lines")
    equal(lines.count(SYSTEM), 1, "headers")
    for row in lines[2:]:
        check_row(row, 21, r"\d{10}\.\d{3}")


@test
def without_append_the_file_is_replaced():
    with directory() as place:
        path = place / "run.jsonl"
        path.write_bytes(b"old\n" * 10000)
        inode = path.stat().st_ino
        write_file(path)
        for line in file_lines(path):
            parse(line)
        equal(path.stat().st_ino, inode, "inode")


@test
def the_mode_of_a_new_file_follows_the_umask():
    old = os.umask(0o027)
    try:
        with directory() as place:
            write_file(place / "run.jsonl")
            equal(oct((place / "run.jsonl").stat().st_mode & 0o7777), oct(0o640), "mode")
    finally:
        os.umask(old)


@test
def a_named_pipe_is_an_output_once_it_has_a_reader():
    with directory() as place:
        os.mkfifo(place / "pipe")
        done = run(["-o", "pipe"], cwd=place)
        equal((done.returncode, done.stderr.count("\n")), (125, 1), "status and lines without a reader")
        reader = os.open(place / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        with Tracker("-i", "0.05", "-o", "pipe", cwd=place) as tracker:
            wait_until(lambda: any(link.endswith("/pipe") for link in tracker.links().values()), "the open pipe")
            os.set_blocking(reader, True)
            lines = Lines(reader)
            for line in lines.take(3):
                parse(line)
            os.close(reader)
            equal(tracker.wait(1 + PATIENCE_SECS), 0, "exit status")
            equal(tracker.stderr(), "", "stderr")


def check_full(tracker):
    """One warning while it lasts; at most one line about what was lost at the end."""
    wait_until(lambda: "cannot write samples" in tracker.stderr(), "the warning")
    time.sleep(0.3)  # more samples fail meanwhile, without a word
    equal(len(tracker.stderr().splitlines()), 1, f"lines on stderr {tracker.stderr()!r}")
    equal(tracker.process.poll(), None, "still running")
    equal(tracker.stop(), 0, "exit status")
    lines = tracker.stderr().splitlines()
    expect("No space left on device" in lines[0], lines)
    expect(len(lines) <= 2 and all(line.startswith("resource-tracker: warning: ") for line in lines), lines)


@test
def a_full_device_is_one_warning():
    with Tracker("-i", "0.05", "-o", "/dev/full") as tracker:
        check_full(tracker)


def check_lost(done, written):
    """All samples are either in the output, whole, or counted as lost."""
    taken = int(re.search(r"(\d+) samples, every", done.stderr)[1])
    lost = int(re.search(r"did not accept everything: (\d+) samples are lost", done.stderr)[1])
    equal(written + lost, taken, f"samples written and lost, {written} and {lost} of those taken")


@test
def what_a_full_device_loses_is_counted_in_samples():
    words = ["-i", "0.1", "--summary", "--", "sleep", "0.55"]
    with directory() as place:
        for more in ([], ["-f", "csv"]):
            check_lost(run(["-o", "/dev/full", *more, *words], cwd=place), 0)
        (place / "full.gz").symlink_to("/dev/full")
        check_lost(run(["-o", "full.gz", *words], cwd=place), 0)
        if not shutil.which("prlimit"):
            return
        for limit in (2000, 10000, 11000):
            # stderr is a pipe: the limit is that of files.
            done = subprocess.run(["prlimit", f"--fsize={limit}", "--", BINARY, "-o", "out", *words], cwd=place,
                                  env=clean_env(), capture_output=True, text=True, timeout=WAIT_SECS, check=False)
            content = (place / "out").read_bytes()
            equal(len(content), limit, "bytes written")
            check_lost(done, content.count(b"\n"))
            expect("the first of them is cut" in done.stderr, done.stderr)


@test
def a_full_device_as_stdout_is_one_warning():
    with open("/dev/full", "wb") as full, Tracker("-i", "0.05", "--output", "-", stdout=full) as tracker:
        check_full(tracker)


@contextlib.contextmanager
def tracker_on_small_tmpfs(*args, size):
    """A tracker in its own mount namespace, in a small tmpfs where it writes `out`; yields it and that directory."""
    unshare = shutil.which("unshare")
    own = "-m" if os.geteuid() == 0 else "-rm"
    probe = [unshare, own, "mount", "-t", "tmpfs", "none", "/mnt"]
    if not unshare or subprocess.run(probe, capture_output=True, timeout=10, check=False).returncode != 0:
        raise Skip("namespaces are not permitted")
    with directory() as place:
        script = f'mount -t tmpfs -o size={size} none "$0" && cd "$0" && exec "$@"'
        before = [unshare, own, "sh", "-c", script, str(place)]
        with Tracker(*args, before=before, cwd=place) as tracker:
            inside = pathlib.Path(f"/proc/{tracker.pid}/root{place}")
            tracker_path = inside / "out"
            try:
                wait_until(tracker_path.exists, "the output on the tmpfs", secs=3)
            except PermissionError:
                raise Skip("the other mount namespace cannot be looked into") from None
            yield tracker, inside


def fill(path):
    """Takes all the space there is."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        for size in (65536, 4096, 512, 1):
            with contextlib.suppress(OSError):
                while True:
                    os.write(fd, b"x" * size)
    finally:
        os.close(fd)


@test
def a_full_disk_is_one_warning_and_nothing_is_lost_when_it_is_cleaned_up():
    with tracker_on_small_tmpfs("-i", "0.05", "-o", "out", size="256k") as (tracker, inside):
        wait_file_lines(inside / "out", 3)
        fill(inside / "filler")
        wait_until(lambda: "cannot write samples to out: No space left on device" in tracker.stderr(), "the warning")
        time.sleep(0.4)  # more samples fail meanwhile, without a word
        equal(len(tracker.stderr().splitlines()), 1, f"lines on stderr {tracker.stderr()!r}")
        os.unlink(inside / "filler")
        wait_until(lambda: "out accepts samples again" in tracker.stderr(), "the all-clear")
        wait_file_lines(inside / "out", (inside / "out").read_bytes().count(b"\n") + 3)
        tracker.send(signal.SIGSTOP)
        content = (inside / "out").read_bytes()
        tracker.send(signal.SIGCONT)
        equal(tracker.stop(), 0, "exit status")
        equal(len(tracker.stderr().splitlines()), 2, f"lines on stderr {tracker.stderr()!r}")
        expect("(0 lost)" in tracker.stderr(), tracker.stderr())
    samples = [parse(line) for line in content.split(b"\n")[:-1]]
    missed = sum(sample["tracker"]["missed_samples"] for sample in samples)
    equal(grid_index(samples[-1], 0.05), len(samples) + missed, "places of the grid covered")


@test
def a_disk_that_stays_full_loses_whole_samples_and_reports_how_many():
    with tracker_on_small_tmpfs("-i", "0.01", "-o", "out", size="2m") as (tracker, inside):
        wait_file_lines(inside / "out", 2)
        fill(inside / "filler")
        wait_until(lambda: "No space left on device" in tracker.stderr(), "the warning")
        time.sleep(1.5)  # longer than the backlog lasts: 256 KiB, some 3 KiB every 10 ms
        os.unlink(inside / "filler")
        wait_until(lambda: "out accepts samples again" in tracker.stderr(), "the all-clear")
        wait_file_lines(inside / "out", (inside / "out").read_bytes().count(b"\n") + 3)
        tracker.send(signal.SIGSTOP)
        content = (inside / "out").read_bytes()
        tracker.send(signal.SIGCONT)
        equal(tracker.stop(), 0, "exit status")
        stderr = tracker.stderr()
    samples = [parse(line) for line in content.split(b"\n")[:-1]]
    lost = int(re.search(r"\((\d+) lost\)", stderr)[1])
    unseen = grid_index(samples[-1], 0.01) - len(samples)
    missed = sum(sample["tracker"]["missed_samples"] for sample in samples)
    expect(lost > 0, "nothing was lost: the test did not reach the limit")
    # What the lost samples themselves missed is not known; on a loaded machine it is some.
    expect(lost <= unseen - missed <= lost * 1.3 + 10, f"{lost} reported as lost, {unseen} unseen, {missed} missed")


@test
def a_file_size_limit_does_not_kill():
    limit = 10000
    if not shutil.which("prlimit"):
        raise Skip("prlimit is not installed")
    before = ["prlimit", f"--fsize={limit}:{limit}", "--"]
    with directory() as place:
        with Tracker("-i", "0.05", "-o", place / "out", before=before) as tracker:
            wait_until(lambda: "cannot write samples" in tracker.stderr(), "the warning")
            equal(tracker.process.poll(), None, "end of the tracker")
            equal(tracker.stop(), 0, "exit status")
        content = (place / "out").read_bytes()
    expect(0 < len(content) <= limit, f"{len(content)} bytes")
    for line in content.split(b"\n")[:-1]:
        parse(line)


@test
def a_locale_with_a_decimal_comma_changes_nothing():
    known = subprocess.run(["locale", "-a"], capture_output=True, text=True, timeout=10, check=False).stdout.lower()
    tap.diag(f"de_DE.utf8 is {'' if 'de_de.utf8' in known else 'not '}installed")
    env = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "TRACKER_INTERVAL": "0.05"}
    with Tracker(env=env) as tracker:
        for line in tracker.stdout.take(2):
            expect(parse(line)["elapsed_secs"] > 0, line)
    with Tracker("-f", "csv", env=env) as tracker:
        for row in tracker.stdout.take(3)[1:]:
            check_row(row, 21, r"\d{10}\.\d{3}")


@test
def the_output_is_written_to_while_it_is_renamed_away():
    with directory() as place, Tracker("-i", "0.05", "-o", place / "a") as tracker:
        wait_file_lines(place / "a", 2)
        os.rename(place / "a", place / "b")
        wait_file_lines(place / "b", 5)
        equal(tracker.stop(), 0, "exit status")
        equal(tracker.stderr(), "", "stderr")
        for line in file_lines(place / "b"):
            parse(line)


PROGRESS = re.compile(rb"\rreading [^\r]*recording: [0-9.]+ k?B")


def progress_of(*args, wait=True, on_terminal=True):
    """What stderr gets while a recording comes slowly, for longer than a second."""
    line = b'{"timestamp_secs":1700000000,"elapsed_secs":%d,"cpu":{"utilization_pct":1}}\n'
    ours, theirs = os.openpty() if on_terminal else os.pipe()
    shown = b""
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, ours)
        os.set_blocking(ours, False)
        place = stack.enter_context(directory())
        os.mkfifo(place / "recording")
        tracker = stack.enter_context(Tracker("--from", place / "recording", *args, stderr=theirs, cwd=place))
        os.close(theirs)
        feed = open(place / "recording", "wb", buffering=0)
        deadline = time.monotonic() + (20 if wait else 1.8)
        number = 0
        while time.monotonic() < deadline and not (wait and PROGRESS.search(shown)):
            number += 1
            feed.write(line % number)
            time.sleep(0.05)
            with contextlib.suppress(BlockingIOError):
                shown += os.read(ours, 65536)
        feed.close()
        equal(tracker.wait(), 0, "exit status")
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 65536):
                shown += piece
    return shown


@test(limit=40)
def a_replay_that_takes_long_shows_how_far_it_is():
    shown = progress_of("--summary=never", "--summary-json", "s.json")
    lines = PROGRESS.findall(shown)
    expect(lines, "no progress:", shown)
    last = shown.rindex(b"\r")
    wiped = shown[shown.rindex(b"\r", 0, last):last + 1]
    expect(re.fullmatch(rb"\r +\r", wiped), "it is not taken away:", shown[-200:])
    expect(b"\x1b" not in shown, "escapes:", shown)


@test
def progress_is_for_terminals_that_nothing_else_uses():
    shown = progress_of("--summary=never", "--summary-json", "s.json", wait=False, on_terminal=False)
    equal(shown, b"", "stderr that is a pipe")
    shown = progress_of("--summary=never", "-f", "json", "-o", "-", wait=False)
    expect(not PROGRESS.search(shown), "beside samples for a pipe:", shown)


def files_named(line, place):
    """What the summary of a run in this shell names as files."""
    done = subprocess.run(["/bin/sh", "-c", line], env={**clean_env(), "BINARY": BINARY}, cwd=place,
                          capture_output=True, text=True, timeout=WAIT_SECS, check=False)
    expect("exit status 0" in done.stderr, "no summary:", done.stderr)
    return [row.split(None, 1)[1] for row in done.stderr.splitlines() if row.startswith("  files ")]


@test
def a_file_for_samples_is_named_where_samples_are_in_it():
    with directory() as place:
        for name in ("a.jsonl", "a.jsonl.gz"):
            equal(files_named(f"$BINARY --summary -o {name} -- true", place), [name], "written")
            equal(files_named(f"ulimit -f 0; exec $BINARY --summary -o {name} -- true", place), [],
                  "none could be written")
            equal(files_named(f"$BINARY --summary -o {name} -- rm {name}", place), [], "the command has removed it")
        equal(files_named("$BINARY --summary -o /dev/stdout -- true >> b.jsonl", place), [], "stdout")
        equal(files_named("$BINARY --summary --from b.jsonl -o c.jsonl", place), ["c.jsonl"], "a replay")
        equal(files_named("ulimit -f 0; exec $BINARY --summary --from b.jsonl -o d.jsonl", place), [],
              "a replay that could not be written")


if __name__ == "__main__":
    tap.main()
