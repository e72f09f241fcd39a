#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that are slow to say what they are, or do not say it at all: nothing waits for them, neither a sample nor the
end, and whatever still hangs holds nothing of the caller."""

import pathlib
import shutil
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import slow_file
import tap
from slow_file import slow_file_at
from tap import Skip, equal, expect, test
from tracker import BINARY, PATIENCE_SECS, ROOT, clean_env, directory, parse

DISKS = ROOT / "tests/fixtures/disks/t0"
SERIAL = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/vpd_pg80"
SPEED = "sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/speed"
WARNING = "/sys/dev/block/8:0/device/vpd_pg80 did not answer within 5 s"
# The file takes so long; what must not wait for it has so much time on a busy machine.
SLOW_SECS, SOON_SECS = 10, 4 + 2 * PATIENCE_SECS
_private = []


def private():
    if not _private:
        slow_file.own_mounts()
        _private.append(True)


def track(*args, cwd, timeout=30):
    """Runs it with pipes of ours: what holds one of them open keeps us here."""
    start = time.monotonic()
    done = subprocess.run([BINARY, *map(str, args)], env=clean_env(), cwd=cwd, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=timeout, check=False)
    return done, time.monotonic() - start


def samples_of(path):
    return [parse(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]


def real_serial():
    """A disk of this machine with a serial file of its own, as virtio disks have."""
    for path in sorted(pathlib.Path("/sys/block").glob("*/serial")):
        return path.resolve()
    raise Skip("no disk here has such a file")


@test(limit=60)
def a_short_command_waits_for_no_disk():
    private()
    with directory() as place:
        (place / "fuse").mkdir()
        with slow_file_at(real_serial(), place / "fuse", delay_secs=SLOW_SECS) as slow:
            for args in (("-o", "out"), ("-q", "--summary=always"), ("-o", "csv", "-f", "csv")):
                done, secs = track(*args, "--", "true", cwd=place)
                equal(done.returncode, 0, f"status with {args}")
                expect(secs < SOON_SECS, f"{args}: {secs:.1f} s")
            equal(slow.reads, 0, "questions to the device in runs of a moment")
            equal(samples_of(place / "out")[0]["disk"][0]["serial"], None, "serial, which is not known")


@test(limit=60)
def the_doctor_waits_for_no_disk():
    private()
    with directory() as place:
        (place / "fuse").mkdir()
        with slow_file_at(real_serial(), place / "fuse", delay_secs=SLOW_SECS) as slow:
            done, secs = track("--doctor", cwd=place)
            expect("devices" in done.stdout, done.stdout)
            expect(secs < SOON_SECS and slow.reads == 0, f"it took {secs:.1f} s and {slow.reads} questions")


@test(limit=60)
def a_command_waits_for_no_disk_at_its_end():
    private()
    with directory() as place:
        (place / "fuse").mkdir()
        with slow_file_at(real_serial(), place / "fuse", delay_secs=SLOW_SECS) as slow:
            start = time.monotonic()
            # It ends when the device is being asked.
            with subprocess.Popen([BINARY, "-i", "0.1", "-o", "out", "--", "cat"], env=clean_env(), cwd=place,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
                expect(slow.was_read.wait(SOON_SECS), "the device was not asked")
                words = child.communicate(timeout=30)
            secs = time.monotonic() - start
            equal((child.returncode, *words), (0, b"", b""), "status and streams")
            expect(secs < SOON_SECS, f"it took {secs:.1f} s")
            expect(samples_of(place / "out"), "there is no sample")


@test(limit=90)
def a_machine_with_a_slow_disk_is_sampled_in_time():
    private()
    with directory() as place:
        shutil.copytree(DISKS, place / "root", symlinks=True)
        (place / "fuse").mkdir()
        with slow_file_at(place / "root" / SERIAL, place / "fuse", delay_secs=2 * SLOW_SECS):
            done, secs = track("-i", "0.25", "-o", "out", "--sysroot", place / "root", "--", "sleep", "7", cwd=place)
        equal(done.returncode, 0, done.stderr)
        expect(secs < 7 + SOON_SECS, f"it took {secs:.1f} s")
        equal(done.stderr.count(WARNING), 1, f"warnings of the file in {done.stderr!r}")
        samples = samples_of(place / "out")
        expect(len(samples) > 14, f"{len(samples)} samples")
        disks = [{disk["device"]: disk for disk in sample["disk"]} for sample in samples]
        # What came before the file is known, and what the others say too.
        equal(disks[-1]["sda"]["model"], "EXAMPLE HDD 2TB", "model of the slow disk")
        equal(disks[-1]["sda"]["serial"], None, "serial of the slow disk")
        equal(disks[-1]["nvme0n1"]["serial"], "SERIAL01", "serial of a disk before it")
        equal(disks[-1]["sdb"]["serial"], "naa.50014ee2b5c3d4e5", "serial of a disk behind it")
        equal(disks[0]["sda"]["capacity_bytes"], 2000398934016, "size, which needs no device")


@test(limit=60)
def a_slow_link_is_not_waited_for():
    private()
    with directory() as place:
        shutil.copytree(DISKS, place / "root", symlinks=True)
        (place / "fuse").mkdir()
        with slow_file_at(place / "root" / SPEED, place / "fuse", text="100\n", delay_secs=1):
            done, secs = track("-i", "0.1", "-o", "out", "--sysroot", place / "root", "--", "sleep", "4", cwd=place)
        equal(done.returncode, 0, done.stderr)
        expect("network" not in done.stderr, done.stderr)
        expect(secs < 4 + SOON_SECS, f"it took {secs:.1f} s")
        speeds = [next(row["speed_mbps"] for row in sample["network"] if row["interface"] == "eth0")
                  for sample in samples_of(place / "out")]
        equal((speeds[0], speeds[-1]), (None, 100), "speed in the first and the last sample")


@test
def the_helper_is_not_for_users():
    for args in (["--probe-helper"], ["--probe-helper", ""]):
        done, _ = track(*args, cwd="/")
        expect(done.returncode == 125 and "--probe-helper" in done.stderr, args, done.returncode, done.stderr)


if __name__ == "__main__":
    tap.main()
