#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Podman with our program as the entry point of a container, whose files are busybox and what our program loads."""

import json
import os
import re
import resource
import shutil
import subprocess

from recipe import BINARY, directory, execute, follow_in, program
import tap
from tap import Skip, equal, expect, test

CONFIG = """[containers]
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
netns = "none"
log_driver = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
{runtime}tmp_dir = "{place}/tmp"
"""
STORAGE = """[storage]
driver = "vfs"
graphroot = "{place}/storage"
runroot = "{place}/run"
"""


def fill(root):
    """The files of a container, without an image."""
    busybox = program("busybox")
    listed = [subprocess.run(["ldd", name], capture_output=True, text=True, check=False) for name in (busybox, BINARY)]
    libraries = {path for done in listed for path in re.findall(r"(/\S+) \(", done.stdout)}
    for name in ("bin", "out", "proc", "dev", "sys", "tmp", "etc"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin/busybox")
    for name in ("sh", "sleep"):
        (root / "bin" / name).symlink_to("busybox")
    for path in libraries:
        os.makedirs(os.path.dirname(f"{root}{path}"), exist_ok=True)
        shutil.copy(path, f"{root}{path}")


def settings(place):
    """Podman with all of its files in place, within the limits of this process."""
    limits = {name: resource.getrlimit(number)[1] for name, number in
              (("files", resource.RLIMIT_NOFILE), ("processes", resource.RLIMIT_NPROC))}
    limits = {name: 4096 if value == resource.RLIM_INFINITY else min(value, 4096) for name, value in limits.items()}
    runtime = 'runtime = "runc"\n' if shutil.which("runc", path=f"{os.environ['PATH']}:/usr/sbin") else ""
    (place / "containers.conf").write_text(CONFIG.format(place=place, runtime=runtime, **limits), encoding="utf-8")
    (place / "storage.conf").write_text(STORAGE.format(place=place), encoding="utf-8")
    return {"CONTAINERS_CONF": f"{place}/containers.conf", "CONTAINERS_STORAGE_CONF": f"{place}/storage.conf",
            "HOME": str(place), "XDG_RUNTIME_DIR": str(place)}


def unmount(place):
    """Podman may leave its storage mounted on itself."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        points = [line.split()[1] for line in mounts]
    for point in reversed(points):
        if point.startswith(f"{place}/"):
            subprocess.run(["umount", point], check=False)


@test(limit=120)
def the_entry_point_of_a_container():
    program("podman")
    with directory() as place:
        fill(place / "root")
        shutil.copy(BINARY, place / "resource-tracker")
        env = settings(place)
        try:
            words = ["podman", "run", "--rm", "--network", "none", "--memory", "64m", "--rootfs", place / "root",
                     "sh", "-c", "exit 4"]
            probe = execute(words, place, timeout=40, **env)
            if probe.returncode != 4 or probe.stderr:  # of a user without rights: that there are no limits
                raise Skip(f"podman starts no such container here: {(probe.stderr.splitlines() or ['?'])[-1][:200]}")
            done = follow_in(place, "containers.md", "podman", timeout=40, **env,
                             IMAGE=f"--network none --rootfs {place}/root")
            equal([done.returncode, done.stdout, done.stderr], [3, "", ""], "the recipe")
            summary = json.loads((place / "needs.json").read_text(encoding="utf-8"))
        finally:
            unmount(place)
    equal([summary["result"]["exit_code"], summary["command"][0]], [3, "sh"], "summary")
    equal([summary["memory"]["limit_mib"], summary["memory"]["limit_source"]], [64, "cgroup"], "memory")


if __name__ == "__main__":
    tap.main()
