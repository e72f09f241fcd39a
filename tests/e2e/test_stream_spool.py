#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The spool of what could not be delivered: who gets into it, what stays on the disk, and --upload-spool.

Servers that cannot be reached, directories and disks that cannot be used, and a tracker that makes no connection
unasked.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import lib  # noqa: F401, finds those that follow
import tap
from fake_sentinel import FakeSentinel
from net_faults import BlackHole, Status
from spooled import (STATUS, Job, full_backlog, holds_row, leave_run, make_scenario, no_answers, run_directories,
                     snapshot, state_of, unpack)
from stream_scenario import PATIENCE, TOKEN, WAIT_SECS, Plan, wait_done, wait_for
from tap import Skip, equal, expect, test
from tracker import BINARY, clean_env, need_strace, trace_calls

NOBODY = 65534
MIB = 1024 * 1024
SOCKADDR_UN_BYTES = 110
# Runs its arguments where no thread can be made: clone3 is not there, and clone refuses CLONE_THREAD.
NO_THREADS = r"""
import ctypes, os, platform, struct, sys
CLONE = {"x86_64": 56, "aarch64": 220}[platform.machine()]
CLONE3, THREAD, ENOSYS, EAGAIN, ERRNO, ALLOW = 435, 0x10000, 38, 11, 0x50000, 0x7fff0000
code = ((0x20, 0, 0, 0), (0x15, 3, 0, CLONE3), (0x15, 0, 4, CLONE), (0x20, 0, 0, 16), (0x45, 1, 2, THREAD),
        (0x06, 0, 0, ERRNO | ENOSYS), (0x06, 0, 0, ERRNO | EAGAIN), (0x06, 0, 0, ALLOW))
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(program)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filter, 0, 0) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
"""


def announced(done, spool):
    """The command that a warning names for later, and the directory that it names."""
    match = re.search(r"^resource-tracker: warning: .* wait in (\S.*/\S+); deliver them with: (.*)$", done.stderr, re.M)
    expect(match, "no word on what is left:", done.stderr)
    expect(match[1].startswith(f"{spool}/") and pathlib.Path(match[1]).is_dir(), f"{match[1]} is not in the spool")
    return match[2]


def run_announced(scenario, command):
    """The announced command in a shell that has the token and the tracker."""
    env = clean_env(**{**scenario.env(), "PATH": f"{os.path.dirname(BINARY)}:{os.environ['PATH']}"})
    del env["TRACKER_SPOOL"]
    return subprocess.run(["sh", "-c", command], env=env, cwd="/", capture_output=True, text=True, timeout=WAIT_SECS,
                          check=False)


def black_hole(failure):
    """The command starts at once, the grace time is kept, and later everything is delivered, once."""
    with make_scenario() as scenario:
        scenario.spool = scenario.directory / "it's a spool"
        start = time.time()
        with failure(scenario.api), Job(scenario, command=("sh", "-c", "echo > began"),
                                        env={"TRACKER_GRACE": "1"}) as job:
            done = job.done().ended(0, "warning")
        began = (scenario.directory / "began").stat().st_mtime - start
        expect(began < PATIENCE, f"the command began after {began:.2f} s")
        expect(done.secs < 1 + 2 * PATIENCE, f"it took {done.secs:.2f} s with one second of grace")
        equal([len(run_directories(scenario)), len(scenario.api.runs)], [1, 0], "runs in the spool, and at the API")
        uploaded = run_announced(scenario, announced(done, scenario.spool))
        equal(uploaded.returncode, 0, f"exit status of the upload ({uploaded.stdout!r}, {uploaded.stderr!r})")
        finish = job.check_arrived()
        equal([finish["exit_code"], finish["run_status"]], [0, "finished"], "exit_code, run_status")
        scenario.check_strict()
        equal([len(scenario.api.runs), scenario.the_run()["finish_count"]], [1, 1], "registrations, finish calls")
        equal(run_directories(scenario), [], "left in the spool")


@test
def a_quiet_run_of_nothing_is_not_held_up_either():
    with make_scenario() as scenario, no_answers(scenario.api):
        done = scenario.run("-q", "--", "true", env={"TRACKER_GRACE": "0.5"}).ended(0)
        expect(done.secs < 0.5 + 2 * PATIENCE, f"it took {done.secs:.2f} s with half a second of grace")
        announced(done, scenario.spool)
        equal([len(unpack(path.read_bytes())) for path in scenario.spooled_batches()], [1], "rows in batches")


