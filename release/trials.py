# SPDX-License-Identifier: Apache-2.0
"""Runs the release programs where they must work: in a directory with nothing but /proc, a static shell, and for the
dynamic ones glibc 2.17; those for arm64 under qemu. The namespaces, mounts and processes of a trial end with it.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

from common import HERE, ROOT, Failure, call, parts_of
from elf import segments
from toolchains import glibc_directory

TRIAL_SECS = 90
LOOPS = 700_000
CPU_TOLERANCE = 0.05
CPU_SLACK_SECS = 0.04  # the shell counts in hundredths, and starts and ends outside of what it counts
QEMU = "qemu-aarch64-static"
BUSY = f"i=0; while [ $i -lt {LOOPS} ]; do i=$((i+1)); done; times; exit 3"
OLD_LIBRARIES = ("ld-linux*", "libc.so.6", "libdl.so.2", "libpthread.so.0", "libnss_dns.so.2", "libnss_files.so.2",
                 "libresolv.so.2")
MUST_BE_KNOWN = (("cpu", "utilization_pct"), ("cpu", "process_count"), ("cpu", "process_cores_used"),
                 ("cpu", "process_utime_secs"), ("cpu", "process_rss_mib"), ("cpu", "process_thread_count"),
                 ("memory", "total_mib"), ("memory", "used_mib"))


def tool(name, package):
    path = shutil.which(name)
    if not path:
        raise Failure(f"{name} is missing: install {package}")
    return path


def busybox():
    path = tool("busybox", "busybox-static")
    if any(item.kind == "INTERP" for item in segments(path)):
        raise Failure(f"{path} is not static: install busybox-static")
    return path


@contextlib.contextmanager
def empty_root(path, target):
    """A directory with the program, a shell, where /proc goes, and the C library where there is one."""
    machine, libc = parts_of(target)
    with tempfile.TemporaryDirectory(prefix="resource-tracker-root-") as name:
        root = pathlib.Path(name)
        (root / "proc").mkdir()
        shutil.copy(path, root / "resource-tracker")
        shutil.copy(busybox(), root / "busybox")
        if machine == "aarch64":
            shutil.copy(tool(QEMU, "qemu-user-static"), root / "qemu")
        if libc == "gnu":
            (root / "lib").mkdir()
            (root / "lib64").symlink_to("lib")
            for pattern in OLD_LIBRARIES:
                for library in (glibc_directory(machine) / "lib").glob(pattern):
                    shutil.copy(library, root / "lib" / library.name)
        yield root


def namespaces(*more):
    """Words that run what follows in namespaces of its own; without root a user namespace too."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [tool("unshare", "util-linux"), *user, "--mount", "--pid", "--fork", "--kill-child", *more]


def enter_root(root, target):
    """Words that mount /proc in the directory, enter it, and run the program there."""
    inside = ["/qemu", "/resource-tracker"] if parts_of(target)[0] == "aarch64" else ["/resource-tracker"]
    script = 'mount -t proc proc "$1/proc" && cd "$1" && shift && exec "$@"'
    chroot = shutil.which("chroot", path=os.environ.get("PATH", "") + ":/usr/sbin") or "chroot"
    return ["sh", "-c", script, "sh", root, chroot, root, *inside]


def trial_version(path, target):
    with empty_root(path, target) as root:
        start = [*namespaces(), *enter_root(root, target)]
        printed = call([*start, "-v", "--version"], secs=TRIAL_SECS, what="--version")
        doctor = call([*start, "--doctor"], secs=TRIAL_SECS, what="--doctor")
    wrap = (ROOT / "subprojects/mbedtls.wrap").read_text(encoding="utf-8")
    release = re.search(r"^directory = mbedtls-(\S+)", wrap, re.M).group(1)
    if f"mbedTLS {release}" not in printed:
        raise Failure(f"--version does not name mbedTLS {release}: {printed.strip()}")
    is_static = parts_of(target)[1] == "musl"
    if ("without NVML" in printed) != is_static or ("has no NVML" in doctor) != is_static:
        raise Failure(f"--version or --doctor is wrong about NVML: {printed.strip()}")
    return printed.strip().replace("\n", "; ")


def trial_licenses(path, target):
    wanted = ["Apache License", "Mbed TLS", "Jean-loup Gailly"] + (["musl"] if parts_of(target)[1] == "musl" else [])
    with empty_root(path, target) as root:
        printed = call([*namespaces(), *enter_root(root, target), "--licenses"], secs=TRIAL_SECS, what="--licenses")
    missing = [word for word in wanted if word not in printed]
    if missing:
        raise Failure(f"--licenses does not name {missing}")


