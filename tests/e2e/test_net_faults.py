#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server behind the fakes, and what can go wrong with it, as a client sees it."""

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time

import lib  # noqa: F401, finds those that follow
import net_faults
import tap
from fake_http import Answer
from fake_s3 import FakeS3
from tap import Skip, equal, expect, test


def outcome(server, target="/bucket/a", secs=0.6):
    """What a plain client sees of an answer within that time: all bytes until the end, and how it ended."""
    deadline = time.monotonic() + secs
    sock = socket.create_connection(("127.0.0.1", server.port), secs)
    data = b""
    try:
        sock.sendall(f"PUT {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc".encode())
        while True:
            sock.settimeout(max(0.001, deadline - time.monotonic()))
            piece = sock.recv(65536)
            if not piece:
                return data, "closed"
            data += piece
    except ConnectionResetError:
        return data, "reset"
    except TimeoutError:
        return data, "silence"
    finally:
        sock.close()


FAULTS = (
    (net_faults.Status(503, [("A", "b")], b"body"), "HTTP/1.1 503 .*\r\nA: b\r\n.*\r\n\r\nbody", "closed", 503),
    (net_faults.Status(413, when=net_faults.EARLY), "HTTP/1.1 413 .*\r\n\r\n", "closed", 413),
    (net_faults.Retry429(7), "HTTP/1.1 429 .*\r\nRetry-After: 7\r\n.*", "closed", 429),
    (net_faults.Retry429(7, is_date=True), "HTTP/1.1 429 .*\r\nRetry-After: \\w+, .* GMT\r\n.*", "closed", 429),
    (net_faults.Reset(), "", "reset", None),
    (net_faults.Reset(net_faults.EARLY), "", "reset", None),
    (net_faults.LostAnswer(), "", "reset", 403),
    (net_faults.Close(), "", "closed", None),
    (net_faults.ResetAfter(20), ".{20}", "reset", 403),
    (net_faults.BlackHole(), "", "silence", None),
    (net_faults.BlackHole(0.1), "", "closed", None),
    (net_faults.Oversized(100_000), "HTTP/1.1 403 .*</Error>", "closed", 403),  # a refusal stays one
    (net_faults.Slow(0.2), "HTTP/1.1 403 .*</Error>", "closed", 403),
    (net_faults.Slow(5), "", "silence", None),
    (net_faults.Slow(5, net_faults.AFTER), "", "silence", 403),
    (net_faults.Drip(1500), "HTTP/1.1 403 .*</Error>", "closed", 403),
    (net_faults.Drip(20), "HTTP/1.{0,9}", "silence", 403),
    *((net_faults.Malformed(kind), ".+", "closed", 403) for kind in net_faults.MALFORMED),
)


def fault_is_seen(fault, pattern, end, status):
    """status: what the server noted, which shows whether the request took effect."""
    with FakeS3(behave=lambda request: fault) as s3:
        data, how = outcome(s3)
        expect(re.fullmatch(pattern, data.decode(), re.DOTALL), "got", data, "; want", pattern)
        equal((how, s3.requests[0][3], s3.violations), (end, status, []), "end, noted status, violations")


class Yes(FakeS3):
    """Everything is fine."""

    def handle(self, request):
        return Answer(200)


@test
def faults_that_look_like_a_success_replace_one():
    large = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nx{100000}"
    for fault, pattern in ((net_faults.Oversized(100_000), large), (net_faults.Malformed("garbage"), "220 mail.*")):
        with Yes(behave=lambda request, fault=fault: fault) as server:
            data, _ = outcome(server)
            expect(re.fullmatch(pattern, data.decode(), re.DOTALL), "got", data, "; want", pattern)


for row in FAULTS:
    tap.add(f"fault {row[0]!r}"[:100], fault_is_seen, *row)


