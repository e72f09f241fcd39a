# SPDX-License-Identifier: Apache-2.0
"""The HTTP/1.1 server on loopback behind the fakes: a thread for each connection, strict about what it reads.

What a request does is up to handle() of the subclass. `behave`, a callable(request) -> None or a fault of net_faults,
is asked for every request when its headers are there and its body is not. Everything that a strict server dislikes is
noted in `violations`. The port stays reserved while the door is shut.
"""

import email.utils
import http
import re
import select
import socket
import struct
import threading
import time
import traceback

HEAD_BYTES_MAX = 64 * 1024
BODY_BYTES_MAX = 64 * 1024 * 1024
NO_LINGER = struct.pack("ii", 1, 0)  # close(2) resets
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
TARGET = re.compile(r"/[!-~]*")


class Gone(Exception):
    """The other side has left, or we are to leave."""


class Malformed(Exception):
    """A request that is none; the status and what is wrong."""


class Wire:
    """A connection: bytes in both directions, and the ways to end it."""

    def __init__(self, sock):
        self.sock = sock
        self.pending = b""

    def _receive(self):
        try:
            data = self.sock.recv(65536)
        except (OSError, ValueError) as error:
            raise Gone from error
        if not data:
            raise Gone
        self.pending += data

    def read_head(self):
        """Request line and headers, without the empty line behind them."""
        while b"\r\n\r\n" not in self.pending:
            if len(self.pending) > HEAD_BYTES_MAX:
                raise Malformed(431, "endless headers")
            self._receive()
        head, _, self.pending = self.pending.partition(b"\r\n\r\n")
        return head

    def read(self, size):
        while len(self.pending) < size:
            self._receive()
        data, self.pending = self.pending[:size], self.pending[size:]
        return data

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (OSError, ValueError) as error:
            raise Gone from error

    def wait_gone(self, over, secs=None):
        """Until the other side leaves, `over` is set, or the time is up; what still comes in is thrown away."""
        deadline = None if secs is None else time.monotonic() + secs
        while not over.is_set() and (deadline is None or time.monotonic() < deadline):
            if select.select([self.sock], [], [], 0.05)[0]:
                self._receive()

    def close(self, is_reset=False):
        """A reset is an RST instead of an orderly end."""
        try:
            if is_reset:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            else:
                self.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass
        self.sock.close()

    def break_off(self):
        """Ends what another thread is doing with it, with a reset."""
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            self.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, ValueError):
            pass


class Request:
    """A request as it was received; target, path and query are raw, the body is None until it has been read."""

    def __init__(self, number, head):
        try:
            lines = head.decode("latin-1").split("\r\n")
            self.method, self.target, version = lines[0].split(" ")
            self.headers = [(name, value.strip(" \t")) for name, colon, value in
                            (line.partition(":") for line in lines[1:]) if self._is_header(name, colon, value)]
        except ValueError as error:
            raise Malformed(400, f"request line {head[:100]!r}") from error
        if version != "HTTP/1.1" or not TOKEN.fullmatch(self.method) or not TARGET.fullmatch(self.target):
            raise Malformed(400, f"request line {lines[0]!r}")
        self.number = number
        self.path, _, self.query = self.target.partition("?")
        self.body = None
        if len(self.all("Host")) != 1:
            raise Malformed(400, f"{len(self.all('Host'))} Host headers")
        self.host = self.get("Host")
        self.length = self._find_length()

    @staticmethod
    def _is_header(name, colon, value):
        if not colon or not TOKEN.fullmatch(name) or re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
            raise Malformed(400, f"header {name[:100]!r}")
        return True

    def _find_length(self):
        lengths = self.all("Content-Length")
        if self.all("Transfer-Encoding"):
            raise Malformed(501, "Transfer-Encoding in a request")
        if len(lengths) > 1 or not all(re.fullmatch(r"[0-9]{1,12}", length) for length in lengths):
            raise Malformed(400, f"Content-Length {lengths}")
        if lengths and int(lengths[0]) > BODY_BYTES_MAX:
            raise Malformed(413, f"Content-Length {lengths}")
        return int(lengths[0]) if lengths else None

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def get(self, name, default=""):
        return next(iter(self.all(name)), default)


class Answer:
    """Status, headers and body; length and date are added on the way."""

    def __init__(self, status, headers=(), body=b""):
        self.status, self.headers, self.body = status, list(headers), body

    def encode(self, now, is_head=False):
        try:
            words = http.HTTPStatus(self.status).phrase
        except ValueError:
            words = "Odd"
        lines = [f"HTTP/1.1 {self.status} {words}", f"Date: {email.utils.formatdate(now, usegmt=True)}", "Server: fake",
                 *(f"{name}: {value}" for name, value in self.headers), f"Content-Length: {len(self.body)}"]
        return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + (b"" if is_head else self.body)