def trial_unknown_gpu(path, target):
    """Without NVML the GPUs that are asked for are null, and one line says why."""
    if parts_of(target)[1] != "musl":
        return None
    with empty_root(path, target) as root:
        printed = call([*namespaces(), *enter_root(root, target), "--output", "/run.jsonl", "--", "/busybox", "true"],
                       secs=TRIAL_SECS, what="a run that asks for NVML", more_env={"TRACKER_NVML_PATH": "/nothing"})
        sample = json.loads((root / "run.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    if sample["gpu"] is not None or printed.count("this build has no NVML") != 1:
        raise Failure(f"gpu is {sample['gpu']}, and it says: {printed.strip()}")
    return None


def check_samples(text):
    samples = [json.loads(line) for line in text.splitlines()]
    samples = [sample for sample in samples if "cpu" in sample]
    if len(samples) < 2:
        raise Failure(f"{len(samples)} samples")
    for section, field in MUST_BE_KNOWN:
        if all(sample[section].get(field) is None for sample in samples):
            raise Failure(f"{section}.{field} is null in every sample")
    return len(samples)


def track(start, shell, outside, inside):
    """Tracks a busy loop. The directory of the output has two names: outside and inside of where the program runs."""
    printed = call([*start, "--interval", "100ms", "--output", inside / "run.jsonl", "--summary-json",
                    inside / "summary.json", "--", *shell, "-c", BUSY], secs=TRIAL_SECS, what="a busy loop", status=3)
    count = check_samples((outside / "run.jsonl").read_text(encoding="utf-8"))
    summary = json.loads((outside / "summary.json").read_text(encoding="utf-8"))
    times = re.search(r"^(\d+)m([\d.]+)s (\d+)m([\d.]+)s", printed, re.M)
    if not times:
        raise Failure(f"the command did not report its CPU time: {printed[:300]}")
    minutes, seconds, system_minutes, system_seconds = (float(word) for word in times.groups())
    truth = 60 * (minutes + system_minutes) + seconds + system_seconds
    found = summary["cpu"]["total_secs"]
    if abs(found - truth) > truth * CPU_TOLERANCE + CPU_SLACK_SECS:
        raise Failure(f"{found} s of CPU time are reported, the command says {truth:.2f} s")
    if summary["result"]["exit_code"] != 3:
        raise Failure(f"the summary has {summary['result']}")
    return f"{count} samples, {found:.2f} s of CPU time reported, {truth:.2f} s reported by the command"


def trial_tracking(path, target):
    """Tracks a busy loop: its exit status, its CPU time as the shell itself reports it, and values in the samples."""
    with empty_root(path, target) as root:
        start = [*namespaces(), *enter_root(root, target)]
        return track(start, ["/busybox", "sh"], root, pathlib.Path("/"))


def trial_old_loader(path, target):
    """The same without namespaces, with the loader of glibc 2.17 started by hand (that for arm64 cannot be)."""
    if target != "x86_64-linux-gnu":
        return None
    library = glibc_directory("x86_64") / "lib"
    with tempfile.TemporaryDirectory(prefix="resource-tracker-trial-") as name:
        start = [library / "ld-2.17.so", "--library-path", library, path]
        return track(start, [busybox(), "sh"], pathlib.Path(name), pathlib.Path(name))


def trial_failures(path, target):
    """The statuses of commands that cannot be run, are killed, or are scripts that do not name their shell."""
    with empty_root(path, target) as root:
        start = [*namespaces(), *enter_root(root, target), "--quiet", "--"]
        (root / "bin").mkdir()
        (root / "bin/sh").symlink_to("/busybox")
        (root / "bin/bare").write_text("exit $1\n", encoding="utf-8")
        (root / "bin/bare").chmod(0o755)
        for name in ("/bin/bare", "bare"):
            call([*start, name, "5"], secs=TRIAL_SECS, what=f"the script {name}", status=5,
                 more_env={"PATH": f"{os.environ['PATH']}:/bin"})
        call([*start, "/nothing-here"], secs=TRIAL_SECS, what="no such command", status=127)
        call([*start, "/busybox", "sh", "-c", "kill -9 $$"], secs=TRIAL_SECS, what="a killed command", status=137)


def trial_names(path, target):
    """Names are looked up, over TCP where an answer is long, without any file in /etc."""
    with empty_root(path, target) as root:
        words = enter_root(root, target)
        return call([*namespaces("--net"), sys.executable, HERE / "name_trial.py", *words], secs=TRIAL_SECS,
                    what="name resolution").strip()


TRIALS = (trial_version, trial_licenses, trial_tracking, trial_old_loader, trial_failures, trial_unknown_gpu,
          trial_names)
