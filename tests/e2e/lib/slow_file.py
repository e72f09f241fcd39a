# SPDX-License-Identifier: Apache-2.0
"""A file that takes its time to be read: the only file of a FUSE filesystem, served by a thread (linux/fuse.h).

Stands in for an attribute of sysfs whose driver asks a device that is busy or hangs. A reader cannot be killed while
its request is being served. Needs root and /dev/fuse; the mounts are those of a namespace of our own.
"""

import contextlib
import ctypes
import errno
import os
import select
import stat
import struct
import threading

from tap import Skip

CLONE_NEWNS, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 2, 4, 0x1000, 0x4000, 1 << 18, 2
IN_HEADER, OUT_HEADER = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, ACCESS, INTERRUPT, BATCH_FORGET = \
    1, 2, 3, 14, 15, 17, 18, 25, 26, 34, 36, 42
ROOT_NODE, FILE_NODE, DIRECT_IO, VALID_SECS, SIZE = 1, 2, 1, 1000, 4096

libc = ctypes.CDLL(None, use_errno=True)


def system(name, *args):
    """A call of the C library that is not in os; skips where it is not permitted."""
    if getattr(libc, name)(*args) != 0:
        raise Skip(f"{name}: {os.strerror(ctypes.get_errno())}")


def own_mounts():
    """Mounts of this process and of what it starts are its own from now on."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        raise Skip("needs root and /dev/fuse")
    system("unshare", CLONE_NEWNS)
    system("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)


class SlowFile:
    """The filesystem, mounted at a directory; `path` is the file. `reads` counts the requests that came."""

    def __init__(self, directory, text, delay_secs):
        self.path, self.text, self.delay_secs = directory / "file", text, delay_secs
        self.directory, self.reads, self.timers = directory, 0, []
        self.was_read = threading.Event()
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        self.over = os.pipe()
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        try:
            system("mount", b"slow", bytes(directory), b"fuse", MS_NOSUID | MS_NODEV, options)
        except Skip:
            self.close()
            raise
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def end(self):
        """A process that still reads gets the error of a filesystem that is gone."""
        for timer in self.timers:
            timer.cancel()
        libc.umount2(bytes(self.directory), MNT_DETACH)
        os.write(self.over[1], b"x")
        self.thread.join()
        self.close()

    def close(self):
        for fd in (self.fd, *self.over):
            os.close(fd)
        self.fd = -1

    def reply(self, unique, body=b"", error=0):
        with contextlib.suppress(OSError):
            os.write(self.fd, OUT_HEADER.pack(OUT_HEADER.size + len(body), -error, unique) + body)

    @staticmethod
    def attributes(node):
        mode = stat.S_IFDIR | 0o755 if node == ROOT_NODE else stat.S_IFREG | 0o444
        return struct.pack("<6Q10I", node, SIZE, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, SIZE, 0)

    def answer(self, opcode, unique, node):
        valid = struct.pack("<QII", VALID_SECS, 0, 0)
        if opcode == INIT:
            self.reply(unique, struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 0, 0, SIZE, 0, 0, 0, *[0] * 8))
        elif opcode == LOOKUP:
            self.reply(unique, struct.pack("<4QII", FILE_NODE, 0, VALID_SECS, VALID_SECS, 0, 0)
                       + self.attributes(FILE_NODE))
        elif opcode == GETATTR:
            self.reply(unique, valid + self.attributes(node))
        elif opcode == OPEN:
            self.reply(unique, struct.pack("<QII", 0, DIRECT_IO, 0))
        elif opcode == READ:
            self.reads += 1
            self.was_read.set()
            timer = threading.Timer(self.delay_secs, self.reply, (unique, self.text.encode()))
            timer.daemon = True
            timer.start()
            self.timers.append(timer)
        elif opcode in (FLUSH, RELEASE, ACCESS):
            self.reply(unique)
        elif opcode not in (FORGET, INTERRUPT, BATCH_FORGET):
            self.reply(unique, error=errno.ENOSYS)

    def serve(self):
        while self.over[0] not in select.select([self.fd, self.over[0]], [], [])[0]:
            try:
                request = os.read(self.fd, 1 << 17)
            except OSError as reason:
                if reason.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return
            _, opcode, unique, node, *_ = IN_HEADER.unpack_from(request)
            self.answer(opcode, unique, node)


@contextlib.contextmanager
def slow_file_at(target, place, text="slow\n", delay_secs=10.0):
    """Puts such a file over an existing one; `place` is an empty directory for its filesystem."""
    slow = SlowFile(place, text, delay_secs)
    try:
        system("mount", bytes(slow.path), os.fsencode(target), None, MS_BIND, None)
        try:
            yield slow
        finally:
            libc.umount2(os.fsencode(target), MNT_DETACH)
    finally:
        slow.end()