class Exchange:
    """One request on its way to an answer; faults play with this."""

    def __init__(self, server, wire, request):
        self.server, self.wire, self.request = server, wire, request
        self._answer = None
        with server.lock:
            self._index = len(server.requests)
            server.requests.append((request.method, request.host, request.target, None))

    def note(self, status):
        with self.server.lock:
            self.server.requests[self._index] = (*self.server.requests[self._index][:3], status)

    def read_body(self):
        request = self.request
        if request.body is None:
            if request.length and request.get("Expect").lower() == "100-continue":
                self.wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body = self.wire.read(request.length or 0)

    def answer(self):
        """Lets the request take effect, once."""
        self.read_body()
        if self._answer is None:
            with self.server.lock:
                self._answer = self.server.handle_safely(self.request)
                self.note(self._answer.status)
        return self._answer

    def encode(self, answer):
        return answer.encode(self.server.now(), self.request.method == "HEAD")

    def send(self, answer):
        self.note(answer.status)
        self.wire.send(self.encode(answer))

    def pause(self, secs):
        """False where the server is to stop."""
        return not self.server.over.wait(secs)


class Server:
    """Listens from the beginning; stop() or the end of a with statement ends every thread and connection."""

    def __init__(self, tls=None, behave=None):
        self.tls, self.behave = tls, behave
        self.requests = []  # (method, host, raw target, status), the status None where none was sent
        self.violations = []
        self.connections = 0
        self.skew_secs = 0
        self.lock = threading.RLock()
        self.over = threading.Event()
        self._wires, self._threads = set(), set()
        self._listener = None
        self._holder = self._bind(0)
        self.port = self._holder.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.open_door()

    def handle(self, request):
        """The answer to a request; called with the lock held."""
        raise NotImplementedError

    def now(self):
        return time.time() + self.skew_secs

    def dislike(self, words):
        self.violations.append(words)

    def handle_safely(self, request):
        try:
            return self.handle(request)
        except Exception:  # pylint: disable=broad-except
            self.dislike(f"the fake broke: {traceback.format_exc()}")
            return Answer(500)

    @staticmethod
    def _bind(port):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(("127.0.0.1", port))
        return sock

    def open_door(self):
        with self.lock:
            if self._listener is None and not self.over.is_set():
                self._listener = self._bind(self.port)
                self._listener.listen(64)
                self._start(self._accept, self._listener)

    def shut_door(self):
        """New connections are refused, and those that are there are reset."""
        with self.lock:
            listener, self._listener = self._listener, None
            wires = list(self._wires)
        if listener is not None:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for wire in wires:
            wire.break_off()

    def stop(self):
        self.over.set()
        self.shut_door()
        deadline = time.monotonic() + 5
        while (thread := self._any_thread()) and time.monotonic() < deadline:
            thread.join(0.5)
        self._holder.close()

    def __enter__(self):
        return self

    def __exit__(self, *_what):
        self.stop()

    def _start(self, function, *args):
        def run():
            try:
                function(*args)
            finally:
                with self.lock:
                    self._threads.discard(thread)

        thread = threading.Thread(target=run, daemon=True)
        with self.lock:
            thread.start()
            self._threads.add(thread)

    def _any_thread(self):
        with self.lock:
            return next(iter(self._threads), None)

    def _accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            self._start(self._serve, sock)

    def _serve(self, sock):
        wire = Wire(sock)
        with self.lock:
            self._wires.add(wire)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._listener is None:  # it slipped in while the door was being shut
                return
            if self.tls:
                sock.settimeout(10)
                wire.sock = self.tls.wrap_socket(sock, server_side=True)
                wire.sock.settimeout(None)
            while not self.over.is_set() and self._exchange(wire):
                pass
        except (Gone, OSError):
            pass
        finally:
            with self.lock:
                self._wires.discard(wire)
            wire.close()

    def _exchange(self, wire):
        """One request; false where the connection ends with it."""
        try:
            request = Request(len(self.requests), wire.read_head())
        except Malformed as error:
            self.dislike(f"malformed: {error.args[1]}")
            wire.send(Answer(error.args[0], [("Connection", "close")]).encode(self.now()))
            return False
        exchange = Exchange(self, wire, request)
        fault = self.behave(request) if self.behave else None
        lives_on = request.get("Connection").lower() != "close"
        if fault is not None:
            return fault.play(exchange) and lives_on
        exchange.send(exchange.answer())
        return lives_on
