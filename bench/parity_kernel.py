# SPDX-License-Identifier: Apache-2.0
"""The third source: what the kernel itself says, read by the harness the moment a tool has written a row.

A snapshot holds raw counters only; what a tool makes of them is in parity_formulas.py. Read are /proc/stat, meminfo,
diskstats, net/dev, the numeric entries of /proc, statvfs of every mount, and stat, io and smaps_rollup of a tree.
"""

import contextlib
import dataclasses
import glob
import os
import pathlib
import re
import time

TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")
# A filesystem of these kinds may take for ever to answer, so it is not asked.
MAY_HANG = ("fuse", "nfs", "cifs", "smb", "9p", "afs", "autofs", "ceph", "glusterfs", "lustre")
GPU_VENDORS = ("0x10de", "0x1002", "0x8086")


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


@dataclasses.dataclass(frozen=True)
class Mount:
    """A line of mountinfo with what statvfs says: bytes in all, free for users, free for root."""

    device: str
    source: str
    point: str
    kind: str
    total: int
    free: int
    free_root: int
    is_visible: bool  # nothing is mounted over it


@dataclasses.dataclass(frozen=True)
class Member:
    """A process of the tree: CPU ticks of its own and of the children it waited for, bytes of block I/O, PSS."""

    utime: int
    stime: int
    cutime: int
    cstime: int
    read_bytes: int
    write_bytes: int
    pss_kib: int


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """Everything of one moment."""

    at: float
    cpu: dict
    cpus: int
    memory: dict
    disks: dict
    network: dict
    processes: int
    mounts: tuple
    tree: dict


@dataclasses.dataclass(frozen=True)
class Facts:
    """What does not change during a phase. Only the devices may become more: others may make some meanwhile."""

    pid: int
    sector_bytes: dict  # of the devices of the start: the peers look once
    whole: set
    stacked: set
    block_kinds: frozenset
    request_bytes: int
    gpus: int

    def learn(self):
        """Looks for devices that have come."""
        for name in whole_disks() - self.whole:
            self.whole.add(name)
            if is_stacked(name):
                self.stacked.add(name)


def read_cpu():
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    lines = read("/proc/stat").splitlines()
    return dict(zip(names, map(int, lines[0].split()[1:9]))), sum(bool(re.match(r"cpu\d", line)) for line in lines)


def read_memory():
    return {match[1]: int(match[2]) for match in re.finditer(r"^(\S+):\s+(\d+)", read("/proc/meminfo"), re.M)}


def read_disks():
    """Name to the sectors read and written."""
    rows = (line.split() for line in read("/proc/diskstats").splitlines())
    return {row[2]: (int(row[5]), int(row[9])) for row in rows}


def read_network():
    """Name to the bytes received and sent."""
    rows = {}
    for line in read("/proc/net/dev").splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        fields = rest.split()
        rows[name.strip()] = (int(fields[0]), int(fields[8]))
    return rows


def unescape(text):
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def read_mounts(view):
    """The mounts as the process `view` sees them: it may live in a mount namespace of its own."""
    mounts = []
    for line in read(f"/proc/{view}/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        fields, (kind, source) = left.split(), right.split()[:2]
        if kind.startswith(MAY_HANG):
            continue
        point = unescape(fields[4])
        path = f"/proc/{view}/root{point}"
        with contextlib.suppress(OSError):
            space, number = os.statvfs(path), os.stat(path).st_dev
            block = space.f_frsize
            mounts.append(Mount(fields[2], unescape(source), point, kind, space.f_blocks * block,
                                space.f_bavail * block, space.f_bfree * block,
                                f"{os.major(number)}:{os.minor(number)}" == fields[2]))
    return tuple(mounts)


def children_of(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            found += map(int, read(path).split())
    return found


def read_member(pid):
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    amounts = dict(re.findall(r"^(\w+): (\d+)$", read(f"/proc/{pid}/io"), re.M))
    pss = 0
    # A process that has just ended has no memory any more, but its times still count.
    with contextlib.suppress(OSError):
        match = re.search(r"^Pss:\s+(\d+)", read(f"/proc/{pid}/smaps_rollup"), re.M)
        pss = int(match[1]) if match else 0
    return Member(*map(int, fields[11:15]), int(amounts["read_bytes"]), int(amounts["write_bytes"]), pss)


def read_tree(root):
    """The tree from the top down, so that the time of a child that is just being reaped is not seen twice."""
    members, queue = {}, [root]
    while queue:
        pid = queue.pop(0)
        with contextlib.suppress(OSError):
            members[pid] = read_member(pid)
            queue += children_of(pid)
    return members


def take(root, view):
    """A snapshot: `root` is the tree, `view` the process whose mounts are looked at."""
    at = time.time()
    cpu, cpus = read_cpu()
    disks, network, memory = read_disks(), read_network(), read_memory()
    tree = read_tree(root)
    processes = sum(name.isdigit() for name in os.listdir("/proc"))
    return Snapshot(at, cpu, cpus, memory, disks, network, processes, read_mounts(view), tree)


def whole_disks():
    return {name.replace("!", "/") for name in os.listdir("/sys/block")}


def sysfs_of(name):
    return "/sys/block/" + name.replace("/", "!")


def is_stacked(name):
    """Does its I/O appear a second time on another device: on its slaves, or on the disk that holds a loop's file?"""
    if glob.glob(f"{sysfs_of(name)}/slaves/*"):
        return True
    with contextlib.suppress(OSError):
        number = os.stat(read(f"{sysfs_of(name)}/loop/backing_file").strip()).st_dev
        return os.path.exists(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    return False


def read_number(path, otherwise):
    with contextlib.suppress(OSError, ValueError):
        return int(read(path))
    return otherwise


def count_gpus():
    """Devices that one of the tools could know, by what the kernel lists."""
    cards = 0
    for path in glob.glob("/sys/class/drm/card*/device/vendor") + glob.glob("/sys/class/accel/accel*/device/vendor"):
        with contextlib.suppress(OSError):
            cards += read(path).strip() in GPU_VENDORS
    return max(cards, len(glob.glob("/dev/nvidia[0-9]*")))


def facts(pid):
    """The facts of this machine as it is now; `pid` is the tree that is tracked."""
    whole = whole_disks()
    kinds = frozenset(line.strip() for line in read("/proc/filesystems").splitlines() if not line.startswith("nodev"))
    sizes = {name: read_number(f"{sysfs_of(name)}/queue/hw_sector_size", 512) for name in whole}
    used = [name for name, sectors in read_disks().items() if name in whole and sum(sectors)]
    requests = [read_number(f"{sysfs_of(name)}/queue/max_sectors_kb", 0) for name in used]
    return Facts(pid, sizes, whole, set(filter(is_stacked, whole)), kinds, max(requests, default=0) * 1024,
                 count_gpus())
