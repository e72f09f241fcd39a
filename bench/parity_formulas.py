# SPDX-License-Identifier: Apache-2.0
"""What each tool makes of the kernel's counters, written down once more from the documents and sources of the tools.

A formula takes the snapshots of a run, one per row, and gives one value for each row but the first; None stands for an
empty field. OURS has a formula for every column; the peers have one only where they count differently, with the reason.
"""

import re

from parity_kernel import TICKS_PER_SEC

SECTOR_BYTES = 512  # the unit of /proc/diskstats, whatever the device has
GB = 1e9
MIB_KIB = 1024


def each(function):
    """A formula from a function of two neighbouring snapshots."""
    return lambda snaps, facts: [function(old, new, facts) for old, new in zip(snaps, snaps[1:])]


def level(function):
    """A formula from a function of one snapshot."""
    return each(lambda _old, new, facts: function(new, facts))


def growth(old, new, *names):
    return sum(new.cpu[name] - old.cpu[name] for name in names)


def busy_cores(old, new, _facts):
    """The share that was neither idle nor waiting for I/O, times the CPUs."""
    total = growth(old, new, *new.cpu)
    return new.cpus * (total - growth(old, new, "idle", "iowait")) / total if total else 0.0


def user_and_system_cores(old, new, _facts):
    return growth(old, new, "user", "nice", "system") / TICKS_PER_SEC / (new.at - old.at)


def ticks(*names):
    return each(lambda old, new, _facts: growth(old, new, *names) / TICKS_PER_SEC)


def memory(*signed):
    """A sum of lines of /proc/meminfo; a name with a minus is taken away."""
    def value(snap, _facts):
        return sum(-snap.memory[name[1:]] if name[0] == "-" else snap.memory[name] for name in signed) / MIB_KIB
    return level(value)


def disk_bytes(direction, is_counted, sector_bytes):
    """Growth of the sectors of the devices that count, times what a sector is taken for."""
    def value(old, new, facts):
        names = [name for name in new.disks if name in old.disks and is_counted(name, facts)]
        return sum((new.disks[name][direction] - old.disks[name][direction]) * sector_bytes(name, facts)
                   for name in names)
    return each(value)


def is_own_disk(name, facts):
    return name in facts.whole and name not in facts.stacked


def is_no_partition_to_python(name, facts):
    """Its rule knows the partitions of sd, nvme and mmcblk devices; those of others are disks to it."""
    is_known = re.search(r"(sd[a-z]+|nvme\d+n\d+|mmcblk\d+)p?\d+$", name)
    return not (is_known and any(name.startswith(disk) and name != disk for disk in facts.whole))


def is_disk_to_rust(name, facts):
    return name in facts.whole and not name.startswith(("loop", "ram"))


def unit(_name, _facts):
    return SECTOR_BYTES


def hardware_sector(name, facts):
    return facts.sector_bytes.get(name, SECTOR_BYTES)


def network_bytes(direction, skip=("lo",)):
    def value(old, new, _facts):
        return sum(new.network[name][direction] - old.network[name][direction]
                   for name in new.network if name in old.network and name not in skip)
    return each(value)


def once_per_filesystem(snap, _facts):
    """The filesystems on block devices, each once."""
    found = {}
    for mount in snap.mounts:
        if mount.is_visible and mount.total and not mount.device.startswith("0:"):
            found.setdefault(mount.device, mount)
    return found.values()


def is_virtual_place(mount):
    return mount.point.startswith(("/proc", "/sys", "/dev", "/run"))


def once_per_mount_point(snap, _facts):
    """Python: every mount point outside of four directories, whatever is mounted there."""
    return {mount.point: mount for mount in snap.mounts if mount.total and not is_virtual_place(mount)}.values()


def once_per_partition(snap, facts):
    """psutil: every mount point of a filesystem that needs a device."""
    return {mount.point: mount for mount in snap.mounts if mount.kind in facts.block_kinds}.values()


def once_per_source(snap, facts):
    """Rust: sources whose names begin with that of a disk, each once; loop and ram devices are no disks."""
    names = [f"/dev/{name}" for name in facts.whole if is_disk_to_rust(name, facts)]
    found = []
    for name in names:
        own = {}
        for mount in snap.mounts:
            if mount.source.startswith(name) and not is_virtual_place(mount) and mount.total:
                own.setdefault(mount.source, mount)
        found += own.values()
    return found


