#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings: what is refused and how, which source wins, and that --print-config says it all but the secrets."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import tomllib

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import BINARY, Tracker, clean_env, directory, parse, run, wait_file_lines, wait_until

KEPT = "this was here before\n"
SECRET = "s3cr3tVALUE"
# The discard port, on which nothing listens.
DISCARD = "http://127.0.0.1:9"


def show(args=(), env=None, cwd=None):
    """The effective settings as --print-config writes them, parsed."""
    done = run([*args, "--print-config"], env=env, cwd=cwd)
    equal((done.returncode, done.stderr), (0, ""), f"status and stderr of {args} {env}")
    return tomllib.loads(done.stdout)


def write_toml(place, text):
    path = pathlib.Path(place) / "resource-tracker.toml"
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text, encoding="utf-8")
    path.chmod(0o644)  # one that others can write would not be used
    return path


def refused(words, args=(), env=None, toml=None):
    """One line on stderr that holds the words, status 125, and nothing started or touched."""
    with directory() as place:
        if toml is not None:
            write_toml(place, toml)
        (place / "kept").write_text(KEPT, encoding="utf-8")
        before = os.stat(place / "kept")
        for output in ("kept", "new"):
            done = run(["-o", output, *args], env=env, cwd=place)
            equal(done.returncode, 125, f"exit status (stderr {done.stderr!r})")
            equal(done.stdout, "", "stdout")
            expect(done.stderr.startswith("resource-tracker: error: "), f"stderr begins otherwise: {done.stderr!r}")
            expect(done.stderr.endswith("\n") and done.stderr.count("\n") == 1, f"not one line: {done.stderr!r}")
            for word in words:
                expect(word in done.stderr, f"{word!r} is not in {done.stderr!r}")
            expect(SECRET not in done.stderr, f"a secret in {done.stderr!r}")
        after = os.stat(place / "kept")
        equal((place / "kept").read_text(encoding="utf-8"), KEPT, "content of the output file")
        equal((after.st_mtime_ns, after.st_ino), (before.st_mtime_ns, before.st_ino), "the output file's identity")
        expect(not (place / "new").exists(), "an output file was made")


