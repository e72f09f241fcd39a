# SPDX-License-Identifier: Apache-2.0
"""Disks to measure on, made for the purpose and removed again: loop devices of any sector size, and compressed memory.

Writing and reading goes past the page cache (O_DIRECT), so that every byte reaches the device and is counted there.
"""

import contextlib
import fcntl
import mmap
import os
import pathlib
import shutil
import subprocess
import time

from process import read
from truth_group import MIB, Missing, wait_until

LOOP_CTL_ADD = 0x4C80
LOOP_CTL_REMOVE = 0x4C81
ZRAM = pathlib.Path("/sys/class/zram-control")
UNIT = 512  # of /proc/diskstats, whatever the device


def need_root():
    if os.geteuid() != 0:
        raise Missing("block devices can be made by root only")


def losetup(*words):
    program = shutil.which("losetup") or shutil.which("losetup", path="/usr/sbin:/sbin")
    if not program:
        raise Missing("losetup is not installed")
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=15, check=False)
    if done.returncode != 0:
        raise Missing(f"losetup: {done.stderr.strip()[:160]}")


def add_loop(control):
    """A device number that is not in use, so that its counters begin at zero."""
    for number in range(1000 + os.getpid() % 500, 2000):
        with contextlib.suppress(FileExistsError):
            return fcntl.ioctl(control, LOOP_CTL_ADD, number)
    raise Missing("no loop device is free")


def remove_loop(control, number):
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            fcntl.ioctl(control, LOOP_CTL_REMOVE, number)
            return
        time.sleep(0.02)


@contextlib.contextmanager
def loop_device(place, unit_bytes, size_bytes):
    """A fresh loop device over a sparse file; yields its name."""
    need_root()
    with contextlib.ExitStack() as stack:
        try:
            control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
            stack.callback(os.close, control)
            number = add_loop(control)
        except OSError as reason:
            raise Missing(f"there are no loop devices here ({reason.strerror})") from reason
        stack.callback(remove_loop, control, number)
        device = f"/dev/loop{number}"
        if not wait_until(lambda: os.path.exists(device), 5):
            raise Missing(f"{device} does not appear")
        image = pathlib.Path(place, f"image-{number}")
        image.write_bytes(b"")
        stack.callback(image.unlink)
        os.truncate(image, size_bytes)
        losetup("--sector-size", unit_bytes, device, image)
        stack.callback(losetup, "--detach", device)
        yield f"loop{number}"


def remove_zram(number):
    with contextlib.suppress(OSError):
        pathlib.Path(f"/sys/block/zram{number}/reset").write_text("1", encoding="ascii")
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            (ZRAM / "hot_remove").write_text(str(number), encoding="ascii")
            return
        time.sleep(0.02)


@contextlib.contextmanager
def zram_device(size_bytes):
    """A disk of compressed memory, whose sectors have 4096 bytes; yields its name."""
    need_root()
    with contextlib.ExitStack() as stack:
        try:
            number = int(read(ZRAM / "hot_add"))
        except (OSError, ValueError) as reason:
            raise Missing("the kernel has no zram") from reason
        stack.callback(remove_zram, number)
        try:
            pathlib.Path(f"/sys/block/zram{number}/disksize").write_text(str(size_bytes), encoding="ascii")
        except OSError as reason:
            raise Missing(f"zram: {reason.strerror}") from reason
        if not wait_until(lambda: os.path.exists(f"/dev/zram{number}"), 5):
            raise Missing(f"/dev/zram{number} does not appear")
        yield f"zram{number}"


def sector_bytes(name):
    return int(read(f"/sys/block/{name}/queue/hw_sector_size"))


def kernel_bytes(name):
    """Read and written according to /proc/diskstats."""
    for line in read("/proc/diskstats").splitlines():
        fields = line.split()
        if fields[2] == name:
            return int(fields[5]) * UNIT, int(fields[9]) * UNIT
    raise Missing(f"{name} is not in /proc/diskstats")


def transfer(name, write_mib, read_mib):
    """Exactly so much, 1 MiB at a time. The content is the same everywhere: compressed memory takes none for it."""
    fd = os.open(f"/dev/{name}", os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, MIB) as block:
            block.write(b"\1" * MIB)
            for _ in range(write_mib):
                if os.write(fd, block) != MIB:
                    raise Missing(f"{name}: a short write")
            os.lseek(fd, 0, os.SEEK_SET)
            for _ in range(read_mib):
                if os.readv(fd, [block]) != MIB:
                    raise Missing(f"{name}: a short read")
    finally:
        os.close(fd)