def space(choose, amount):
    return level(lambda snap, facts: sum(map(amount, choose(snap, facts))) / GB)


def total_of(mount):
    return mount.total


def free_of(mount):
    return mount.free


def taken_of(mount):
    return mount.total - mount.free


def used_of(mount):
    return mount.total - mount.free_root


def no_gpu(value):
    """Known only where there is none: no other source is at hand for the rest."""
    return lambda snaps, facts: [value] * (len(snaps) - 1) if not facts.gpus else None


def tree_sum(amount):
    """Growth of a sum over the tree; what a child used goes to its parent when that waits for it."""
    def value(old, new, _facts):
        return sum(map(amount, new.tree.values())) - sum(map(amount, old.tree.values()))
    return each(value)


def user_ticks(member):
    return member.utime + member.cutime


def system_ticks(member):
    return member.stime + member.cstime


def tree_secs(amount):
    return tree_sum(lambda member: amount(member) / TICKS_PER_SEC)


def tree_cores(old, new, facts):
    pair = [old, new]
    return (tree_secs(user_ticks)(pair, facts)[0] + tree_secs(system_ticks)(pair, facts)[0]) / (new.at - old.at)


def rust_ticks(amount):
    """Rust: growth per process, new ones from what they had; less all of those that are gone, if that leaves something.

    One that is gone stays in the account for another sample, and is then subtracted once more.
    """
    def formula(snaps, _facts):
        values, carried = [], set()
        account = {pid: amount(member) for pid, member in snaps[0].tree.items()}
        for snap in snaps[1:]:
            now = {pid: amount(member) for pid, member in snap.tree.items()}
            grown = sum(max(0, ticks_now - account.get(pid, ticks_now)) for pid, ticks_now in now.items())
            gone = sum(ticks_then for pid, ticks_then in account.items() if pid not in now)
            values.append((grown - gone if gone <= grown else grown) / TICKS_PER_SEC)
            kept = {pid: value for pid, value in account.items() if pid not in now and pid not in carried}
            carried, account = set(kept), now | kept
        return values
    return formula


def rust_cores(snaps, facts):
    secs = zip(rust_ticks(user_ticks)(snaps, facts), rust_ticks(system_ticks)(snaps, facts))
    spans = (new.at - old.at for old, new in zip(snaps, snaps[1:]))
    return [(user + system) / span for (user, system), span in zip(secs, spans)]


def rust_bytes(amount):
    """Rust: growth per process, new ones from what they had; nothing is taken away for those that are gone."""
    def value(old, new, _facts):
        return sum(max(0, amount(member) - amount(old.tree[pid])) for pid, member in new.tree.items()
                   if pid in old.tree)
    return each(value)


def read_of(member):
    return member.read_bytes


def written_of(member):
    return member.write_bytes


OURS = {
    "timestamp": level(lambda snap, _facts: snap.at),
    "processes": level(lambda snap, _facts: snap.processes),
    "utime": ticks("user", "nice"),
    "stime": ticks("system"),
    "cpu_usage": each(busy_cores),
    "memory_free_mib": memory("MemFree"),
    "memory_used_mib": memory("MemTotal", "-MemAvailable"),
    "memory_buffers_mib": memory("Buffers"),
    "memory_cached_mib": memory("Cached", "SReclaimable"),
    "memory_active_mib": memory("Active"),
    "memory_inactive_mib": memory("Inactive"),
    "disk_read_bytes": disk_bytes(0, is_own_disk, unit),
    "disk_write_bytes": disk_bytes(1, is_own_disk, unit),
    "disk_space_total_gb": space(once_per_filesystem, total_of),
    "disk_space_used_gb": space(once_per_filesystem, taken_of),
    "disk_space_free_gb": space(once_per_filesystem, free_of),
    "net_recv_bytes": network_bytes(0),
    "net_sent_bytes": network_bytes(1),
    "gpu_usage": no_gpu(0.0),
    "gpu_vram_mib": no_gpu(0.0),
    "gpu_utilized": no_gpu(0),
    "process_pid": level(lambda _snap, facts: facts.pid),
    "process_children": level(lambda snap, _facts: len(snap.tree) - 1),
    "process_utime": tree_secs(user_ticks),
    "process_stime": tree_secs(system_ticks),
    "process_cpu_usage": each(tree_cores),
    "process_memory_mib": level(lambda snap, _facts: sum(one.pss_kib for one in snap.tree.values()) / MIB_KIB),
    "process_disk_read_bytes": tree_sum(read_of),
    "process_disk_write_bytes": tree_sum(written_of),
    "process_gpu_usage": no_gpu(0.0),
    "process_gpu_vram_mib": no_gpu(0.0),
    "process_gpu_utilized": no_gpu(0),
    "steal_time": ticks("steal"),
}