REFUSED = [
    ("--interval 0", ["interval_secs = 0 (from --interval): must be at least 0.01"], {"args": ["--interval", "0"]}),
    ("-i abc", ["interval_secs", "abc", "--interval"], {"args": ["-i", "abc"]}),
    ("-i -1", ["interval_secs", "must be at least 0.01"], {"args": ["-i", "-1"]}),
    ("an empty -i", ["interval_secs"], {"args": ["-i", ""]}),
    ("--format xml", ["format = xml", "json or csv"], {"args": ["--format", "xml"]}),
    ("--csv-columns all", ["csv_columns", "auto, system, full or python"], {"args": ["--csv-columns", "all"]}),
    ("TRACKER_INTERVAL=0", ["interval_secs = 0 (from TRACKER_INTERVAL): must be at least 0.01"],
     {"env": {"TRACKER_INTERVAL": "0"}}),
    ("TRACKER_FORMAT=xml", ["format", "TRACKER_FORMAT"], {"env": {"TRACKER_FORMAT": "xml"}}),
    ("TRACKER_QUIET=perhaps", ["quiet", "TRACKER_QUIET"], {"env": {"TRACKER_QUIET": "perhaps"}}),
    ("a bad variable although a flag overrides it", ["TRACKER_INTERVAL"],
     {"args": ["-i", "1"], "env": {"TRACKER_INTERVAL": "x"}}),
    ("a TOML syntax error", ["resource-tracker.toml:2:9:"], {"toml": "# a\n[tracker\n"}),
    ("a TOML string without end", ["resource-tracker.toml:1:"], {"toml": 'a = "b\n'}),
    ("a TOML key given twice", ["resource-tracker.toml:3:1:"], {"toml": "[tracker]\nquiet = true\nquiet = false\n"}),
    ("TOML that is not UTF-8", ["resource-tracker.toml:1:"], {"toml": b'a = "\xff"\n'}),
    ("interval_secs = \"x\" in TOML", ["interval_secs", "resource-tracker.toml:2:17"],
     {"toml": '[tracker]\ninterval_secs = "x"\n'}),
    ("interval_secs = 0 in TOML", ["interval_secs = 0", "resource-tracker.toml:2:17", "must be at least 0.01"],
     {"toml": "[tracker]\ninterval_secs = 0\n"}),
    ("interval_secs = nan in TOML", ["interval_secs", "resource-tracker.toml:2:17"],
     {"toml": "[tracker]\ninterval_secs = nan\n"}),
    ("interval_secs = true in TOML", ["interval_secs", "resource-tracker.toml:2:17"],
     {"toml": "[tracker]\ninterval_secs = true\n"}),
    ("interval_secs = [1] in TOML", ["interval_secs", "resource-tracker.toml:2:17"],
     {"toml": "[tracker]\ninterval_secs = [1]\n"}),
    ("format = 1 in TOML", ["format", "resource-tracker.toml:2:10"], {"toml": "[tracker]\nformat = 1\n"}),
    ("quiet = 3 in TOML", ["quiet", "resource-tracker.toml:2:9"],
     {"toml": "[tracker]\nquiet = 3\n"}),
    ("tracker = 1 in TOML", ["tracker", "resource-tracker.toml:1:11", "table"], {"toml": "tracker = 1\n"}),
    ("job.tags = \"a\" in TOML", ["tags", "resource-tracker.toml:2:8"], {"toml": '[job]\ntags = "a"\n'}),
    ("a configuration file that is a directory", ["cannot read configuration file", "directory"],
     {"args": ["--config", "/"]}),
    ("a configuration file larger than 1 MiB", ["1 MiB"], {"toml": "#" * (1 << 20) + "\n"}),
    ("an unknown flag", ["--intreval", "did you mean", "--interval"], {"args": ["--intreval", "1"]}),
    ("an unknown short flag", ["-x"], {"args": ["-x"]}),
    ("an abbreviated flag", ["--inter"], {"args": ["--inter", "1"]}),
    ("a flag without its value", ["-i", "needs a value"], {"args": ["-i"]}),
    ("a value for a flag that has none", ["--help", "takes no value"], {"args": ["--help=x"]}),
    ("a tag without a value", ["tags"], {"args": ["--tag", "novalue"]}),
    ("an empty output name", ["output"], {"args": ["--output="]}),
    ("an output directory that does not exist", ["/nonexistent/out: its directory does not exist"],
     {"args": ["-o", "/nonexistent/out"]}),
    ("an output that is a directory", ["Is a directory"], {"args": ["-o", "/"]}),
    ("a sysroot that does not exist", ["/nonexistent", "No such file"], {"args": ["--sysroot", "/nonexistent"]}),
    ("a sysroot that is a file", ["/dev/null"], {"args": ["--sysroot", "/dev/null"]}),
    ("two dashes and no command", ["--"], {"args": ["--"]}),
    ("a process that is not there", ["4194304", "no such process"], {"args": ["--pid", "4194304"]}),
    ("--pid 0", ["pid", "must be at least 1"], {"args": ["--pid", "0"]}),
    ("a recording that is not there", ["nowhere.jsonl", "No such file"], {"args": ["--from", "nowhere.jsonl"]}),
    ("a recording and a command at once", ["from", "command"], {"args": ["--from", "x", "true"]}),
    ("a report in a directory that is not there", ["/nonexistent/r.html"],
     {"args": ["--report", "/nonexistent/r.html"]}),
    ("a summary in a directory that is not there", ["/nonexistent/s"], {"args": ["--summary-json", "/nonexistent/s"]}),
    ("--upload-spool and a command at once", ["--upload-spool", "command"], {"args": ["--upload-spool", "true"]}),
    ("a command and --pid at once", ["pid", "command"], {"args": ["--pid", "1", "true"]}),
    ("a secret that is malformed, without showing it", ["TRACKER_HTTP_HEADERS"],
     {"env": {"TRACKER_HTTP_HEADERS": SECRET}}),
    ("a header name that is none, without showing its value", ["TRACKER_HTTP_HEADERS", "header name"],
     {"env": {"TRACKER_HTTP_HEADERS": f"X Y={SECRET}"}}),
    ("a secret without its quotes, without showing it", ["resource-tracker.toml:2:13", "needs quotes"],
     {"toml": f"[http.headers]\nX-Api-Key = {SECRET}\n"}),
    ("--duration and a command at once", ["--duration", "command"], {"args": ["--duration", "5", "true"]}),
    ("a flag of other programs", ["--json", "--format json"], {"args": ["--json"]}),
    ("a header value with a line break, without showing it", ["resource-tracker.toml:2:5", "control characters"],
     {"toml": f'[http.headers]\nX = "{SECRET}\\r\\nY: 1"\n'}),
    ("an unknown field in TRACKER_OMIT", ["omit", "TRACKER_OMIT", 'did you mean "host_ip"'],
     {"env": {"TRACKER_OMIT": "host_id,host_ipp"}}),
    ("an unknown field in sentinel.omit", ["omit", "resource-tracker.toml:2:8", 'did you mean "cloud_zone_id"'],
     {"toml": '[sentinel]\nomit = ["cloud_zone"]\n'}),
    ("a sentinel.omit that is a number", ["omit", "resource-tracker.toml:2:8", "array of strings"],
     {"toml": "[sentinel]\nomit = 1\n"}),
    ("TRACKER_SENTINEL_INLINE=gzip", ["inline = gzip", "auto, base64 or plain"],
     {"env": {"TRACKER_SENTINEL_INLINE": "gzip"}}),
    ("control characters are not echoed", ["interval_secs"], {"args": ["-i", "1\x1b[31m\n2"]}),
]
for name_, words_, how in REFUSED:
    tap.add(f"refused: {name_}", lambda words=words_, how=how: refused(words, **how))


@test
def the_bounds_of_the_interval():
    for text, secs in (("0.01", 0.01), ("10ms", 0.01), ("0.25", 0.25), ("250ms", 0.25), ("2s", 2), ("1m", 60),
                       ("1.5m", 90), ("24h", 86400), ("86400", 86400), ("1440m", 86400)):
        equal(show(["-i", text])["tracker"]["interval_secs"], secs, f"-i {text}")
    for text in ("0.009", "9ms", "0.00999", "25h", "24.01h", "86401", "1e3", "nan", "inf", "1 s", "0x10", "1,5", "+1",
                 "ms", ".", "1.", "99999999999999999999", " 1", "1S"):
        done = run(["-i", text])
        equal((done.returncode, done.stdout, done.stderr.count("\n")), (125, "", 1), f"-i {text!r}")


