#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A read-only file system over /dev/fuse that shows a directory, and keeps some requests without an answer.

    fuse_server.py [--hold-read PATH] [--hold-flush PATH] [--delay-read PATH SECS]... [OPTION]... MOUNT_POINT SOURCE

Stands in for a network file system whose server is dead (held) or slow (delayed). PATH is relative to SOURCE. Files are
cached by the kernel if they are opened without O_DIRECT and --no-cache is not given. Who waits for an answer cannot be
killed, but with --killable. It writes a line to its standard output: "mounted", or "refused REASON" where that is not
permitted; then "held read PATH" and so on for each request that is held or delayed. The line "release" on its standard
input gives all of them their answers, and holds no more. It ends, and the requests that it holds with it, when its
standard input does. The protocol is that of linux/fuse.h.
"""

import argparse
import contextlib
import ctypes
import errno
import os
import select
import signal
import stat
import struct
import sys
import time

LIMIT_SECS = 120
REQUEST_BYTES = 1 << 17
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
MINOR, ASYNC_READ, DIRECT_IO = 31, 1, 1
(LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT,
 BATCH_FORGET) = 1, 2, 3, 5, 14, 15, 17, 18, 25, 26, 27, 28, 29, 36, 42
UNANSWERED = (FORGET, BATCH_FORGET)
IN_HEADER = struct.Struct("=IIQQIIIHH")
OUT_HEADER = struct.Struct("=IiQ")
ATTR = struct.Struct("=6Q10I")
ROOT = 1

_libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    """A function of the C library, with its errno as an exception."""
    if getattr(_libc, name)(*args) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


class Server:
    """Answers requests one after the other; those of `hold` and `delays` later or never."""

    def __init__(self, device, source, no_cache=False, killable=False):
        self.device = device
        self.no_cache = no_cache
        self.killable = killable
        self.paths = {ROOT: source}
        self.nodes = {source: ROOT}
        self.hold = set()  # (opcode, path)
        self.delays = {}  # (opcode, path) to seconds
        self.kept = []  # (when to answer, unique, error, payload)
        self.answers = {LOOKUP: self._lookup, GETATTR: self._getattr, READLINK: self._readlink, OPEN: self._open,
                        OPENDIR: self._open, READ: self._read, READDIR: self._readdir, STATFS: self._statfs,
                        INIT: self._init, FLUSH: self._nothing, RELEASE: self._nothing, RELEASEDIR: self._nothing}

    def _node(self, path):
        node = self.nodes.setdefault(path, len(self.nodes) + ROOT)
        self.paths[node] = path
        return node

    def _attr(self, path):
        info = os.lstat(path)
        return ATTR.pack(self._node(path), info.st_size, info.st_blocks, int(info.st_atime), int(info.st_mtime),
                         int(info.st_ctime), 0, 0, 0, info.st_mode, info.st_nlink, info.st_uid, info.st_gid, 0, 4096, 0)

    def _lookup(self, path, body):
        inner = os.path.join(path, os.fsdecode(body.rstrip(b"\0")))
        attr = self._attr(inner)
        return struct.pack("=4Q2I", self._node(inner), 0, 1, 1, 0, 0) + attr

    def _getattr(self, path, _body):
        return struct.pack("=Q2I", 1, 0, 0) + self._attr(path)

    @staticmethod
    def _readlink(path, _body):
        return os.fsencode(os.readlink(path))

    def _open(self, path, body):
        flags, = struct.unpack_from("=I", body)
        is_direct = not os.path.isdir(path) and (self.no_cache or flags & os.O_DIRECT)
        return struct.pack("=Q2I", 0, DIRECT_IO if is_direct else 0, 0)

    @staticmethod
    def _read(path, body):
        _, offset, size = struct.unpack_from("=2QI", body)
        with open(path, "rb") as file:
            return os.pread(file.fileno(), size, offset)

    def _readdir(self, path, body):
        _, offset, size = struct.unpack_from("=2QI", body)
        answer = b""
        for place, name in enumerate(sorted(os.listdir(path))[offset:], offset + 1):
            inner, raw = os.path.join(path, name), os.fsencode(name)
            entry = struct.pack("=2Q2I", self._node(inner), place, len(raw), stat.S_IFMT(os.lstat(inner).st_mode) >> 12)
            entry += raw + bytes(-len(raw) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer

    @staticmethod
    def _statfs(_path, _body):
        return struct.pack("=5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)

    @staticmethod
    def _init(_path, body):
        major, _, readahead = struct.unpack_from("=3I", body)
        return struct.pack("=4I2H2I36x", major, MINOR, readahead, ASYNC_READ, 64, 48, REQUEST_BYTES // 2, 1)

    @staticmethod
    def _nothing(_path, _body):
        return b""

    def _reply(self, unique, error, payload):
        # ENOENT: the caller has left since.
        with contextlib.suppress(FileNotFoundError):
            os.write(self.device, OUT_HEADER.pack(OUT_HEADER.size + len(payload), -error, unique) + payload)

    def handle(self, request):
        _, opcode, unique, node, *_ = IN_HEADER.unpack_from(request)
        if opcode in UNANSWERED:
            return
        if opcode == INTERRUPT:
            self._interrupt(*struct.unpack_from("=Q", request, IN_HEADER.size))
            return
        path, error, payload = self.paths.get(node, ""), 0, b""
        try:
            payload = self.answers[opcode](path, request[IN_HEADER.size:])
        except KeyError:
            error = errno.ENOSYS
        except OSError as reason:
            error = reason.errno
        if (opcode, path) in self.hold:
            self._keep(opcode, path, (float("inf"), unique, error, payload))
        elif (opcode, path) in self.delays:
            self._keep(opcode, path, (time.monotonic() + self.delays[opcode, path], unique, error, payload))
        else:
            self._reply(unique, error, payload)

    def _keep(self, opcode, path, answer):
        self.kept.append(answer)
        word = {READ: "read", FLUSH: "flush"}[opcode]
        print("held", word, os.path.relpath(path, self.paths[ROOT]), flush=True)

    def _interrupt(self, unique):
        """Who waits has got a signal: one that kills it, unless it wants to hear of others."""
        if self.killable and any(row[1] == unique for row in self.kept):
            self.kept = [row for row in self.kept if row[1] != unique]
            self._reply(unique, errno.EINTR, b"")

    def release(self):
        self.hold.clear()
        self.delays.clear()
        self.answer_kept(float("inf"))

    def answer_kept(self, now):
        """Those whose time has come; returns the seconds until the next, or None."""
        due = [row for row in self.kept if row[0] <= now]
        self.kept = [row for row in self.kept if row[0] > now]
        for _, *answer in due:
            self._reply(*answer)
        following = min((row[0] for row in self.kept), default=float("inf"))
        return None if following == float("inf") else max(0, following - now)

    def serve(self):
        """Until the standard input ends, or the file system is unmounted."""
        while True:
            ready, _, _ = select.select([0, self.device], [], [], self.answer_kept(time.monotonic()))
            if 0 in ready:
                if not (words := os.read(0, 4096)):
                    return
                if b"release" in words:
                    self.release()
            if self.device in ready:
                try:
                    self.handle(os.read(self.device, REQUEST_BYTES))
                except OSError as reason:
                    if reason.errno == errno.ENODEV:
                        return
                    if reason.errno not in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                        raise


def mount(device, mount_point):
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
    call("mount", b"slow", os.fsencode(mount_point), b"fuse", MS_NOSUID | MS_NODEV, options)


def unmount(mount_point):
    """Never waits for the file system."""
    with contextlib.suppress(OSError):
        call("umount2", os.fsencode(mount_point), MNT_DETACH)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hold-read", action="append", default=[])
    parser.add_argument("--hold-flush", action="append", default=[])
    parser.add_argument("--delay-read", action="append", nargs=2, default=[])
    parser.add_argument("--no-cache", action="store_true")
    parser.add_argument("--killable", action="store_true")
    parser.add_argument("mount_point")
    parser.add_argument("source")
    words = parser.parse_args()
    signal.alarm(LIMIT_SECS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        device = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK)
        mount(device, words.mount_point)
    except OSError as reason:
        print("refused", reason, flush=True)
        sys.exit(1)
    source = os.path.abspath(words.source)
    server = Server(device, source, words.no_cache, words.killable)
    server.hold |= {(READ, os.path.join(source, path)) for path in words.hold_read}
    server.hold |= {(FLUSH, os.path.join(source, path)) for path in words.hold_flush}
    server.delays = {(READ, os.path.join(source, path)): float(secs) for path, secs in words.delay_read}
    try:
        print("mounted", flush=True)
        server.serve()
    finally:
        os.close(device)  # ends what waits for an answer; only then the mount point can be used without fear
        unmount(words.mount_point)


if __name__ == "__main__":
    main()
