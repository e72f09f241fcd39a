# SPDX-License-Identifier: Apache-2.0
"""Load of known size: the process tree that is tracked, and the process that answers it at the other end of a network.

Usage: parity_load.py tree WORKER[=WORD,...]... | parity_load.py echo PORT
Trackers sample on the full second, so everything that jumps does so in the middle of one: a few milliseconds between
two tools then make no difference. Every worker ends when its parent does.
"""

import errno
import mmap
import os
import signal
import socket
import sys
import time

MIB = 1 << 20
CYCLE_SECS = 0.05
USER_SHARE, SYSTEM_SHARE = 0.25, 0.10
CHILD_USER_SHARE = 0.3
STEPS, STEP_BYTES = 3, 48 * MIB
FILE_BLOCKS = 32
DATAGRAM = b"r" * 1400
BURST = 50


def forever(parent):
    """True until the parent is gone."""
    return os.getppid() == parent


def sleep_until_phase(phase):
    """Until the clock shows that fraction of a second the next time."""
    now = time.time()
    time.sleep((phase - now) % 1 or 1e-3)


def spin_user(secs):
    end = time.thread_time() + secs
    while time.thread_time() < end:
        sum(range(400))


def spin_system(secs, zeros, buffer):
    end = time.thread_time() + secs
    while time.thread_time() < end:
        os.readv(zeros, [buffer])


def worker_cpu(parent):
    """A known share of a core in user mode and a smaller one in the kernel."""
    zeros = os.open("/dev/zero", os.O_RDONLY)
    buffer = bytearray(MIB // 4)
    while forever(parent):
        started = time.monotonic()
        spin_user(USER_SHARE * CYCLE_SECS)
        spin_system(SYSTEM_SHARE * CYCLE_SECS, zeros, buffer)
        time.sleep(max(0.001, CYCLE_SECS - (time.monotonic() - started)))


def worker_memory(parent):
    """Steps up and down, one every two seconds."""
    held, step = [], 0
    while forever(parent):
        sleep_until_phase(0.5)
        if step % (2 * STEPS) < STEPS:
            block = mmap.mmap(-1, STEP_BYTES)
            block.write(b"\1" * STEP_BYTES)
            held.append(block)
        else:
            held.pop().close()
        step += 1
        time.sleep(1)


class Blocks:
    """A file or device that is read and written past the page cache, 1 MiB at a time, round and round."""

    def __init__(self, path, blocks):
        self.blocks, self.next = blocks, 0
        self.buffer = mmap.mmap(-1, MIB)
        self.buffer.write(os.urandom(4096) * (MIB // 4096))
        self.is_direct = True
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
        except OSError as reason:
            if reason.errno != errno.EINVAL:
                raise
            self.is_direct = False
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def transfer(self, writes, reads):
        for _ in range(writes):
            os.pwritev(self.fd, [self.buffer], self.next % self.blocks * MIB)
            self.next += 1
        if not self.is_direct:
            os.fdatasync(self.fd)
            os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)
        for place in range(self.next - reads, self.next):
            os.preadv(self.fd, [self.buffer], max(0, place) % self.blocks * MIB)


def worker_disk(parent, path, writes, reads):
    """That many MiB written and read every second."""
    blocks = Blocks(path, FILE_BLOCKS)
    while forever(parent):
        sleep_until_phase(0.35)
        blocks.transfer(int(writes), int(reads))


def worker_net(parent, host, port):
    """Six bursts of datagrams a second; what comes back is read and dropped."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.setblocking(False)
        while forever(parent):
            for phase in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
                sleep_until_phase(phase)
                for _ in range(BURST):
                    try:
                        link.sendto(DATAGRAM, (host, int(port)))
                        link.recv(len(DATAGRAM))
                    except OSError:
                        pass


def short_life(parent, path):
    """A child of 2.4 s: from .3 to .7 two seconds later, with CPU time all along and writes in between."""
    blocks = Blocks(path, FILE_BLOCKS)
    end = time.time() + 2.4
    write_at = int(time.time()) + 0.5
    while time.time() < end and forever(parent):
        spin_user(CHILD_USER_SHARE * CYCLE_SECS)
        time.sleep((1 - CHILD_USER_SHARE) * CYCLE_SECS)
        if time.time() >= write_at:
            blocks.transfer(2, 1)
            write_at += 1


def worker_shortlived(parent, path):
    """One short-lived child after the other, each waited for."""
    while forever(parent):
        sleep_until_phase(0.3)
        child = start(short_life, path)
        os.waitpid(child, 0)


def start(worker, *words):
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        worker(parent, *words)
    except OSError as reason:
        print(f"parity_load: {worker.__name__}: {reason}", file=sys.stderr, flush=True)
    finally:
        os._exit(0)


WORKERS = {"cpu": worker_cpu, "memory": worker_memory, "disk": worker_disk, "net": worker_net,
           "shortlived": worker_shortlived}


def tree(specs):
    """Starts the workers and sleeps until asked to stop or left alone; then ends them and waits for them."""
    parent, workers = os.getppid(), []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        for spec in specs:
            name, _, words = spec.partition("=")
            workers.append(start(WORKERS[name], *filter(None, words.split(","))))
        print("ready", flush=True)
        while forever(parent):
            time.sleep(1)
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGTERM)
        for worker in workers:
            os.waitpid(worker, 0)


def echo(port):
    """Sends every second datagram back to where it came from."""
    parent = os.getppid()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("", int(port)))
        link.settimeout(1)
        print("ready", flush=True)
        count = 0
        while forever(parent):
            try:
                data, sender = link.recvfrom(2048)
                count += 1
                if count % 2:
                    link.sendto(data, sender)
            except OSError:
                pass


if __name__ == "__main__":
    if sys.argv[1] == "tree":
        tree(sys.argv[2:])
    else:
        echo(sys.argv[2])