@test
def what_was_delivered_later_leaves_no_spool_behind():
    with make_scenario() as scenario:
        leave_run(scenario)
        scenario.upload_spool().ended(0)
        expect(not scenario.spool.exists(), f"{list(scenario.spool.parent.iterdir())}")


def leaves_nothing(scenario, env):
    """A healthy run; afterwards there is nothing that was not there before, but the local CSV."""
    before = sorted(scenario.directory.rglob("*"))
    with Job(scenario, "-i", "0.05", env=env) as job:
        job.wait_rows(3)
        wait_for(lambda: len(run_directories(scenario)) == 1, "the run in the spool")
        job.done().ended(STATUS, is_silent=True)
        job.check_arrived()
    scenario.check_strict()
    equal(sorted(scenario.directory.rglob("*")), sorted([*before, job.csv]), "files")


@test
def a_healthy_run_leaves_nothing_where_it_was_asked_to_spool():
    with make_scenario() as scenario:
        scenario.spool = scenario.directory / "deep" / "below" / "spool"
        leaves_nothing(scenario, {})


@test
def a_healthy_run_leaves_nothing_in_the_state_directory():
    with make_scenario() as scenario:
        scenario.spool = scenario.directory / "state/resource-tracker/spool"
        leaves_nothing(scenario, {"TRACKER_SPOOL": None})


@test
def a_healthy_run_leaves_nothing_in_the_home_directory():
    with make_scenario() as scenario:
        scenario.spool = scenario.directory / ".local/state/resource-tracker/spool"
        leaves_nothing(scenario, {"TRACKER_SPOOL": None, "XDG_STATE_HOME": None})


@test
def an_empty_spool_of_the_user_stays():
    with make_scenario() as scenario:
        scenario.spool.mkdir(mode=0o700)
        leaves_nothing(scenario, {})


def shared_runs():
    """What the spools of last resort of this user hold."""
    return {path for place in ("/var/tmp", "/tmp")
            for path in pathlib.Path(place, f"resource-tracker-{os.geteuid()}").rglob("*")}


@test
def without_a_home_it_works_as_well():
    before = shared_runs()
    env = {"TRACKER_SPOOL": None, "XDG_STATE_HOME": None, "HOME": ""}
    with make_scenario() as scenario, Job(scenario, "-i", "0.05", env=env) as job:
        job.wait_rows(3)
        job.done().ended(STATUS, is_silent=True)
        job.check_arrived()
    equal(shared_runs() - before, set(), "files that are left")


@test
def an_empty_or_missing_spool_is_no_error():
    with make_scenario() as scenario:
        expect("nothing waits" in scenario.upload_spool().ended(0, is_silent=True).stdout, "no word on a missing spool")
        expect(not scenario.spool.exists(), "the upload made a spool")
        scenario.spool.mkdir(mode=0o700)
        expect("nothing waits" in scenario.upload_spool().ended(0, is_silent=True).stdout, "no word on an empty spool")
        equal([scenario.api.connections, scenario.s3.connections], [0, 0], "connections")


@test
def a_second_upload_finds_nothing():
    with make_scenario() as scenario:
        job = leave_run(scenario)
        expect(": delivered\n" in scenario.upload_spool().ended(0).stdout, "the first")
        count = len(scenario.plan.seen)
        expect("nothing waits" in scenario.upload_spool().ended(0).stdout, "the second")
        equal(len(scenario.plan.seen), count, "requests")
        equal(job.finished()["finish_count"], 1, "finish calls")


@test(limit=20 * PATIENCE)
def of_two_uploads_at_once_one_does_it():
    with make_scenario(Plan(finish=BlackHole())) as scenario:
        job = leave_run(scenario)
        with scenario.start("--upload-spool") as first:
            wait_for(lambda: scenario.plan.count("finish"), "the finish of the first upload")
            requests = len(scenario.plan.seen)
            second = scenario.upload_spool().ended(0)
            name = run_directories(scenario)[0].name
            expect(re.search(rf"^{name}: .*(left alone|in use)", second.stdout), second.stdout)
            equal(len(scenario.plan.seen), requests, "requests of the second")
            scenario.plan.heal()
            scenario.api.shut_door()  # ends what hangs
            scenario.api.open_door()
            wait_done(first).ended(0)
        job.check_arrived()
        equal(len(scenario.api.runs), 1, "registrations")


