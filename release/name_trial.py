#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in a network namespace of its own: name_trial.py WORDS-THAT-START-THE-TRACKER...

Plays a name server on 127.0.0.1, whose answers over UDP are cut so that the question comes again over TCP, and a server
for the hooks of a run. The tracker must reach the second by name.
"""

import fcntl
import http.server
import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading

NAME = b"\x09collector\x04test\x00"
PORT = 8080
SECS = 60
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
TYPE_A, TRUNCATED = 1, 0x0200

seen = {"udp": 0, "tcp": 0, "posts": []}


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = bytearray(struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(control, SIOCGIFFLAGS, request)
        flags = struct.unpack_from("h", request, 16)[0] | IFF_UP
        struct.pack_into("h", request, 16, flags)
        fcntl.ioctl(control, SIOCSIFFLAGS, request)


def answer(question, is_cut):
    """127.0.0.1 for an A question; for others that there is no such record."""
    (number,) = struct.unpack_from(">H", question)
    end = question.index(b"\x00", 12) + 5
    kind = struct.unpack_from(">H", question, end - 4)[0]
    has_answer = kind == TYPE_A and question[12:].lower().startswith(NAME) and not is_cut
    flags = 0x8180 | (TRUNCATED if is_cut else 0)
    head = struct.pack(">HHHHHH", number, flags, 1, int(has_answer), 0, 0)
    record = b"\xc0\x0c" + struct.pack(">HHIH", TYPE_A, 1, 60, 4) + socket.inet_aton("127.0.0.1")
    return head + question[12:end] + (record if has_answer else b"")


class Datagrams(socketserver.BaseRequestHandler):
    def handle(self):
        question, server = self.request
        seen["udp"] += 1
        server.sendto(answer(question, True), self.client_address)


class Streams(socketserver.StreamRequestHandler):
    timeout = 10

    def handle(self):
        head = self.rfile.read(2)
        while len(head) == 2:
            text = answer(self.rfile.read(struct.unpack(">H", head)[0]), False)
            seen["tcp"] += 1
            self.wfile.write(struct.pack(">H", len(text)) + text)
            head = self.rfile.read(2)


class Hooks(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        seen["posts"].append(f"{self.headers.get('Host')}{self.path}")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    raise_loopback()
    servers = [socketserver.ThreadingUDPServer(("127.0.0.1", 53), Datagrams),
               socketserver.ThreadingTCPServer(("127.0.0.1", 53), Streams),
               http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Hooks)]
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://collector.test:{PORT}"
    env = {**os.environ, "TRACKER_HTTP_START_URL": f"{url}/start", "TRACKER_HTTP_STOP_URL": f"{url}/stop",
           "TRACKER_ALLOW_HTTP": "true", "TRACKER_SPOOL": "/spool"}
    run = subprocess.run([*sys.argv[1:], "--quiet", "--", "/busybox", "sleep", "1"], env=env, timeout=SECS, check=False,
                         capture_output=True, text=True, errors="replace")
    wanted = [f"collector.test:{PORT}/start", f"collector.test:{PORT}/stop"]
    if run.returncode != 0 or seen["posts"] != wanted or seen["tcp"] == 0:
        sys.exit(f"status {run.returncode}, {seen}\n{run.stderr[-2000:]}")
    print(f"found by name, {seen['udp']} questions over UDP, {seen['tcp']} over TCP")


if __name__ == "__main__":
    main()