NO_GPU = (no_gpu(None), "empty there where the host has no GPU; here a known 0")
USER_AND_SYSTEM = (each(user_and_system_cores),
                   "user, nice and system time over the clock there; here all that was neither idle nor waiting for "
                   "I/O, so irq, softirq and stolen time too")
SECTORS = ("sectors of every device that its rule takes for a disk (loop devices and their partitions too, so the same "
           "bytes two or three times) times hw_sector_size there; here 512-byte units of devices that sit on no other")
UNITS_TWICE = ("512-byte units, but of loop devices and their partitions too, so the same bytes two or three times; "
               "here of devices that sit on no other")
SECTORS_RUST = "sectors times hw_sector_size there (8 times too much at 4096); here 512-byte units"
MOUNTS = ("every mount point counts there, so a filesystem that is mounted twice counts twice; here each filesystem "
          "on a block device once")
RESERVED = ("the blocks reserved for root count as neither used nor free there, and a filesystem that is mounted twice "
            "counts twice; here used = total - free, each filesystem once")
LOOPS = "filesystems on loop devices are left out there; here each filesystem on a block device counts once"
REAPED_CPU = ("what a child used before it was first seen is lost there, and one that is gone is subtracted twice; "
              "here every tick counts once")
REAPED_IO = ("the kernel adds the bytes of a child to its parent's when that waits for it, and there they count again; "
             "here once")

# Where a peer counts differently: its formula and the reason in words.
PEERS = {
    "python": {
        "cpu_usage": USER_AND_SYSTEM,
        "disk_read_bytes": (disk_bytes(0, is_no_partition_to_python, hardware_sector), SECTORS),
        "disk_write_bytes": (disk_bytes(1, is_no_partition_to_python, hardware_sector), SECTORS),
        "disk_space_total_gb": (space(once_per_mount_point, total_of), MOUNTS),
        "disk_space_used_gb": (space(once_per_mount_point, taken_of), MOUNTS),
        "disk_space_free_gb": (space(once_per_mount_point, free_of), MOUNTS),
    },
    "python-psutil": {
        "cpu_usage": USER_AND_SYSTEM,
        "disk_read_bytes": (disk_bytes(0, is_no_partition_to_python, unit), UNITS_TWICE),
        "disk_write_bytes": (disk_bytes(1, is_no_partition_to_python, unit), UNITS_TWICE),
        "disk_space_total_gb": (space(once_per_partition, total_of), MOUNTS),
        "disk_space_used_gb": (space(once_per_partition, used_of), RESERVED),
        "disk_space_free_gb": (space(once_per_partition, free_of), MOUNTS),
        "net_recv_bytes": (network_bytes(0, ()), "loopback counts there, not here"),
        "net_sent_bytes": (network_bytes(1, ()), "loopback counts there, not here"),
    },
    "rust": {
        "disk_read_bytes": (disk_bytes(0, is_disk_to_rust, hardware_sector), SECTORS_RUST),
        "disk_write_bytes": (disk_bytes(1, is_disk_to_rust, hardware_sector), SECTORS_RUST),
        "disk_space_total_gb": (space(once_per_source, total_of), LOOPS),
        "disk_space_used_gb": (space(once_per_source, taken_of), LOOPS),
        "disk_space_free_gb": (space(once_per_source, free_of), LOOPS),
        "process_utime": (rust_ticks(user_ticks), REAPED_CPU),
        "process_stime": (rust_ticks(system_ticks), REAPED_CPU),
        "process_cpu_usage": (rust_cores, REAPED_CPU),
        "process_disk_read_bytes": (rust_bytes(read_of), REAPED_IO),
        "process_disk_write_bytes": (rust_bytes(written_of), REAPED_IO),
        "process_gpu_usage": NO_GPU,
        "process_gpu_vram_mib": NO_GPU,
        "process_gpu_utilized": NO_GPU,
    },
}