@test(limit=20 * PATIENCE)
def an_upload_that_takes_long_shows_how_far_it_is():
    ours, theirs = os.openpty()
    with make_scenario(Plan(finish=BlackHole())) as scenario, os.fdopen(ours, "rb", buffering=0) as screen:
        leave_run(scenario)
        with scenario.start("--upload-spool", stderr=theirs) as upload:
            os.close(theirs)
            shown = b""
            while not re.search(rb"\ruploading: [0-9.]+ k?B of [0-9.]+ k?B, \d+ %", shown):
                shown += screen.read(65536)  # ends with the limit of the test
            scenario.plan.heal()
            scenario.api.shut_door()  # ends what hangs
            scenario.api.open_door()
            equal(upload.wait(), 0, "exit status")
            with contextlib.suppress(OSError):
                while piece := screen.read(65536):
                    shown += piece
            expect(re.search(rb"\r +\r$", shown), "it is not taken away:", shown)


@test
def a_run_that_goes_on_is_left_alone():
    with make_scenario() as scenario, Job(scenario, "-i", "0.05", env={"TRACKER_UPLOAD_INTERVAL": 60}) as job:
        wait_for(lambda: any(state_of(path).get("sentinel", {}).get("run_id") for path in run_directories(scenario)),
                 "a run")
        name = run_directories(scenario)[0].name
        done = scenario.upload_spool().ended(0)
        expect(re.search(rf"^{name}: .*left alone$", done.stdout, re.M), "the report:", done.stdout)
        expect(scenario.the_run()["finish"] is None, "a run of another tracker was finished")
        job.done().ended(STATUS, is_silent=True)
        job.check_arrived()
        scenario.check_strict()


def check_kept(scenario, env, words):
    """An upload that cannot be: exit status 1, one clear line, and the spool as it was."""
    before, name = snapshot(scenario.spool), run_directories(scenario)[0].name
    done = scenario.upload_spool(env=env).ended(1)
    expect(re.search(rf"^{name}: not delivered: .*{words}", done.stdout, re.M), "the report:", done.stdout)
    equal(snapshot(scenario.spool), before, "the spool")
    equal(scenario.holds_secret(done.stdout + done.stderr), None, "secrets that are shown")


@test
def without_a_token_nothing_is_lost():
    with make_scenario() as scenario:
        job = leave_run(scenario)
        check_kept(scenario, {"SENTINEL_API_TOKEN": None}, "SENTINEL_API_TOKEN is not set")
        equal(scenario.api.connections, 0, "connections")
        scenario.upload_spool().ended(0)
        job.check_arrived()


@test
def the_token_goes_to_no_other_API_than_the_recorded_one():
    with make_scenario() as scenario, FakeSentinel(scenario.s3, token=TOKEN) as other:
        job = leave_run(scenario)
        check_kept(scenario, {"SENTINEL_API_URL": other.url}, "SENTINEL_API_URL")
        equal([other.connections, scenario.api.connections], [0, 0], "connections")
        scenario.upload_spool().ended(0)
        job.check_arrived()


@test
def a_token_that_is_refused_loses_nothing():
    with make_scenario() as scenario:
        job = leave_run(scenario)
        check_kept(scenario, {"SENTINEL_API_TOKEN": "another-token-3d2c1b"}, "401 Unauthorized")
        scenario.upload_spool().ended(0)
        job.check_arrived()


def leave_three(scenario, **how):
    """Three runs in the spool; the directory of the second, and the jobs of all."""
    jobs, directories = [], []
    for number in range(3):
        jobs.append(leave_run(scenario, name=f"job-{number}", **how))
        directories.append(next(path for path in run_directories(scenario) if path not in directories))
    return directories[1], jobs


def check_others(scenario, jobs, directory, words, **how):
    """Of three runs two are delivered, and one line says what is wrong with the directory of the second."""
    done = scenario.upload_spool(**how).ended(1)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if directory.name in line]
    equal(len(lines), 1, f"lines on {directory.name} in {done.stdout!r} {done.stderr!r}")
    expect(re.search(words, lines[0]), f"want {words!r}, got", lines[0])
    for job in (jobs[0], jobs[2]):
        job.check_arrived()
    equal(run_directories(scenario), [directory], "left in the spool")
    scenario.check_strict()