@test
def flag_over_environment_over_file_over_default():
    with directory() as place:
        equal(show(cwd=place)["tracker"]["interval_secs"], 1, "default")
        write_toml(place, '[tracker]\ninterval_secs = 3\nformat = "csv"\n[job]\nname = "file"\n')
        equal(show(cwd=place)["tracker"]["interval_secs"], 3, "file")
        env = {"TRACKER_INTERVAL": "2", "TRACKER_JOB_NAME": "env"}
        equal(show(env=env, cwd=place)["tracker"]["interval_secs"], 2, "environment")
        settings = show(["-i", "0.5"], env=env, cwd=place)
        equal(settings["tracker"]["interval_secs"], 0.5, "flag")
        equal(settings["tracker"]["format"], "csv", "what only the file says")
        equal(settings["job"]["name"], "env", "what file and environment say")
        equal(show(["-i", "5", "-i", "6"], cwd=place)["tracker"]["interval_secs"], 6, "the last flag")


@test
def empty_variables_count_as_unset():
    names = ("TRACKER_INTERVAL", "TRACKER_FORMAT", "TRACKER_QUIET", "TRACKER_OUTPUT", "TRACKER_CONFIG", "TRACKER_PID",
             "TRACKER_SYSROOT", "TRACKER_TAGS", "TRACKER_JOB_NAME", "SENTINEL_API_TOKEN")
    equal(show(env={name: "" for name in names}), show(), "settings")


@test
def boolean_words():
    for words, value in ((("1", "true", "yes", "on", "TRUE", "Yes"), True),
                         (("0", "false", "no", "off", "OFF"), False)):
        for word in words:
            equal(show(env={"TRACKER_QUIET": word})["tracker"]["quiet"], value, f"TRACKER_QUIET={word}")
            equal(show([f"--append={word}"])["tracker"]["append"], value, f"--append={word}")
    equal(show(["--append"])["tracker"]["append"], True, "--append")
    equal(show(["--no-append"], env={"TRACKER_APPEND": "1"})["tracker"]["append"], False, "--no-append")


@test
def the_file_in_the_working_directory_is_read_unless_another_is_named():
    with directory() as place:
        write_toml(place, "[tracker]\ninterval_secs = 3\n")
        (place / "other.toml").write_text("[tracker]\ninterval_secs = 4\n")
        (place / "third.toml").write_text("[tracker]\ninterval_secs = 5\n")
        equal(show(cwd=place)["tracker"]["interval_secs"], 3, "the file of the directory")
        env = {"TRACKER_CONFIG": "other.toml"}
        equal(show(env=env, cwd=place)["tracker"]["interval_secs"], 4, "TRACKER_CONFIG")
        equal(show(["-c", "third.toml"], env=env, cwd=place)["tracker"]["interval_secs"], 5, "--config")


@test
def a_missing_configuration_file_is_a_warning_where_it_was_named():
    for args, env in (([], {}), (["--config", "/nonexistent/file.toml"], {}),
                      ([], {"TRACKER_CONFIG": "/dev/null/file.toml"})):
        with Tracker("-i", "0.05", *args, env=env) as tracker:
            parse(tracker.stdout.next())
            equal(tracker.stop(), 0, "exit status")
            stderr = tracker.stderr()
        named = args or env
        pattern = r"resource-tracker: warning: [^\n]*file\.toml \(from [^\n]+\) does not exist[^\n]*\n" if named else ""
        expect(re.fullmatch(pattern, stderr), f"stderr with {named}: {stderr!r}")


def warning_of(args=(), env=None, cwd=None):
    """What the run of a command says about its settings: at most one warning."""
    done = run([*args, "true"], env=env, cwd=cwd)
    equal((done.returncode, done.stdout), (0, ""), "status and stdout")
    expect(re.fullmatch(r"(resource-tracker: warning: [^\n]+\n)?", done.stderr), f"stderr {done.stderr!r}")
    return done.stderr


@test
def a_file_of_another_user_in_the_working_directory_is_not_used():
    if os.geteuid() != 0:
        raise Skip("needs root to give files away")
    with directory() as place:
        # As in /tmp: every user may put files there, and the caller is root.
        place.chmod(0o1777)
        precious = place / "precious"
        precious.write_text(KEPT, encoding="utf-8")
        text = f'[tracker]\noutput = "{precious}"\n'
        path = write_toml(place, text)
        os.chown(path, 65534, 65534)
        for _ in ("the file", "a link of that user to a file of ours"):
            stderr = warning_of(cwd=place, args=["-q"])
            expect("ignoring resource-tracker.toml: it is owned by another user" in stderr, stderr)
            expect("--config" in stderr, stderr)
            run(["true"], cwd=place)
            equal(precious.read_text(encoding="utf-8"), KEPT, "the file that was to be overwritten")
            path.unlink()
            (place / "ours.toml").write_text(text, encoding="utf-8")
            path.symlink_to("ours.toml")
            os.chown(path, 65534, 65534, follow_symlinks=False)
        # A link of ours to a file of ours serves: so do Kubernetes' ConfigMaps.
        os.chown(path, 0, 0, follow_symlinks=False)
        (place / "ours.toml").write_text("[tracker]\ninterval_secs = 3\n", encoding="utf-8")
        (place / "ours.toml").chmod(0o644)
        equal(show(cwd=place)["tracker"]["interval_secs"], 3, "interval_secs by a link")
        os.chown(place / "ours.toml", 65534, 65534)
        expect("another user" in warning_of(cwd=place, args=["-q"]), "a link to a file of another user is used")
        # A file that is named is used.
        equal(show(["-c", "resource-tracker.toml"], cwd=place)["tracker"]["interval_secs"], 3, "when it is named")


