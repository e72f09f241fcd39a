#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The numbers against the kernel's own: host counters, and bytes written to a disk that the test makes itself."""

import contextlib
import fcntl
import mmap
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import PATIENCE_SECS, SLOW, Tracker, directory, parse, wait_until

MIB = 1 << 20
WRITTEN_BYTES = 16 * MIB
LOOP_CTL_ADD = 0x4C80
LOOP_CTL_REMOVE = 0x4C81


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


def call(*words):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=15, check=False)


def final_sample(look):
    """One sample of this machine with what look() saw just before it and just after it."""
    with Tracker("-i", "60") as tracker:
        tracker.wait_ready()
        before = look()
        equal(tracker.stop(), 0, "exit status")
        after = look()
        sample = parse(tracker.stdout.next())
        equal(tracker.stderr(), "", "stderr")
    return before, sample, after


def expect_between(before, value, after, what):
    expect(value is not None and before <= value <= after, f"{what}: {value}, the kernel has {before} to {after}")


@test
def memory_against_proc_meminfo():
    def look():
        return {match[1]: int(match[2]) for match in re.finditer(r"^(\S+):\s+(\d+) kB$", read("/proc/meminfo"), re.M)}
    before, sample, after = final_sample(look)
    memory = sample["memory"]
    equal(memory["total_mib"], before["MemTotal"] // 1024, "total_mib")
    equal(memory["swap_total_mib"], before["SwapTotal"] // 1024, "swap_total_mib")
    for key, name in (("free_mib", "MemFree"), ("available_mib", "MemAvailable"), ("buffers_mib", "Buffers")):
        low, high = sorted((before[name] / 1024, after[name] / 1024))
        expect_between(low - 256, memory[key], high + 256, key)
    used = memory["total_mib"] - memory["free_mib"] - memory["buffers_mib"] - memory["cached_mib"]
    # Each of the parts is rounded down.
    expect(-3 <= memory["used_mib"] - used <= 3, f"used_mib {memory['used_mib']}, parts give {used}")
    expect(abs(memory["used_pct"] / 100 * memory["total_mib"] - memory["used_mib"]) < 1.01, memory)
    gone = memory["total_mib"] - memory["available_mib"]
    expect(-1 <= memory["unavailable_mib"] - gone <= 1, f"unavailable_mib {memory['unavailable_mib']}, not {gone}")


@test
def processes_and_load_against_proc():
    def look():
        return sum(name.isdigit() for name in os.listdir("/proc")), read("/proc/loadavg").split()[:3]
    for attempt in range(3):
        before, sample, after = final_sample(look)
        low, high = sorted((before[0], after[0]))
        if low - 5 <= sample["cpu"]["process_count"] <= high + 5 or attempt == 2:
            expect_between(low - 5, sample["cpu"]["process_count"], high + 5, "process_count")
            break
    loads = [(float(old), float(new)) for old, new in zip(before[1], after[1])]
    for key, pair in zip(("load1", "load5", "load15"), loads):
        expect(sample["cpu"][key] in pair, f"{key} {sample['cpu'][key]}, the kernel has {pair}")


@test
def cores_against_the_online_list():
    online = set()
    for part in read("/sys/devices/system/cpu/online").strip().split(","):
        first, _, last = part.partition("-")
        online.update(range(int(first), int(last or first) + 1))
    _, sample, _ = final_sample(lambda: None)
    shares = sample["cpu"]["per_core_pct"]
    equal(len(shares), max(online) + 1, "length of per_core_pct")
    for number, share in enumerate(shares):
        expect(share is None or (number in online and 0 <= share <= 100), f"CPU {number}: {share}")
    with Tracker("-i", "0.3") as tracker:
        cpu = parse(tracker.stdout.next())["cpu"]
    equal(sum(share is not None for share in cpu["per_core_pct"]), len(online), "CPUs with a share")
    cores = sum(share or 0 for share in cpu["per_core_pct"]) / 100
    expect(abs(cpu["utilization_pct"] - cores) < 0.15 * len(online) + 0.05, cpu)


@test
def network_against_proc_net_dev():
    def look():
        rows = {}
        for line in read("/proc/net/dev").splitlines()[2:]:
            name, _, rest = line.rpartition(":")
            fields = [int(field) for field in rest.split()]
            rows[name.strip()] = {"rx_bytes_total": fields[0], "rx_errors": fields[2], "rx_dropped": fields[3],
                                  "tx_bytes_total": fields[8], "tx_errors": fields[10], "tx_dropped": fields[11]}
        return rows
    before, sample, after = final_sample(look)
    names = [row["interface"] for row in sample["network"]]
    equal(names, sorted(name for name in after if name != "lo"), "interfaces")
    for row in sample["network"]:
        name = row["interface"]
        for key, old in before[name].items():
            expect_between(old, row[key], after[name][key], f"{name} {key}")
        equal(row["mtu"], int(read(f"/sys/class/net/{name}/mtu")), f"{name} mtu")
        equal(row["mac_address"], read(f"/sys/class/net/{name}/address").strip() or None, f"{name} mac_address")
        equal(row["virtual"], not os.path.exists(f"/sys/class/net/{name}/device"), f"{name} virtual")


def diskstats():
    rows = {}
    for line in read("/proc/diskstats").splitlines():
        fields = line.split()
        rows[fields[2]] = {"read_bytes_total": int(fields[5]) * 512, "write_bytes_total": int(fields[9]) * 512}
    return rows


@test
def disk_totals_against_proc_diskstats():
    before, sample, after = final_sample(diskstats)
    names = [row["device"] for row in sample["disk"]]
    equal(names, sorted(names), "order of the devices")
    for row in sample["disk"]:
        name = row["device"]
        if name.startswith("zfs:"):
            continue
        expect(os.path.exists(f"/sys/block/{name.replace('/', '!')}"), f"{name} is not a whole device")
        for key, old in before[name].items():
            expect_between(old, row[key], after[name][key], f"{name} {key}")
        equal(row["capacity_bytes"], int(read(f"/sys/block/{name}/size")) * 512 or None, f"{name} capacity_bytes")
    quiet = [name for name in os.listdir("/sys/block") if name not in names and not name.startswith(("loop", "ram"))]
    equal(quiet, [], "devices of the kernel that are not listed")


def identity_of(name):
    """What sysfs says, as far as it says so in one file."""
    found = {"sector_bytes": int(read(f"/sys/block/{name}/queue/hw_sector_size"))}
    for key, paths in (("model", ["device/model"]), ("serial", ["device/serial", "serial"])):
        for path in paths:
            with contextlib.suppress(OSError):
                found[key] = read(f"/sys/block/{name}/{path}").strip() or found.get(key)
    return {key: value for key, value in found.items() if value is not None}


@test
def identity_is_there_with_the_first_sample():
    with Tracker("-i", "1") as tracker:
        samples = [parse(tracker.stdout.next())]
        # On a machine that is very busy the process that asks the devices may need more time.
        while len(samples) < 5 and any(row["sector_bytes"] is None for row in samples[-1]["disk"]):
            samples.append(parse(tracker.stdout.next()))
    if not samples[-1]["disk"]:
        raise Skip("there is no disk here")
    if len(samples) > 1:
        tap.diag(f"known with sample {len(samples)}")
    for row in samples[-1]["disk"]:
        for key, value in identity_of(row["device"].replace("/", "!")).items():
            equal(row[key], value, f"{row['device']} {key}")
    for row in samples[-1]["network"]:
        expect(row["speed_mbps"] is not None, f"speed of {row['interface']} is not known")


@test
def space_against_statvfs():
    _, sample, _ = final_sample(lambda: None)
    mounts = [mount for disk in sample["disk"] for mount in disk["mounts"]]
    known = [mount for mount in mounts if mount["total_bytes"] is not None]
    if not known:
        raise Skip("no filesystem on a disk is mounted here")
    for mount in known:
        space = os.statvfs(mount["mount_point"])
        equal(mount["total_bytes"], space.f_blocks * space.f_frsize, f"{mount['mount_point']} total_bytes")
        for key, blocks in (("available_bytes", space.f_bavail), ("used_bytes", space.f_blocks - space.f_bfree)):
            off = abs(mount[key] - blocks * space.f_frsize)
            expect(off < 512 * MIB, f"{mount['mount_point']} {key} is {off} bytes off")
        share = 100 * mount["used_bytes"] / max(1, mount["total_bytes"])
        expect(abs(mount["used_pct"] - share) < 0.01, f"used_pct {mount['used_pct']}, parts give {share}")
    equal(len({mount["mount_point"] for mount in mounts}), len(mounts), "different mounts")


@test
def a_busy_core_shows_in_the_cpu_time():
    def user_secs():
        fields = read("/proc/stat").splitlines()[0].split()
        return (int(fields[1]) + int(fields[2])) / os.sysconf("SC_CLK_TCK")
    outer_before = user_secs()
    with Tracker("-i", "0.5") as tracker:
        tracker.wait_ready()
        inner_before = user_secs()
        loop = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: sum(range(5000))"
        with subprocess.Popen([sys.executable, "-S", "-c", loop], stdin=subprocess.DEVNULL) as busy:
            _, status, usage = os.wait4(busy.pid, 0)
            busy.returncode = os.waitstatus_to_exitcode(status)
        inner_after = user_secs()
        equal(tracker.stop(), 0, "exit status")
        samples = [parse(line) for line in tracker.stdout.all()]
    outer_after = user_secs()
    measured = sum(sample["cpu"]["utime_secs"] for sample in samples)
    tap.diag(f"measured {measured:.2f} s, the loop used {usage.ru_utime:.2f} s of user time")
    expect_between(inner_after - inner_before - 0.02, measured, outer_after - outer_before + 0.02, "sum of utime_secs")
    expect(measured >= 0.85 * usage.ru_utime, f"{measured} s measured, the loop alone used {usage.ru_utime} s")
    cores = os.cpu_count()
    busiest = max(sample["cpu"]["utilization_pct"] for sample in samples)
    expect(0.5 * min(1, usage.ru_utime / 2) <= busiest <= cores, f"utilization_pct reached {busiest}")


@contextlib.contextmanager
def loop_device(path):
    """A fresh loop device with sectors of 4096 bytes over the file; yields its name and how to detach it."""
    if os.geteuid() != 0:
        raise Skip("loop devices need root")
    if not shutil.which("losetup") or not os.path.exists("/dev/loop-control"):
        raise Skip("there are no loop devices here")
    control = os.open("/dev/loop-control", os.O_RDWR)
    number = None
    attached = False

    def detach():
        nonlocal attached
        if attached:
            call("losetup", "--detach", f"/dev/loop{number}")
            attached = False

    try:
        # A number that is not in use, so that the counters begin at zero.
        for candidate in range(200 + os.getpid() % 500, 1000):
            with contextlib.suppress(OSError):
                number = fcntl.ioctl(control, LOOP_CTL_ADD, candidate)
                break
        if number is None:
            raise Skip("no loop device can be made")
        wait_until(lambda: os.path.exists(f"/dev/loop{number}"), f"/dev/loop{number}")
        done = call("losetup", "--sector-size", "4096", f"/dev/loop{number}", path)
        if done.returncode != 0:
            raise Skip(f"losetup: {done.stderr.strip()}")
        attached = True
        yield f"loop{number}", detach
    finally:
        detach()
        if number is not None:
            for _ in range(50):
                with contextlib.suppress(OSError):
                    fcntl.ioctl(control, LOOP_CTL_REMOVE, number)
                    break
                time.sleep(0.02)
        os.close(control)


def write_directly(path, count):
    """That many bytes past the page cache, 1 MiB at a time."""
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, MIB) as block:
            block.write(os.urandom(4096) * 256)
            for _ in range(count // MIB):
                equal(os.write(fd, block), MIB, "bytes of one write")
    finally:
        os.close(fd)


def find_disk(sample, name):
    return next((disk for disk in sample["disk"] if disk["device"] == name), None)


def lies_on_listed_disk(path, sample):
    """Is the file on a block device, or a partition of one, that the sample lists? None where no mount shows it."""
    if not any(os.path.commonpath([path, line.split()[4]]) == line.split()[4]
               for line in read("/proc/self/mountinfo").splitlines() if " - overlay " not in line):
        return None
    number = os.stat(path).st_dev
    link = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
    if not os.path.exists(link):
        return False
    return any(part in {disk["device"] for disk in sample["disk"]} for part in os.path.realpath(link).split("/"))


@test
def bytes_written_to_a_disk_with_4096_byte_sectors_count_one_to_one():
    with directory() as place:
        (place / "image").write_bytes(b"")
        os.truncate(place / "image", 2 * WRITTEN_BYTES)
        with loop_device(place / "image") as (name, detach), Tracker("-i", "0.1") as tracker:
            first = parse(tracker.stdout.next())
            disk = find_disk(first, name)
            touched = any(diskstats()[name].values())
            expect(disk is None or touched, f"{name} is listed although it had no I/O")
            if touched:
                tap.diag(f"another process has read {name} already")
            before = disk["write_bytes_total"] if disk else 0
            write_directly(f"/dev/{name}", WRITTEN_BYTES)
            samples = [first]
            deadline = time.monotonic() + 2 + PATIENCE_SECS
            while time.monotonic() < deadline:
                samples.append(parse(tracker.stdout.next()))
                disk = find_disk(samples[-1], name)
                # What it is comes a little later: a process asks it.
                if disk and disk["write_bytes_total"] - before >= WRITTEN_BYTES and disk["sector_bytes"]:
                    break
            expect(disk, f"{name} did not appear")
            equal(disk["write_bytes_total"] - before, WRITTEN_BYTES, "growth of write_bytes_total")
            equal(disk["write_bytes_total"], diskstats()[name]["write_bytes_total"], "the kernel's total")
            equal(disk["sector_bytes"], 4096, "sector_bytes")
            equal(disk["capacity_bytes"], 2 * WRITTEN_BYTES, "capacity_bytes")
            equal(disk["stacked"], lies_on_listed_disk(place / "image", samples[-1]), "stacked")
            tap.diag(f"stacked is {disk['stacked']}")
            rates = 0
            for sample in samples[1:]:
                row = find_disk(sample, name)
                rates += (row["write_bytes_per_sec"] or 0) * sample["actual_interval_ms"] / 1000 if row else 0
            tap.diag(f"rates add up to {rates / WRITTEN_BYTES:.4f} of the bytes")
            # A rate is over the time between two readings: that between two samples only where these are quick.
            allowed = 0.3 if SLOW else 0.05
            expect(abs(rates - WRITTEN_BYTES) < allowed * WRITTEN_BYTES, f"rates add up to {rates:.0f} bytes")
            detach()
            for line in tracker.stdout.take(3):
                parse(line)
            equal(tracker.stop(), 0, "exit status")
            equal(tracker.stderr(), "", "stderr")


@test
def a_mounted_loop_device_shows_its_filesystem():
    mkfs = shutil.which("mkfs.ext4") or shutil.which("mkfs.ext4", path="/usr/sbin:/sbin")
    if not mkfs:
        raise Skip("mkfs.ext4 is not installed")
    with directory() as place:
        (place / "image").write_bytes(b"")
        os.truncate(place / "image", WRITTEN_BYTES)
        where = place / "with space"
        where.mkdir()
        with loop_device(place / "image") as (name, _):
            done = call(mkfs, "-q", f"/dev/{name}")
            equal(done.returncode, 0, f"status of mkfs {done.stderr!r}")
            with Tracker("-i", "0.1") as tracker:
                equal(find_disk(parse(tracker.stdout.next()), name)["mounts"], [], "mounts before")
                mount = call("mount", f"/dev/{name}", where)
                if mount.returncode != 0:
                    raise Skip(f"mount: {mount.stderr.strip()}")
                try:
                    mounts = wait_until(lambda: find_disk(parse(tracker.stdout.next()), name)["mounts"], "the mount")
                    equal([(row["mount_point"], row["filesystem"]) for row in mounts], [(str(where), "ext4")], "mounts")
                    space = os.statvfs(where)
                    equal(mounts[0]["total_bytes"], space.f_blocks * space.f_frsize, "total_bytes")
                finally:
                    done = call("umount", where)
                equal((done.returncode, done.stderr), (0, ""), "umount while it is tracked")
                wait_until(lambda: not find_disk(parse(tracker.stdout.next()), name)["mounts"], "the mount to go")
                equal(tracker.stop(), 0, "exit status")
                equal(tracker.stderr(), "", "stderr")


if __name__ == "__main__":
    tap.main()