@test(limit=20 * PATIENCE)
def a_broken_state_does_not_keep_the_others_back():
    with make_scenario() as scenario:
        directory, jobs = leave_three(scenario)
        whole = (directory / "state.json").read_bytes()
        (directory / "state.json").write_bytes(whole[:-20])
        check_others(scenario, jobs, directory, r"not delivered: .*state\.json")
        for text in (b"", b"[]", b'{"format":2}', b"\0" * 100):
            (directory / "state.json").write_bytes(text)
            before = snapshot(directory)
            expect("state.json" in scenario.upload_spool().ended(1).stdout, f"no word on {text!r}")
            equal(snapshot(directory), before, "the directory")
        (directory / "state.json").write_bytes(whole)
        scenario.upload_spool().ended(0)
        jobs[1].check_arrived()


@test
def rows_without_a_state_are_kept_and_reported():
    with make_scenario() as scenario:
        directory, jobs = leave_three(scenario)
        (directory / "state.json").unlink()
        check_others(scenario, jobs, directory, r"not delivered: .*state\.json")
        expect(list(directory.glob("*.csv.gz")), "the rows are gone")


@test
def a_foreign_file_in_a_run_stays():
    with make_scenario() as scenario:
        directory, jobs = leave_three(scenario)
        (directory / "thesis.tex").write_bytes(b"years of work")
        check_others(scenario, jobs, directory, "thesis.tex")
        equal(snapshot(directory).get("thesis.tex"), b"years of work", "the file")
        jobs[1].check_arrived()
        equal(scenario.upload_spool().ended(1).status, 1, "the second time")
        equal(jobs[1].finished()["finish_count"], 1, "finish calls")


@test
def a_foreign_directory_in_the_spool_stays():
    with make_scenario() as scenario:
        directory, jobs = leave_three(scenario)
        (scenario.spool / "notes.txt").write_bytes(b"a file beside the runs")
        (scenario.spool / "photos").mkdir()
        (scenario.spool / "photos" / "cat.jpg").write_bytes(b"meow")
        (scenario.spool / "link").symlink_to(scenario.directory)
        scenario.upload_spool().ended(0)
        for job in jobs:
            job.check_arrived()
        equal(snapshot(scenario.spool), {"notes.txt": b"a file beside the runs", "photos/cat.jpg": b"meow"}, "files")
        expect(not directory.exists(), "the second run is still there")


def leave_batches(scenario, count):
    """A run of so many batches in the spool, none of them delivered. Returns its Job and its directory."""
    scenario.api.shut_door()
    with Job(scenario, "-i", "0.05", env={"TRACKER_GRACE": "0"}) as job:
        wait_for(lambda: len(scenario.spooled_batches()) >= count, f"{count} batches in the spool")
        job.done().ended(STATUS, "--upload-spool")
    scenario.api.open_door()
    return job, run_directories(scenario)[0]


def unreadable(damage, kept):
    """A batch that something has damaged does not keep the others, and the end of the run, back."""
    with make_scenario() as scenario:
        job, directory = leave_batches(scenario, 3)
        lost = unpack((directory / "000001.csv.gz").read_bytes())
        damage(directory / "000001.csv.gz")
        done = scenario.upload_spool().ended(0, "the run is delivered without it")
        equal(len(done.warnings()), 1, f"warnings in {done.stderr!r}")
        want = [line for line in job.csv.read_bytes().splitlines() if line not in lost]
        got = scenario.api.run_csv(job.finished()).encode().splitlines()
        equal(len(got), len(want), "lines that arrived")
        expect(got == want, "other lines have arrived")
        equal(job.finished()["finish"]["exit_code"], STATUS, "exit_code")
        equal([path.name for path in scenario.spool_files()], kept, "files in the spool")
        equal(len(scenario.upload_spool().ended(0, is_silent=True).stdout.splitlines()), 1, "lines the second time")
        equal([path.name for path in scenario.spool_files()], kept, "files in the spool afterwards")
        equal(job.finished()["finish_count"], 1, "finish calls")
        scenario.check_strict()


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(data)


for how, damage, kept in (("cut short", lambda path: os.truncate(path, 50), ["000001.csv.gz.bad"]),
                          ("of other bytes", flip, ["000001.csv.gz.bad"]),
                          ("emptied", lambda path: os.truncate(path, 0), [])):
    tap.add(f"a batch that is {how} does not keep the others back", unreadable, damage, kept, limit=20 * PATIENCE)