@test
def a_file_in_the_working_directory_that_others_can_write_is_not_used():
    with directory() as place:
        path = write_toml(place, "[tracker]\ninterval_secs = 3\n")
        for mode in (0o664, 0o646, 0o666):
            path.chmod(mode)
            stderr = warning_of(cwd=place, args=["-q"])
            expect("writable by others" in stderr and "chmod go-w" in stderr, f"mode {mode:o}: {stderr!r}")
        path.unlink()
        os.mkfifo(path)
        expect("not a regular file" in warning_of(cwd=place, args=["-q"]), "a pipe")
        path.unlink()
        path.mkdir()
        expect("not a regular file" in warning_of(cwd=place, args=["-q"]), "a directory")


@test
def a_file_in_the_working_directory_loads_no_code():
    library = os.environ.get("FAKE_NVML_LIB", "/nonexistent/lib.so")
    with directory() as place:
        write_toml(place, f'[collect]\nnvml_path = "{library}"\n')
        stderr = warning_of(cwd=place, args=["-q"])
        expect("collect.nvml_path (resource-tracker.toml:2:13) is ignored" in stderr, stderr)
        with Tracker("-i", "0.05", cwd=place) as tracker:
            sample = parse(tracker.stdout.next())
            equal(tracker.stop(), 0, "exit status")
        expect(not [gpu for gpu in sample["gpu"] or [] if "Fake" in str(gpu)], sample["gpu"])
        equal(show(["-c", "resource-tracker.toml"], cwd=place)["collect"]["nvml_path"], library, "nvml_path when named")


@test
def settings_without_effect_are_mentioned():
    for args, env, words in (
            (["-q", "-o", "a.jsonl"], {}, "no samples are written to a.jsonl"),
            (["-q", "--append"], {}, "--append has no effect"),
            (["-q", "--stop-with-pid"], {}, "--stop-with-pid has no effect without --pid"),
            (["-o", "{jobname}.jsonl"], {}, "unknown placeholder {jobname}"),
            (["-o", "a.jsonl", "--csv-columns", "full"], {}, "--csv-columns has no effect"),
            (["-q"], {"TRACKER_DURATION": "5"}, "duration_secs (from TRACKER_DURATION) has no effect with a command"),
            (["-q"], {"TRACKER_INTREVAL": "5"}, "TRACKER_INTREVAL, did you mean TRACKER_INTERVAL?")):
        with directory() as place:
            expect(words in warning_of(args, env, place), f"{words!r} is not said of {args} {env}")
    for args, env in ((["-q"], {"TRACKER_APPEND": "1", "TRACKER_STOP_WITH_PID": "1", "TRACKER_CSV_COLUMNS": "full",
                                "TRACKER_OUTPUT": "x.jsonl", "TRACKER_FORMAT": "csv", "TRACKER_CGROUP": "0"}),
                      (["-o", "{job}{host}{pid}{datetime}.jsonl", "--append"], {})):
        with directory() as place:
            equal(warning_of(args, env, place), "", f"stderr of {args} {env}")


@test
def words_that_are_no_command_get_a_hint():
    for args, words in ((["--summary", "always", "true"], "--summary=always"), (["help"], "--help"),
                        (["version"], "--version")):
        done = run(["-q", *args])
        equal(done.returncode, 127, f"status of {args}")
        lines = done.stderr.splitlines()
        expect(len(lines) == 2 and words in lines[0] and "command not found" in lines[1], lines)


@test
def a_command_wins_over_a_pid_of_the_file_or_the_environment():
    with directory() as place:
        write_toml(place, "[job]\npid = 1\n")
        done = run(["-q", "--", "sh", "-c", "exit 7"], env={"TRACKER_PID": "4194304"}, cwd=place)
        equal((done.returncode, done.stderr), (7, ""), "status and stderr")


def niceness(pid):
    """Of every thread of a process."""
    return {int((task / "stat").read_text().rsplit(") ", 1)[1].split()[16])
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}


@test
def renice_is_of_the_tracker_and_not_of_the_command():
    own = os.getpriority(os.PRIO_PROCESS, 0)
    more = min(own + 3, 19)
    for args, env, want in ((["-r"], {}, 19), (["--renice", str(more)], {}, more), ([f"-r{more}"], {}, more),
                            ([], {"TRACKER_RENICE": str(more)}, more),
                            # With a thread that is there before the command starts.
                            (["-r", "19"], {"TRACKER_HTTP_START_URL": f"{DISCARD}/x", "TRACKER_GRACE": "0"}, 19)):
        with directory() as place, Tracker("-q", *args, "--", "sh", "-c", "nice > nice; exec sleep 30", cwd=place,
                                           env={**env, "TRACKER_SPOOL": str(place / "spool")}) as tracker:
            wait_file_lines(place / "nice", 1)
            equal(int((place / "nice").read_text()), own, f"niceness of the command with {args} {env}")
            wait_until(lambda: niceness(tracker.process.pid) == {want}, f"niceness {want} with {args} {env}")
            tracker.stop()


@test
def a_niceness_that_is_refused_is_one_warning():
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or not setpriv:
        raise Skip("needs root and setpriv to become another user")
    with directory() as shelf:
        shelf.chmod(0o755)
        binary = shutil.copy(BINARY, shelf / "resource-tracker")
        done = subprocess.run([setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all",
                               binary, "-q", "--renice=-20", "--", "sh", "-c", "exit 3"], env=clean_env(), cwd="/",
                              text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=10, check=False)
    equal(done.returncode, 3, "exit status")
    expect(re.fullmatch(r"resource-tracker: warning: [^\n]*niceness[^\n]*-20[^\n]*\n", done.stderr), done.stderr)


