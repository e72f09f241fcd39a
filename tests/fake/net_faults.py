# SPDX-License-Identifier: Apache-2.0
"""What can go wrong between a client and a server, for the `behave` of the fakes.

A fault is decided for one request and strikes EARLY (its body is not even read), BEFORE it has taken effect, or AFTER.
Those that look like a success come AFTER, so that no client hears of something that has not happened. Flaky and
Down decide by themselves. FullBacklog is an address where not even connecting works.
"""

import email.utils
import itertools
import random
import socket
import threading
import time

from fake_http import Answer

EARLY, BEFORE, AFTER = "early", "before", "after"
BLOCK = b"x" * 65536


class Fault:
    """Nothing is wrong yet."""

    when = BEFORE
    is_success = False  # looks like one to the client

    def __init__(self, when=None):
        self.when = when or self.when

    def play(self, exchange):
        """Returns true where the connection lives on."""
        if self.when == AFTER:
            answer = exchange.answer()
            if self.is_success and answer.status // 100 != 2:  # no refusal is turned into a success
                exchange.send(answer)
                return True
        elif self.when == BEFORE:
            exchange.read_body()
        return self.strike(exchange)

    def strike(self, exchange):
        exchange.send(exchange.answer())
        return True

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Status(Fault):
    """Another answer than the server's own."""

    def __init__(self, code, headers=(), body=b"", when=None):
        super().__init__(when)
        self.code, self.headers, self.body = code, headers, body

    def strike(self, exchange):
        exchange.send(Answer(self.code, self.headers, self.body))
        if self.when == EARLY:  # a body that is not read would turn the end of the connection into a reset
            exchange.wire.wait_gone(exchange.server.over, 0.2)
        return self.when != EARLY


class Retry429(Fault):
    """Too many requests, with the seconds to wait or the date until when."""

    def __init__(self, secs, is_date=False, when=None):
        super().__init__(when)
        self.secs, self.is_date = secs, is_date

    def strike(self, exchange):
        until = email.utils.formatdate(exchange.server.now() + self.secs, usegmt=True)
        exchange.send(Answer(429, [("Retry-After", until if self.is_date else str(self.secs))]))
        return True


class Reset(Fault):
    """The connection breaks without an answer."""

    def strike(self, exchange):
        exchange.wire.close(is_reset=True)
        return False


class LostAnswer(Reset):
    """The request has taken effect, and no answer is sent."""

    when = AFTER


class Close(Fault):
    """The connection ends in good order, and without an answer."""

    def strike(self, exchange):
        return False


class ResetAfter(Fault):
    """The connection breaks behind so many bytes of the answer."""

    when = AFTER

    def __init__(self, size):
        super().__init__()
        self.size = size

    def strike(self, exchange):
        exchange.wire.send(exchange.encode(exchange.answer())[:self.size])
        exchange.pause(0.05)  # a reset overtakes what the other side has not read yet
        exchange.wire.close(is_reset=True)
        return False


class BlackHole(Fault):
    """No answer, and no end; with secs, an end without an answer after that time."""

    def __init__(self, secs=None, when=None):
        super().__init__(when)
        self.secs = secs

    def strike(self, exchange):
        exchange.wire.wait_gone(exchange.server.over, self.secs)
        return False


class Slow(Fault):
    """The right answer, late."""

    def __init__(self, secs, when=None):
        super().__init__(when)
        self.secs = secs

    def strike(self, exchange):
        return exchange.pause(self.secs) and super().strike(exchange)


class Drip(Fault):
    """The right answer, drop by drop."""

    when = AFTER
    STEP_SECS = 0.02

    def __init__(self, bytes_per_sec):
        super().__init__()
        self.bytes_per_sec = bytes_per_sec

    def strike(self, exchange):
        data = exchange.encode(exchange.answer())
        start, sent = time.monotonic(), 0
        while sent < len(data) and exchange.pause(self.STEP_SECS):
            due = int((time.monotonic() - start) * self.bytes_per_sec)
            exchange.wire.send(data[sent:due])
            sent = max(sent, min(due, len(data)))
        return sent == len(data)


class Oversized(Fault):
    """A success with a body of so many bytes."""

    when = AFTER
    is_success = True

    def __init__(self, size):
        super().__init__()
        self.size = size

    def strike(self, exchange):
        exchange.wire.send(f"HTTP/1.1 200 OK\r\nContent-Length: {self.size}\r\n\r\n".encode())
        for sent in range(0, self.size, len(BLOCK)):
            exchange.wire.send(BLOCK[:self.size - sent])
        return True