@test(limit=20 * PATIENCE)
def a_spool_that_is_removed_meanwhile_costs_only_what_was_in_it():
    with make_scenario() as scenario:
        scenario.api.shut_door()
        with Job(scenario, "-i", "0.05") as job:
            wait_for(lambda: len(scenario.spooled_batches()) >= 2, "two batches in the spool")
            while scenario.spool.exists():  # files come and go in it meanwhile
                shutil.rmtree(scenario.spool, ignore_errors=True)
            rows = job.row_count()
            job.wait_rows(rows + 30)
            scenario.api.open_door()
            done = job.done().ended(STATUS, "the run is delivered without it")
        want = job.csv.read_bytes().splitlines()
        got = scenario.api.run_csv(job.finished()).encode().splitlines()
        expect(got[1:] == want[-len(got) + 1:] and len(got) >= 30, f"{len(got)} lines of {len(want)} arrived")
        equal(job.finished()["finish"]["exit_code"], STATUS, "exit_code")
        expect("not everything was delivered" not in done.stderr, done.stderr)


def as_nobody():
    """Words that run something as a user without rights; none where there are none anyway."""
    if os.geteuid() != 0:
        return ()
    words = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    probe = shutil.which("setpriv") and subprocess.run([*words, BINARY, "--version"], capture_output=True,
                                                       timeout=WAIT_SECS, check=False)
    if not probe or probe.returncode != 0:
        raise Skip("another user may not run the tracker")
    return words


@test(limit=20 * PATIENCE)
def a_run_that_cannot_be_read_does_not_keep_the_others_back():
    before = as_nobody()
    with make_scenario() as scenario:
        directory, jobs = leave_three(scenario, before=before)
        directory.chmod(0)
        check_others(scenario, jobs, directory, "not delivered: .*ermission", before=before)
        directory.chmod(0o700)
        scenario.upload_spool(before=before).ended(0)
        jobs[1].check_arrived()


@test
def a_spool_that_cannot_be_read_is_one_clear_line():
    before = as_nobody()
    with make_scenario() as scenario:
        scenario.spool.mkdir(mode=0)
        if before:
            os.chown(scenario.spool, NOBODY, NOBODY)
        done = scenario.upload_spool(before=before)
        expect(done.status in (1, 125), f"exit status {done.status}")
        expect(re.fullmatch(r"resource-tracker: error: [^\n]*spool[^\n]*ermission[^\n]*\n", done.stderr), done.stderr)


def runs_without_spool(words, prepare):
    """The run goes on with a warning, and what can be delivered is."""
    with make_scenario() as scenario:
        prepare(scenario.spool)
        before = snapshot(scenario.directory)
        with Job(scenario, "-i", "0.05") as job:
            job.wait_rows(3)
            done = job.done().ended(STATUS, str(scenario.spool), words)
            equal(len(done.warnings()), 1, f"warnings in {done.stderr!r}")
            job.check_arrived()
        scenario.check_strict()
        equal(snapshot(scenario.directory), {**before, "job.csv": job.csv.read_bytes()}, "files")


@test
def a_spool_that_others_may_write_is_not_used():
    def prepare(spool):
        spool.mkdir()
        spool.chmod(0o770)
    runs_without_spool("chmod 700", prepare)


@test
def a_spool_of_another_user_is_not_used():
    if os.geteuid() != 0:
        raise Skip("only root can give a directory away")

    def prepare(spool):
        spool.mkdir(mode=0o700)
        os.chown(spool, NOBODY, NOBODY)
    runs_without_spool("belongs to another user", prepare)


@test
def a_spool_that_is_a_file_is_not_used():
    runs_without_spool("irectory", lambda spool: spool.write_bytes(b"precious"))


@test
def a_spool_that_cannot_be_made_loses_only_what_cannot_be_delivered():
    with make_scenario() as scenario, full_backlog(scenario.api):
        scenario.spool = pathlib.Path("/proc/nowhere/spool")
        with Job(scenario, command=("sh", "-c", "exit 7"), env={"TRACKER_GRACE": "0.3"}) as job:
            done = job.done().ended(STATUS, "/proc/nowhere/spool", "samples are lost")
            expect("--upload-spool" not in done.stderr, "a command that cannot help is named:", done.stderr)


@contextlib.contextmanager
def small_disk(scenario, *, is_full):
    """Words that run something where the spool is on a disk of its own with 16 KiB."""
    scenario.spool = scenario.directory / "disk" / "spool"
    scenario.spool.parent.mkdir()
    fill = 'head -c 100000 /dev/zero > "$0/filler" 2>/dev/null; ' if is_full else ""
    words = ("unshare", "-m", "sh", "-c", 'mount --make-rprivate / && mount -t tmpfs -o size=16k none "$0" || exit 99; '
             f'{fill}exec "$@"', str(scenario.spool.parent))
    if subprocess.run([*words, "true"], capture_output=True, timeout=WAIT_SECS, check=False).returncode != 0:
        raise Skip("namespaces are not permitted")
    yield words


