#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
# Makes a fixture of the guest: a filesystem on the first disk, an interface and a group with limits, all of them in use
# meanwhile. The fixture goes onto the second disk, as a tar archive.
set -e

mke2fs /dev/vda >/dev/null 2>&1
mkdir /data /sys/fs/cgroup/job
mount -t ext4 /dev/vda /data
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
echo 150000 100000 >/sys/fs/cgroup/job/cpu.max
echo 268435456 >/sys/fs/cgroup/job/memory.max
echo $$ >/sys/fs/cgroup/job/cgroup.procs

busy() {
    while :; do
        /rt/workload loop 4 40 2
        dd if=/dev/zero of=/data/file bs=64k count=24 conv=fsync
        ping -c 1 -w 1 10.0.2.2
        sleep 0.1
    done
}

busy >/dev/null 2>&1 &
load=$!
python3 /rt/tools/capture-fixture /tmp/fixture 4 1 | sed 's/^/# /'
kill "$load"
cp /proc/cpuinfo /tmp/fixture/t0/proc/
tar -C /tmp/fixture -cf /dev/vdb .
sync