def _ok(body, *headers):
    return "\r\n".join(["HTTP/1.1 200 OK", *headers, f"Content-Length: {len(body)}", "", body]).encode()


MALFORMED = {
    "garbage": b"220 mail.example ESMTP\r\n\r\n",
    "status": b"HTTP/1.1 2OO OK\r\nContent-Length: 2\r\n\r\n{}",
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "chunked-cut": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "two-lengths": _ok("{}", "Content-Length: 12"),
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
    "truncated": _ok('{"run_id": "run-1", "upload')[:-5],
    "head-cut": b"HTTP/1.1 200 OK\r\nContent-Le",
    "header": _ok("{}", "no colon here"),
    "endless-header": _ok("{}", "X-Long: " + "a" * (1 << 20)),
    "nul": _ok("{}", "X-\0: \0"),
    "nul-body": _ok("\0\0\0\0"),
    "json": _ok('{"run_id": nope', "Content-Type: application/json"),
    "json-shape": _ok('[{"run_id": {"a": []}}]', "Content-Type: application/json"),
}


class Malformed(Fault):
    """An answer that is none: kind is a key of MALFORMED. The last three are good HTTP, but nothing for an API."""

    when = AFTER
    is_success = True

    def __init__(self, kind, when=None):
        super().__init__(when)
        self.kind = kind

    def strike(self, exchange):
        exchange.wire.send(MALFORMED[self.kind])
        return False


def all_faults(secs=0.3):
    """One of everything, with times that are about as short as secs."""
    return (
        Status(500), Status(502, body=b"<html>bad gateway</html>"), Status(503, [("Retry-After", "1")]),
        Status(503, when=EARLY), Retry429(1), Retry429(1, is_date=True), Reset(), Reset(EARLY), LostAnswer(), Close(),
        Close(AFTER), ResetAfter(0), ResetAfter(10), ResetAfter(60), BlackHole(secs), BlackHole(secs, AFTER),
        Slow(secs), Slow(secs, AFTER), Drip(400 / secs), Oversized(4 << 20), *map(Malformed, MALFORMED))


class Flaky:
    """Picks a fault with the given probability, the same ones for the same seed; `picked` says which."""

    def __init__(self, probability, seed, kinds=None):
        self.probability, self.kinds = probability, tuple(kinds or all_faults())
        self.picked = []
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def __call__(self, _request):
        with self._lock:
            strikes, fault = self._random.random() < self.probability, self._random.choice(self.kinds)
            if not strikes:
                return None
            self.picked.append(fault)
            return fault


class Down:
    """Down by a schedule: pairs of seconds up and seconds down, over and over.

    As a `behave` it resets what comes while it is down; with closing(servers) their doors are shut meanwhile.
    """

    def __init__(self, schedule=((0.5, 0.5),)):
        self.schedule = tuple(schedule)
        self.start = time.monotonic()

    def is_down(self):
        return self._until_change()[0]

    def _until_change(self):
        """Whether it is down, and for how many seconds it stays so."""
        at = (time.monotonic() - self.start) % sum(map(sum, self.schedule))
        for index, secs in enumerate(itertools.chain(*self.schedule)):
            if at < secs:
                return index % 2 == 1, secs - at
            at -= secs
        return False, 0.0

    def __call__(self, _request):
        return Reset() if self.is_down() else None

    def closing(self, *servers):
        return _Doors(self, servers)


class _Doors:
    """Shuts and opens the doors of servers in a thread, while a with statement lasts."""

    def __init__(self, down, servers):
        self.down, self.servers = down, servers
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        is_over = False
        while not is_over:
            is_down, secs = self.down._until_change()  # pylint: disable=protected-access
            for server in self.servers:
                if is_down:
                    server.shut_door()
                else:
                    server.open_door()
            is_over = self._over.wait(secs + 0.001)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_what):
        self._over.set()
        self._thread.join()
        for server in self.servers:
            server.open_door()


class FullBacklog:
    """A port where connecting hangs: it listens, nothing accepts, and no place in the queue is left."""

    def __init__(self):
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
            self._fillers.append(filler)

    def stop(self):
        for sock in [*self._fillers, self._listener]:
            sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_what):
        self.stop()