@test
def with_a_full_disk_everything_is_delivered_from_memory():
    with make_scenario() as scenario, small_disk(scenario, is_full=True) as before:
        with Job(scenario, "-i", "0.05", before=before) as job:
            wait_for(scenario.objects, "an upload")
            rows = job.row_count()
            job.wait_rows(rows + 3)
            done = job.done().ended(STATUS, "No space left on device")
            job.check_arrived()
        scenario.check_strict()
        equal(len(done.warnings()), 1, f"warnings in {done.stderr!r}")


@test
def with_a_full_disk_and_no_server_the_loss_is_reported():
    with make_scenario() as scenario, small_disk(scenario, is_full=True) as before:
        scenario.api.shut_door()
        with Job(scenario, command=("sh", "-c", "exit 7"), env={"TRACKER_GRACE": "0.3"}, before=before) as job:
            job.done().ended(STATUS, "samples are lost")


@test(limit=20 * PATIENCE)
def a_disk_that_fills_up_meanwhile_loses_nothing_that_can_be_delivered():
    env = {"TRACKER_UPLOAD_INTERVAL": 60}
    with make_scenario() as scenario, small_disk(scenario, is_full=False) as before:
        with Job(scenario, "-i", "0.01", env=env, before=before) as job:
            wait_for(lambda: job.csv.exists() and job.csv.stat().st_size > 20_000, "20 kB of rows")
            done = job.done().ended(STATUS, "No space left on device")
            equal(job.check_arrived()["data_source"], "inline", "data_source")
        lines = done.warnings()  # a second one may say that it is over
        equal(["No space left" in line for line in lines], [True, False][:len(lines)], f"warnings in {done.stderr!r}")


FULL_DISK = """
mount --make-rprivate / && mount -t tmpfs -o "$1" none "$0" || exit 99
disk=$0 how=$2 binary=$3
[ "$how" != before ] || cat /dev/zero > "$disk/filler" 2>/dev/null
DISK=$disk HOW=$how "$binary" -q -i 0.05 -- sh -c '
    until [ -n "$(find "$DISK/spool" -name end -size +0 2>/dev/null)" ] || [ "$HOW" = before ]; do sleep 0.02; done
    [ "$HOW" != meanwhile ] || cat /dev/zero > "$DISK/filler" 2>/dev/null
    exit 0' || exit 98
rm -f "$disk/filler"
echo later >&2
"$binary" --upload-spool || exit 97
find "$disk" -type f
"""


def full_disk(options, how, is_kept):
    """A run that ends well while its disk is full: later nothing else is said of it, if it is known at all."""
    with make_scenario(Plan(register=[Status(401)])) as scenario:
        disk = scenario.directory / "disk"
        scenario.spool = disk / "spool"
        disk.mkdir()
        words = ("unshare", "-m", "sh", "-c", FULL_DISK, str(disk), options, how, BINARY)
        if subprocess.run(("unshare", "-m", "sh", "-c", "mount --make-rprivate / && mount -t tmpfs none /mnt"),
                          capture_output=True, timeout=WAIT_SECS, check=False).returncode != 0:
            raise Skip("a mount namespace is not permitted")
        ran = subprocess.run(words, env=clean_env(**scenario.env()), cwd=scenario.directory, capture_output=True,
                             text=True, timeout=3 * WAIT_SECS, check=False)
        said, _, later = ran.stderr.partition("later\n")
        equal(ran.returncode, 0, f"exit status, {said!r}, later {ran.stdout!r} {later!r}")
        finishes = [run["finish"] for run in scenario.api.runs.values()]
        equal([(end["run_status"], end["exit_code"]) for end in finishes], [("finished", 0)] * is_kept, "ends")
        expect(is_kept or "samples are lost" in said, "no word on the loss:", said)
        expect(is_kept or str(disk) not in ran.stdout, "something is left:", ran.stdout)
        scenario.check_strict()


for options, how, is_kept in (("size=1m", "meanwhile", True), ("size=12k", "not at all", True),
                              ("size=8k", "not at all", True), ("size=1m,nr_inodes=6", "not at all", True),
                              ("size=1m,nr_inodes=7", "not at all", True), ("size=1m", "before", False)):
    tap.add(f"a full disk makes no failure of a run that was none: {options}, filled {how}", full_disk, options, how,
            is_kept, limit=20 * PATIENCE)