@test
def flaky_is_repeatable_and_picks_everything():
    picked = []
    for seed in (1, 1, 2):
        flaky = net_faults.Flaky(0.5, seed)
        strikes = [flaky(None) is not None for _ in range(2000)]
        expect(900 < sum(strikes) < 1100, sum(strikes))
        equal({repr(fault) for fault in flaky.picked}, {repr(fault) for fault in flaky.kinds}, "kinds")
        picked.append([repr(fault) for fault in flaky.picked])
    equal((picked[0] == picked[1], picked[0] == picked[2]), (True, False), "sequences")
    equal(net_faults.Flaky(0, 1)(None), None, "never")


def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port), 0.3).close()
        return "yes"
    except ConnectionError:  # also one that is reset before it is there
        return "refused"
    except TimeoutError:
        return "hangs"


@test
def down_resets_or_shuts_the_door_half_the_time():
    down = net_faults.Down(((0.2, 0.2),))
    with FakeS3(behave=down) as s3:
        ends, deadline = set(), time.monotonic() + 5
        while ends != {"reset", "closed"} and time.monotonic() < deadline:
            ends.add(outcome(s3)[1])
        equal(ends, {"reset", "closed"}, "ends")
        s3.behave = None
        seen = []
        with down.closing(s3):
            while len(seen) < 5 and time.monotonic() < deadline:
                word = connects(s3.port)
                seen += [word] if seen[-1:] != [word] else []
                time.sleep(0.01)
        equal((set(seen), len(seen)), ({"yes", "refused"}, 5), "connections")
        equal(connects(s3.port), "yes", "afterwards")


@test
def a_shut_door_resets_who_is_inside():
    with FakeS3(behave=lambda request: net_faults.BlackHole()) as s3:
        threading.Timer(0.1, s3.shut_door).start()
        start = time.monotonic()
        data, end = outcome(s3, secs=5)
        expect(data == b"" and end in ("reset", "closed") and time.monotonic() - start < 2, data, end)
        equal(connects(s3.port), "refused", "door")
        s3.open_door()
        equal(connects(s3.port), "yes", "door")


@test
def a_full_backlog_hangs():
    with net_faults.FullBacklog() as hole:
        equal(connects(hole.port), "hangs", "connecting")


REQUESTS_BAD = (
    b"GET / HTTP/1.0\r\nHost: a\r\n\r\n", b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET a HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nA: b\nC: d\r\n\r\n", b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
    b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
)


@test
def malformed_requests_are_violations():
    with FakeS3() as s3:
        for number, data in enumerate(REQUESTS_BAD, 1):
            with socket.create_connection(("127.0.0.1", s3.port), 2) as sock:
                sock.sendall(data)
                expect(re.match(rb"HTTP/1.1 (400|501) ", sock.recv(4096)), data)
            equal(len(s3.violations), number, data)


@test
def the_server_speaks_TLS():
    if not shutil.which("openssl"):
        raise Skip("needs openssl")
    with tempfile.TemporaryDirectory(prefix="rt-e2e-") as place:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=fake", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", f"{place}/key", "-out", f"{place}/crt"], check=True,
                       capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{place}/crt", f"{place}/key")
        trust = ssl.create_default_context(cafile=f"{place}/crt")
    with FakeS3(tls=context) as s3:
        expect(s3.url.startswith("https://127.0.0.1:"), s3.url)
        connection = http.client.HTTPSConnection("127.0.0.1", s3.port, timeout=5, context=trust)
        for _ in range(2):
            connection.request("PUT", "/bucket/a", b"content")
            answer = connection.getresponse()
            expect(answer.status == 403 and b"AccessDenied" in answer.read(), answer.status)
        equal(s3.connections, 1, "connections")
        s3.behave = lambda request: net_faults.Reset()
        try:
            connection.request("PUT", "/bucket/a", b"content")
            connection.getresponse()
            raise AssertionError("an answer")
        except ConnectionError:
            pass
        s3.behave = lambda request: net_faults.BlackHole()
        connection = http.client.HTTPSConnection("127.0.0.1", s3.port, timeout=5, context=trust)
        connection.request("PUT", "/bucket/a", b"content")
        start = time.monotonic()
    expect(time.monotonic() - start < 2, "stopping took", time.monotonic() - start)
    connection.close()


if __name__ == "__main__":
    tap.main()