@test
def tracking_without_a_command_ends_after_its_duration():
    with directory() as place, subprocess.Popen(["sleep", "30"]) as job:
        try:
            for mode in ([], ["--pid", str(job.pid)]):
                begin = time.monotonic()
                done = run([*mode, "-i", "0.1", "--duration", "0.5", "-o", "x.jsonl"], cwd=place)
                took = time.monotonic() - begin
                equal((done.returncode, done.stderr), (0, ""), "status and stderr")
                expect(0.5 <= took < 5, f"it took {took:.2f} s")
                samples = [parse(line) for line in (place / "x.jsonl").read_text().splitlines()]
                expect(1 <= len(samples) <= 5, f"{len(samples)} samples")
                expect(samples[-1]["elapsed_secs"] >= 0.5, samples[-1]["elapsed_secs"])
        finally:
            job.kill()
    equal(run(["--duration", "1", "true"]).returncode, 125, "status with a command")


def print_config_as_nobody(place, args=(), env=None):
    """--print-config by a user without rights, with `place` as its working directory."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or not setpriv:
        raise Skip("only root may become another user")
    with directory() as shelf:
        shelf.chmod(0o755)
        binary = shutil.copy(BINARY, shelf / "resource-tracker")
        os.chmod(binary, 0o755)
        return subprocess.run([setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", binary, *args,
                               "--print-config"], env=clean_env(**(env or {})), cwd=place, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=10, check=False)


@test
def a_working_directory_that_may_not_be_searched_is_no_event():
    with directory() as place:
        place.chmod(0o700)
        for toml in (None, "[tracker]\ninterval_secs = 3\n"):
            if toml:
                write_toml(place, toml)
            done = print_config_as_nobody(place)
            equal((done.returncode, done.stderr), (0, ""), f"status and stderr with {toml!r}")
            equal(tomllib.loads(done.stdout)["tracker"]["interval_secs"], 1, "interval_secs")
        for how in ({"args": ["-c", "resource-tracker.toml"]}, {"env": {"TRACKER_CONFIG": "resource-tracker.toml"}}):
            done = print_config_as_nobody(place, **how)
            equal(done.returncode, 125, f"exit status with {how}")
            equal(done.stderr, "resource-tracker: error: cannot read configuration file resource-tracker.toml: "
                               "Permission denied\n", f"stderr with {how}")


@test
def a_configuration_file_that_may_not_be_read_is_not_used():
    with directory() as place, directory() as closed:
        place.chmod(0o755)
        closed.chmod(0o700)
        path = write_toml(place, "[tracker]\ninterval_secs = 3\n")
        path.chmod(0o600)
        for _ in ("a file", "a link into a closed directory"):
            done = print_config_as_nobody(place)
            equal(done.returncode, 0, "status")
            equal(tomllib.loads(done.stdout)["tracker"]["interval_secs"], 1, "interval_secs")
            equal(done.stderr, "resource-tracker: warning: ignoring resource-tracker.toml: Permission denied\n",
                  "stderr")
            path.unlink()
            path.symlink_to(closed / "resource-tracker.toml")


@test
def the_configuration_may_come_through_a_pipe():
    reader, writer = os.pipe()
    os.write(writer, b"[tracker]\ninterval_secs = 7\n")
    os.close(writer)
    done = subprocess.run([BINARY, "-c", f"/dev/fd/{reader}", "--print-config"], env=clean_env(), pass_fds=[reader],
                          capture_output=True, text=True, timeout=10, check=False)
    os.close(reader)
    equal(tomllib.loads(done.stdout)["tracker"]["interval_secs"], 7, "interval_secs")


@test
def an_unknown_key_is_a_warning_with_a_suggestion():
    with directory() as place:
        write_toml(place, "[tracker]\nintervall_secs = 9\n")
        with Tracker("-i", "0.05", cwd=place) as tracker:
            parse(tracker.stdout.next())
            equal(tracker.stop(), 0, "exit status")
            stderr = tracker.stderr()
    expect(re.fullmatch(r"resource-tracker: warning: [^\n]+\n", stderr), f"stderr {stderr!r}")
    for word in ("tracker.intervall_secs", "resource-tracker.toml:2:1", 'did you mean "tracker.interval_secs"'):
        expect(word in stderr, f"{word!r} is not in {stderr!r}")


@test
def an_unknown_table_is_one_warning():
    with directory() as place:
        write_toml(place, "[trakcer]\na = 1\nb = 2\n[trakcer.c]\nd = 3\n")
        with Tracker("-i", "0.05", cwd=place) as tracker:
            parse(tracker.stdout.next())
            equal(tracker.stop(), 0, "exit status")
            stderr = tracker.stderr()
    expect(re.fullmatch(r"resource-tracker: warning: [^\n]*trakcer[^\n]*\"tracker\"[^\n]*\n", stderr), repr(stderr))


@test
def settings_without_a_target_are_accepted_silently():
    flags = {"--grace": "1", "--project-name": "x", "--stage-name": "x", "--task-name": "x", "--team": "x",
             "--env": "x", "--language": "x", "--orchestrator": "x", "--executor": "x", "--external-run-id": "x",
             "--container-image": "x", "--tag": "a=b"}
    env = {"TRACKER_TAGS": "c=d,e=f", "TRACKER_UPLOAD_INTERVAL": "9", "TRACKER_OMIT": "host_ip",
           "TRACKER_SEND_COMMAND": "0", "TRACKER_S3_PATH_STYLE": "1", "TRACKER_HTTP_HEARTBEAT_SECS": "9",
           "TRACKER_ALLOW_HTTP": "1", "TRACKER_HTTP_HEADERS": f"X-Key={SECRET}", "TRACKER_SPOOL_MAX_MIB": "9"}
    words = [word for pair in flags.items() for word in pair]
    with directory() as place:
        write_toml(place, '[s3]\nregion = "eu-1"\nendpoint = "https://example.org"\n[sentinel]\ninline = "plain"\n')
        env["TRACKER_SPOOL"] = str(place / "spool")
        with Tracker("-i", "0.05", *words, env=env, cwd=place) as tracker:
            parse(tracker.stdout.next())
            equal(tracker.stop(), 0, "exit status")
            equal(tracker.stderr(), "", "stderr")
        expect(not (place / "spool").exists(), "a spool was made although nothing is streamed")


# The tests may run under one of these themselves; an empty variable counts as unset.
NOWHERE = dict.fromkeys(("NXF_TASK_WORKDIR", "MF_PATHSPEC", "METAFLOW_FLOW_NAME", "AIRFLOW_CTX_DAG_ID",
                         "GITHUB_ACTIONS",
                         "GITLAB_CI", "BUILDKITE", "JENKINS_URL", "JENKINS_HOME", "KUBERNETES_SERVICE_HOST"), "")
SLURM = {**NOWHERE, "SLURM_JOB_ID": "4713", "SLURM_ARRAY_JOB_ID": "4700", "SLURM_ARRAY_TASK_ID": "12",
         "SLURM_JOB_NAME": "sweep", "SLURM_JWT": SECRET}


@test
def metadata_of_the_surroundings_is_taken_and_its_origin_shown():
    done = run(["--team", "ops", "--print-config"], env=SLURM)
    equal((done.returncode, done.stderr), (0, ""), "status and stderr")
    job = tomllib.loads(done.stdout)["job"]
    equal({name: job.get(name) for name in ("name", "executor", "external_run_id", "task_name", "team")},
          {"name": "sweep", "executor": "slurm", "external_run_id": "4700_12", "task_name": "12", "team": "ops"}, "job")
    for line in ('name = "sweep"  # SLURM_JOB_NAME (automatic)', 'executor = "slurm"  # SLURM_JOB_ID (automatic)',
                 'team = "ops"  # --team'):
        expect(line in done.stdout.splitlines(), f"no line {line!r} in", done.stdout)
    expect(SECRET not in done.stdout, "a secret is shown:", done.stdout)


@test
def metadata_of_the_surroundings_yields_to_everything_else_and_can_be_switched_off():
    equal(show(["-n", "mine"], env=SLURM)["job"]["name"], "mine", "name by flag")
    equal(show(env={**SLURM, "TRACKER_JOB_NAME": "env"})["job"]["name"], "env", "name by environment")
    expect("name" not in show(["--job-name="], env=SLURM)["job"], "a name that was set to nothing is filled")
    with directory() as place:
        write_toml(place, '[job]\nname = "file"\n')
        equal(show(env=SLURM, cwd=place)["job"]["name"], "file", "name by file")
        write_toml(place, "[job]\nauto_metadata = false\n")
        settings = show(env=SLURM, cwd=place)["job"]
        equal([name for name in ("name", "executor", "external_run_id", "task_name") if name in settings], [], "filled")


@test
def the_job_name_of_the_surroundings_is_in_the_samples():
    with Tracker("-i", "0.05", env=SLURM) as tracker:
        equal(parse(tracker.stdout.next())["job_name"], "sweep", "job_name")
        equal(tracker.stop(), 0, "exit status")
        equal(tracker.stderr(), "", "stderr")


@test
def variables_of_aws_and_features_switched_off_are_accepted_silently():
    env = {"AWS_REGION": "eu-1", "AWS_ENDPOINT_URL": "https://example.org", "TRACKER_COLLECT_GPU": "0",
           "TRACKER_JOB_NAME": "x", "TRACKER_ALLOW_HTTP": "0"}
    with Tracker("-i", "0.05", "--summary=never", "--no-cgroup", env=env) as tracker:
        parse(tracker.stdout.next())
        equal(tracker.stop(), 0, "exit status")
        equal(tracker.stderr(), "", "stderr")


ALL_FLAGS = ["--interval", "0.25", "--format", "csv", "--csv-columns", "full", "--append", "--quiet",
             "--sysroot", "/tmp", "--output", "a \"b\" \\c {pid}.csv",
             "--job-name", "näme 名\t\x07\x7f # = [x]", "--project-name", "p'q",
             "--stage-name", "s", "--task-name", "'''", "--team", "\"\"\"", "--env", "e", "--language", "l",
             "--orchestrator", "o", "--executor", "x", "--external-run-id", "00", "--container-image", "i:1",
             "--tag", "a.b=c=d", "--tag", "ä=", "--tag", "k=\n", "--summary", "--summary-json", "s.json",
             "--summary-markdown", "s.md", "--report", "r.html", "--grace", "1500ms", "--cgroup", "--no-subreaper"]
ALL_VARIABLES = {"TRACKER_COLLECT_GPU": "no", "TRACKER_COLLECT_PSS": "always", "TRACKER_S3_URI": "s3://b/p",
                 "AWS_ENDPOINT_URL": "https://s3.example.org/x", "TRACKER_S3_PATH_STYLE": "on",
                 "TRACKER_HTTP_START_URL": "https://h.example.org/start", "TRACKER_HTTP_HEARTBEAT_SECS": "2.5",
                 "TRACKER_SPOOL": "/tmp/spool", "TRACKER_UPLOAD_INTERVAL": "30", "TRACKER_SENTINEL_INLINE": "plain",
                 "TRACKER_SEND_COMMAND": "no", "TRACKER_OMIT": "host_ip, cloud_account_id"}


@test
def what_print_config_writes_gives_the_same_settings_when_read():
    with directory() as place:
        first = show(ALL_FLAGS, env=ALL_VARIABLES, cwd=place)
        done = run([*ALL_FLAGS, "--print-config"], env=ALL_VARIABLES, cwd=place)
        write_toml(place, done.stdout)
        second = show(cwd=place)
    equal(second, first, "settings read back")
    equal(first["tracker"]["interval_secs"], 0.25, "interval_secs")
    equal(first["tracker"]["grace_secs"], 1.5, "grace_secs")
    equal(first["tracker"]["subreaper"], False, "subreaper")
    equal(first["tracker"]["output"], 'a "b" \\c {pid}.csv', "output")
    equal(first["job"]["name"], "näme 名\t\x07\x7f # = [x]", "name")
    equal(first["job"]["tags"], {"a.b": "c=d", "ä": "", "k": "\n"}, "tags")
    equal(first["sentinel"], {"inline": "plain", "send_command": False, "omit": ["host_ip", "cloud_account_id"]},
          "sentinel")
    equal(first["s3"]["endpoint"], "https://s3.example.org/x", "endpoint")


@test
def print_config_names_every_origin():
    with directory() as place:
        write_toml(place, '[tracker]\nformat = "csv"\n')
        done = run(["-i", "2", "--print-config"], env={"TRACKER_QUIET": "1"}, cwd=place)
    lines = {line.split(" = ")[0]: line for line in done.stdout.splitlines() if " = " in line}
    expect("--interval" in lines["interval_secs"], lines["interval_secs"])
    expect("TRACKER_QUIET" in lines["quiet"], lines["quiet"])
    expect("resource-tracker.toml:2" in lines["format"], lines["format"])
    expect("default" in lines["append"], lines["append"])


@test
def print_config_stays_readable_whatever_bytes_a_name_holds():
    done = subprocess.run([BINARY, "--print-config", "--job-name", b"a\xff\xc3\x28\xed\xa0\x80z"], env=clean_env(),
                          capture_output=True, timeout=10, check=False)
    name = tomllib.loads(done.stdout.decode("utf-8"))["job"]["name"]
    expect(name.startswith("a\ufffd") and name.endswith("z"), f"name {name!r}")


@test
def secrets_are_never_shown():
    env = {"SENTINEL_API_TOKEN": SECRET, "SENTINEL_API_KEY": SECRET,
           "TRACKER_HTTP_HEADERS": f"Authorization=Bearer {SECRET}",
           "TRACKER_HTTP_START_URL": f"https://user:{SECRET}@example.org/hook", "AWS_SECRET_ACCESS_KEY": SECRET,
           "SENTINEL_API_URL": f"https://user:{SECRET}@example.org/",
           "AWS_ENDPOINT_URL": f"https://{SECRET}@example.org/"}
    with directory() as place:
        write_toml(place, f'[http]\nstop_url = "https://a:{SECRET}@example.org/"\n[http.headers]\nX-Key = "{SECRET}"\n')
        done = run(["--print-config"], env=env, cwd=place)
        equal(done.returncode, 0, "exit status")
        expect(SECRET not in done.stdout + done.stderr, "a secret is shown:", done.stdout)
        expect("SENTINEL_API_TOKEN is set" in done.stdout, done.stdout)
        tomllib.loads(done.stdout)


@test
def secrets_are_never_reported_while_running():
    env = {"SENTINEL_API_TOKEN": SECRET, "SENTINEL_API_URL": f"{DISCARD}/api", "TRACKER_COLLECT_CLOUD": "0",
           "TRACKER_HTTP_HEADERS": f"Authorization=Bearer {SECRET}",
           "TRACKER_HTTP_START_URL": f"{DISCARD}/hook?token={SECRET}", "TRACKER_GRACE": "0"}
    with directory() as place:
        with Tracker("-vv", "-i", "0.05", env={**env, "TRACKER_SPOOL": str(place / "spool")}, cwd=place) as tracker:
            parse(tracker.stdout.next())
            equal(tracker.stop(), 0, "exit status")
            expect(SECRET not in tracker.stderr(), "a secret on stderr:", tracker.stderr())


@test
def secrets_in_the_query_of_an_address_are_never_shown():
    env = {"TRACKER_HTTP_START_URL": f"https://example.org/hook?token={SECRET}",
           "AWS_ENDPOINT_URL": f"https://example.org/?X-Amz-Signature={SECRET}"}
    done = run(["--print-config"], env=env)
    equal(done.returncode, 0, "exit status")
    shown = [line for line in done.stdout.splitlines() if SECRET in line]
    equal(shown, [], "lines of --print-config with a secret")


@test
def options_behind_the_command_are_not_parsed():
    for words in (["true", "-i", "0"], ["--", "--interval=0", "--no-such-option"], ["sh", "--help"]):
        done = run(["--print-config", *words])
        equal((done.returncode, done.stderr), (0, ""), f"status and stderr of {words}")
        equal(tomllib.loads(done.stdout)["tracker"]["interval_secs"], 1, f"interval_secs with {words}")


@test
def help_and_version_go_to_stdout():
    for flag, pattern in (("--help", r"(?s)Usage: resource-tracker .*--interval.*TRACKER_INTERVAL.*"),
                          ("-h", r"(?s)Usage: ([^\n]*\n){15,25}"),
                          ("--version", r"resource-tracker \d+\.\d+\.\d+\S*\n"),
                          ("-V", r"resource-tracker \S+\n"),
                          ("-vV", r"resource-tracker \S+\nmbedTLS \d\S+, zlib \d\S+\n(built without NVML[^\n]*\n)?")):
        done = run([flag], env={"TRACKER_INTERVAL": "0", "TRACKER_CONFIG": "/"})
        equal((done.returncode, done.stderr), (0, ""), f"status and stderr of {flag}")
        expect(re.fullmatch(pattern, done.stdout), f"{flag} prints", done.stdout)


@test
def help_names_every_option_of_the_contract():
    text = run(["--help"]).stdout
    for flag in ("pid", "interval", "config", "format", "output", "append", "quiet", "job-name", "project-name",
                 "stage-name", "task-name", "team", "env", "language", "orchestrator", "executor", "external-run-id",
                 "container-image", "tag", "csv-columns", "summary", "summary-json", "summary-markdown", "report",
                 "sysroot", "grace", "cgroup", "print-config", "upload-spool", "doctor", "help", "version", "verbose",
                 "from", "stop-with-pid", "renice", "aggregate-cpu-steal", "duration"):
        expect(re.search(rf"--{flag}\b", text), f"--{flag} is not in --help")
    expect(re.search(r"\n  129 +ended by SIGHUP", text), "status 129 is not in --help")
    expect("subreaper" in text, "--no-subreaper is not in --help")
    expect(all(len(line) <= 80 for line in text.splitlines()), "a line longer than 80 columns")


@test
def a_failing_stdout_is_a_failure_of_print_config():
    with open("/dev/full", "wb") as full:
        done = run(["--print-config"], capture_output=False, stdout=full, stderr=subprocess.PIPE)
    equal(done.returncode, 125, "exit status")


@test
def a_collector_that_is_switched_off_leaves_its_section_null():
    with directory() as place:
        write_toml(place, "[collect]\ndisk = false\nnetwork = false\n")
        with Tracker("-i", "0.05", cwd=place) as tracker:
            sample = parse(tracker.stdout.next())
            equal(tracker.stop(), 0, "exit status")
            equal(tracker.stderr(), "", "stderr")
    equal((sample["disk"], sample["network"]), (None, None), "sections")
    expect(sample["memory"] is not None, "memory is null")


@test
def settings_take_effect_from_the_file():
    with directory() as place:
        write_toml(place, '[tracker]\ninterval_secs = "50ms"\noutput = "out-{job}.jsonl"\n[job]\nname = "j"\n')
        with Tracker(cwd=place) as tracker:
            wait_file_lines(place / "out-j.jsonl", 2)
            equal(tracker.stop(), 0, "exit status")
            equal((tracker.stdout.all(), tracker.stderr()), ([], ""), "streams")
        sample = parse((place / "out-j.jsonl").read_text().splitlines()[1])
        equal(sample["job_name"], "j", "job_name")
        expect(sample["actual_interval_ms"] < 1000, sample["actual_interval_ms"])


@test
def a_configuration_from_a_pipe_is_waited_for():
    reader, writer = os.pipe()
    with subprocess.Popen([BINARY, "--config", f"/dev/fd/{reader}", "--print-config"], env=clean_env(), text=True,
                          pass_fds=[reader], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.close(reader)
        time.sleep(0.2)  # long enough for the program to have opened it
        os.write(writer, b"tracker.interval_secs = 7\n")
        os.close(writer)
        out, err = process.communicate(timeout=5)
    equal((process.returncode, err), (0, ""), "exit status and stderr")
    expect(f"interval_secs = 7  # /dev/fd/{reader}:1" in out, out)


# An escape sequence, C1's CSI, marks that change the direction of writing, a line separator, a character of no width.
ODD = "a\x1b]0;x\x07b\u009b31mc\u202ed\u2066e\u2028f\ufeffg\x7fh"


@test
def foreign_text_does_not_act_on_a_terminal():
    """Log lines, --print-config, --doctor and the summary, with odd names of options, settings, files and programs."""
    with directory() as place:
        program = place / ODD.replace("/", "")
        program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        program.chmod(0o755)
        write_toml(place, f"[job]\nname = {json.dumps('n' + ODD[2:4])}\n[tracker]\n{json.dumps(ODD)} = 1\n")
        for args in (["--" + ODD], ["--pid", ODD], ["-o", f"no/{ODD}/x", "true"], [f"/no/{ODD}"], ["--print-config"],
                     ["--job-name", ODD, "--print-config"], ["--sysroot", f"/{ODD}", "--doctor"], ["--doctor"],
                     ["-q", "--summary", "--job-name", ODD, str(program), ODD], ["--from", ODD, "-o", "-"]):
            done = run(args, cwd=place)
            acting = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]",
                                done.stdout + done.stderr)
            equal(acting, [], f"characters in the output of {args!r}")
            expect(done.stdout or done.stderr, f"no output of {args!r}")


if __name__ == "__main__":
    tap.main()
