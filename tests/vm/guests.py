# SPDX-License-Identifier: Apache-2.0
"""The virtual machines of the tests, and how the initial RAM disk of each is put together.

A guest is a row: a kernel, the control groups it mounts, and the test files it runs, with the names to choose of each.
"""

import dataclasses
import pathlib
import shutil
import subprocess
import sys

from archive import Archive, Missing, call, host_suite
from initrd import Initrd

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / "build-tools" / "vm"
PACKAGES = ("busybox-static", "python3-minimal", "libpython3-stdlib", "iproute2", "util-linux", "bash")
COMPILERS = {"amd64": ("cc", "gcc", "clang"), "arm64": ("aarch64-linux-gnu-gcc",)}
WORKLOAD = ("tests/fake/workload.c", "tests/fake/workload_steps.c")
OLD_CALLS = "old calls: "
PAGES = ("pages", "peak", "OOM killer", "the tree has used")
# Of those in which no many end at once: the kernel works on when it has closed the account of a process, and without
# KVM that comes to more than a tick.
TREES = ("a loop of 60", "waves of 4", "3 daemons that end")
OWN_GROUP = ("group", "option", "warning", "swept")
COMPILE_SECS = 120


@dataclasses.dataclass(frozen=True)
class Guest:
    """files: (path, word...) each; behind OLD_CALLS the system calls that came after Linux 3.10 fail."""

    name: str
    files: tuple
    arch: str = "amd64"
    suite: str = ""
    kernel: str = ""
    cpu: str = ""
    cgroups: str = "v2"
    modules: tuple = ()
    is_static: bool = False
    is_leaving: bool = False  # Debian will not have it for ever: where it is gone, that is no failure


GUESTS = (
    Guest("cgroup v2", (("tests/vm/guest/test_groups.py",), ("tests/e2e/test_own_cgroup.py", *OWN_GROUP),
                        ("tests/e2e/test_accuracy.py", *TREES, "exact with --cgroup", "in a cgroup"))),
    Guest("netem", (("tests/vm/guest/test_netem.py",),), modules=("sch_netem",)),
    # The oldest that Debian still has. Before Linux 5.3 there is no pidfd: that is what the old calls are for.
    Guest("old kernel", (("tests/vm/guest/test_groups.py",), ("tests/e2e/test_accuracy.py", *TREES),
                         (OLD_CALLS + "tests/e2e/test_accuracy.py", *TREES),
                         (OLD_CALLS + "tests/e2e/test_wrapper.py", "cannot run", "not killed", "the status", "orphans",
                          "leaves the command"), (OLD_CALLS + "tests/vm/guest/test_old_calls.py",)),
          suite="bullseye", cgroups="v1", is_leaving=True),
    Guest("static", (("tests/vm/guest/test_static.sh",),), is_static=True),
)
GUESTS_ARM64 = (
    Guest("arm64", (("tests/vm/guest/test_groups.py",), ("tests/e2e/test_accuracy.py", *TREES, "in a cgroup")),
          arch="arm64", modules=("virtio_pci", "virtio_blk", "virtio_net")),
    # Pages of another size than everywhere else: what the kernel counts in pages must not be taken for 4 KiB.
    Guest("arm64, 16 KiB pages", (("tests/vm/guest/test_groups.py", *PAGES),
                                  ("tests/e2e/test_accuracy.py", TREES[0])),
          arch="arm64", suite="trixie", kernel="linux-image-arm64-16k", cpu="max,pauth-impdef=on"),
)


def build(arch, target, *sources):
    """A static program of ours for a guest."""
    compiler = next((found for found in map(shutil.which, COMPILERS[arch]) if found), None)
    if not compiler:
        raise Missing(f"there is no {COMPILERS[arch][0]} to compile for {arch}")
    call([compiler, "-std=c17", "-D_GNU_SOURCE", "-O1", "-static", "-pthread", "-o", target,
          *(ROOT / source for source in sources)], COMPILE_SECS)
    return target


def compile_library(directory):
    """Spares the guest to compile Python's library, where this Python is of the same version."""
    library = directory / f"usr/lib/python3.{sys.version_info.minor}"
    if library.is_dir() and not (library / "__pycache__").exists():
        subprocess.run([sys.executable, "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash", library],
                       timeout=COMPILE_SECS, check=False)


def job(guest, is_captured):
    """What the first process of the guest runs: the test files, one after the other."""
    lines = ["#!/bin/busybox sh", "export PYTHONPATH=/rt/tests/e2e/lib:/rt/tests/fake WORKLOAD=/rt/workload"]
    for name, *words in guest.files:
        path = "/rt/" + name.removeprefix(OLD_CALLS)
        program = "/rt/old-calls-tracker" if name.startswith(OLD_CALLS) else "/rt/resource-tracker"
        lines.append(f"echo 'vm: file {name}'")
        if path.endswith(".sh"):
            lines.append(f"/bin/busybox sh {path}")
        else:
            quoted = " ".join(f"'{word}'" for word in words)
            lines.append(f"RESOURCE_TRACKER={program} python3 /rt/tests/vm/guest/patient.py {path} {quoted}")
    if is_captured:
        lines.append("/bin/busybox sh /rt/tests/vm/guest/capture.sh")
    return "\n".join(lines) + "\n"


def kernel_of(guest):
    """The unpacked kernel package."""
    archive = Archive(CACHE, guest.suite or host_suite(), guest.arch)
    return archive.kernel(guest.kernel or f"linux-image-cloud-{guest.arch}")


def make_initrd(guest, program, directory, is_captured=False):
    """Writes the RAM disk into a directory and returns its path."""
    initrd = Initrd()
    initrd.add_modules(kernel_of(guest), guest.modules)
    user = Archive(CACHE, host_suite(), guest.arch).packages("user", *PACKAGES)
    if guest.is_static:
        initrd.add_file("usr/bin/busybox", next(user.rglob("bin/busybox")))
    else:
        compile_library(user)
        initrd.add_tree(user)
        initrd.add_text("cgroups", guest.cgroups)
        initrd.add_text("etc/passwd", "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n", 0o644)
        for tree in ("tests/e2e", "tests/fake", "tests/vm/guest", "docs/schema"):
            initrd.add_tree(ROOT / tree, f"rt/{tree}/")
        initrd.add_file("rt/tools/capture-fixture", ROOT / "tools/capture-fixture")
    initrd.add_file("init", ROOT / "tests/vm/guest/init")
    initrd.add_file("rt/tests/vm/guest/test_static.sh", ROOT / "tests/vm/guest/test_static.sh")
    initrd.add_file("rt/resource-tracker", program)
    initrd.add_file("rt/workload", build(guest.arch, directory / "workload", *WORKLOAD))
    if any(name.startswith(OLD_CALLS) for name, *_ in guest.files):
        initrd.add_file("rt/old-calls", build(guest.arch, directory / "old-calls", "tests/vm/guest/old_calls.c"))
        initrd.add_text("rt/old-calls-tracker", '#!/bin/sh\nexec /rt/old-calls /rt/resource-tracker "$@"\n')
    initrd.add_text("job", job(guest, is_captured))
    initrd.write(directory / "initrd")
    return directory / "initrd"