@test
def a_run_that_never_got_a_row_onto_the_disk_is_cleared_away():
    with make_scenario() as scenario:
        leave_run(scenario)
        for name, data in (("20200101T000000Z-00000001", b""), ("20200101T000000Z-00000002", b"timestamp,a\n"),
                           ("20200101T000000Z-00000003", b"timestamp,a\n1,")):
            (scenario.spool / name).mkdir(mode=0o700)
            (scenario.spool / name / "lock").touch()
            (scenario.spool / name / "000000.csv").write_bytes(data)
        scenario.upload_spool().ended(0, is_silent=True)
        expect(not scenario.spool.exists() or not scenario.spool_files(), f"left: {scenario.spool_files()}")


@test
def a_spool_that_was_moved_takes_no_foreign_directory_with_it():
    with make_scenario() as scenario:
        scenario.spool = scenario.directory / "deep" / "below" / "spool"
        job = leave_run(scenario)
        other = scenario.directory / "mine" / "empty" / "spool"
        other.parent.mkdir(parents=True)
        scenario.spool.rename(other)
        scenario.spool = other
        scenario.upload_spool().ended(0)
        job.check_arrived()
        expect(other.parent.is_dir(), "a directory that the tracker had not made is gone")


def fill_spool(scenario, free_bytes):
    """A run of another tracker takes all of a spool of 1 MiB, but for some bytes."""
    other = scenario.spool / "20200101T000000Z-00000000"
    other.mkdir(parents=True, mode=0o700)
    scenario.spool.chmod(0o700)
    (other / "000000.csv.gz").write_bytes(os.urandom(MIB - free_bytes))
    return other


@test(limit=20 * PATIENCE)
def a_spool_that_overflows_keeps_the_oldest_rows_and_says_so():
    with make_scenario() as scenario:
        other = fill_spool(scenario, 1500)
        before = snapshot(other)
        scenario.api.shut_door()
        with Job(scenario, "-i", "0.02", env={"TRACKER_SPOOL_MAX_MIB": 1, "TRACKER_GRACE": "0.1"}) as job:
            wait_for(lambda: "full (1.0 MiB)" in job.tracker.stderr(), "word that the spool is full")
            done = job.done().ended(STATUS, "samples are lost")
        equal(snapshot(other), before, "the other run")
        shutil.rmtree(other)
        kept = sum(path.stat().st_size for path in scenario.spooled_batches())
        equal(re.findall(r"(\d+) bytes of samples wait in", done.stderr), [str(kept)], "bytes that wait")
        scenario.api.open_door()
        scenario.upload_spool().ended(0)
        want = job.csv.read_text(encoding="ascii").splitlines()
        got = scenario.api.run_csv(job.finished()).splitlines()
        expect(len(got) < len(want), "nothing is lost")
        expect(got[:11] == want[:11], "the oldest rows are not there")
        equal([line for line in want if line in set(got)], got, "the rows that have arrived")


@test(limit=20 * PATIENCE)
def a_full_spool_does_not_stop_what_can_be_delivered():
    with make_scenario() as scenario:
        fill_spool(scenario, 100)
        with Job(scenario, "-i", "0.05", env={"TRACKER_SPOOL_MAX_MIB": 1}) as job:
            wait_for(scenario.objects, "an upload")
            job.done().ended(STATUS)
            job.check_arrived()
        scenario.check_strict()


def interrupted(number):
    """A signal while it waits for a server: it does not wait any longer, and loses nothing."""
    with make_scenario(Plan(register=BlackHole())) as scenario:
        with Job(scenario, command=("sh", "-c", f"exit {STATUS}"), env={"TRACKER_GRACE": "600"}) as job:
            wait_for(lambda: scenario.plan.count("register"), "the registration")
            job.tracker.send(number)
            done = job.done().ended(STATUS, "--upload-spool")
        expect(done.secs < WAIT_SECS, f"it took {done.secs:.1f} s")
        scenario.plan.heal()
        scenario.upload_spool().ended(0)
        equal(job.check_arrived()["exit_code"], STATUS, "exit_code")


@test
def without_threads_everything_is_delivered_at_the_end():
    before = (os.path.realpath(sys.executable), "-c", NO_THREADS)
    if subprocess.run([*before, "/bin/true"], capture_output=True, timeout=WAIT_SECS, check=False).returncode != 0:
        raise Skip("a filter of system calls is not permitted")
    with make_scenario() as scenario, Job(scenario, "-i", "0.05", before=before) as job:
        job.wait_rows(5)
        wait_for(lambda: holds_row(scenario, job.csv.read_bytes().splitlines()[-1]), "rows in the spool")
        equal(scenario.api.connections, 0, "connections before the end")
        done = job.done().ended(STATUS, "cannot start a thread")
        equal(len(done.warnings()), 1, f"warnings in {done.stderr!r}")
        equal(job.check_arrived()["exit_code"], STATUS, "exit_code")
        scenario.check_strict()
        equal(scenario.spool_files(), [], "files in the spool")


def network_calls(scenario, *words, env):
    """What strace shows of the network calls of a tracker and its command, as (thread, name, arguments and result). The
    sockets for marks that killed trackers left behind are tried before they are removed: that is not of the network."""
    trace = scenario.directory / "trace"
    before = (need_strace(), "-f", "-e", "trace=network", "-o", str(trace))
    scenario.run(*words, env=env, before=before).ended(0)
    local = re.compile(r"\d+, (0x[0-9a-f]+|\{sa_family=AF_UNIX, .*/resource-tracker-.*\}), %d\)" % SOCKADDR_UN_BYTES)
    calls = trace_calls(trace.read_text(encoding="ascii", errors="replace"))
    return [call for call in calls if not (call[1] == "connect" and local.match(call[2]))]


def read_connects(calls):
    """The arguments of connections, and of what was sent in datagrams; to connect a socket of the latter sends nothing
    by itself. A thread uses the sockets that it made; what leads to a helper of ours is a pair, often used by another
    one."""
    connects, datagrams, loose = [], [], set()
    for thread, name, arguments in calls:
        made = re.match(r"AF_INET6?, SOCK_(\w+).*= (\d+)$", arguments)
        socket = (thread, arguments.split(",")[0])
        if name == "socket" and made:
            (loose.add if made[1] == "DGRAM" else loose.discard)((thread, made[2]))
        elif name == "connect" and socket not in loose:
            connects.append(arguments)
        elif name.startswith("send") and socket in loose:
            datagrams.append(arguments)
    return connects, datagrams


@test
def without_a_target_there_is_no_socket():
    env = {"SENTINEL_API_TOKEN": None, "TRACKER_COLLECT_CLOUD": "true"}
    with make_scenario() as scenario:
        calls = network_calls(scenario, "-i", "0.1", "-o", "out", "--", "sleep", "0.5", env=env)
        # The one for marks leads nowhere.
        made = [call for call in calls if call[1] in ("socket", "connect", "bind", "listen")]
        local = [call for call in made if "AF_UNIX" in call[2] and call[1] in ("socket", "bind")]
        equal([call for call in made if call not in local], [], "network calls")
        expect(len(local) <= 2, local)
        equal([scenario.api.connections, scenario.s3.connections], [0, 0], "connections")
        expect(not scenario.spool.exists(), "there is a spool")


@test
def with_a_target_it_connects_to_that_only():
    with make_scenario() as scenario:
        calls = network_calls(scenario, "-q", "-i", "0.1", "--", "sleep", "1.5", env={})
        scenario.check_strict()
        ports = {str(scenario.api.port), str(scenario.s3.port)}
        connects, datagrams = read_connects(calls)
        # Without the right to trace anything, strace cannot read the addresses in the memory that the tracker guards.
        # No connection leads elsewhere where the servers had them all.
        unread = [line for line in connects if re.match(r"\d+, 0x", line)]
        shown = [line for line in connects if line not in unread]
        equal({line for line in shown if 'inet_addr("127.0.0.1")' not in line}, set(), "connections elsewhere")
        equal(len(connects), scenario.api.connections + scenario.s3.connections, f"connections, {connects}")
        if not unread:
            equal({re.search(r"htons\((\d+)\)", line)[1] for line in connects}, ports, "ports")
        expect(scenario.api.connections > 0 and scenario.s3.connections > 0, "a target without a connection")
        equal(datagrams, [], "datagrams that were sent")


tap.add("a server with a full backlog delays nothing and loses nothing", black_hole, full_backlog, limit=20 * PATIENCE)
tap.add("a server that never answers delays nothing and loses nothing", black_hole, no_answers, limit=20 * PATIENCE)
for name in ("SIGINT", "SIGTERM"):
    tap.add(f"{name} during the grace time ends the wait", interrupted, getattr(signal, name), limit=20 * PATIENCE)

if __name__ == "__main__":
    tap.main()
