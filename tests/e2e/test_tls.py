#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS against real servers: which certificates are taken, which are refused and in which words, and rude peers.

TLS_CLIENT names the program of tests/fake/tls_client.c. An mbedTLS before 3.6 skips what it cannot do.
"""

import contextlib
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tls_scenario import HOST, SYSTEM_BUNDLE, Scenario, missing_tools

CLIENT = os.environ.get("TLS_CLIENT", "")
if not os.access(CLIENT, os.X_OK):
    print("Bail out! TLS_CLIENT does not name a program")
    sys.exit(1)

LIBRARY = subprocess.run([CLIENT, "--library"], capture_output=True, text=True, check=True).stdout.strip()
IS_OLD = LIBRARY.startswith("mbedTLS 2.")


def client(port, host=HOST, file="", directory=None, secs=None):
    """The one line that the client prints."""
    words = [CLIENT, str(port), host, str(file)] + ([str(directory)] if directory else [])
    env = {**os.environ, **({"TLS_CLIENT_SECS": str(secs)} if secs else {})}
    result = subprocess.run(words, capture_output=True, text=True, env=env, timeout=15, check=False)
    equal(result.stderr, "", "stderr")
    line = result.stdout.strip()
    equal([result.returncode, "\n" in line], [0 if line.startswith("ok ") else 1, False], f"the end of {line!r}")
    expect(len(line) < 400, "one short line", line)
    return line


def refuses(line, code, words):
    expect(line.startswith(f"failed {code}: ") and re.search(words, line), "got", line, "; want", code, words)


def accepted(scenario, server, host, needs_new):
    if needs_new and IS_OLD:
        raise Skip(f"{LIBRARY} cannot")
    equal(client(scenario.ports[server], host, scenario.trusted), "ok HTTP/1.1 200 OK", "answer")


def refused(scenario, server, host, words):
    refuses(client(scenario.ports[server], host, scenario.trusted), "EKEYREJECTED", words)


ACCEPTED = (
    # what, server, host, needs mbedTLS 3.6
    ("an RSA key", "rsa", HOST, False),
    ("an ECDSA key", "ecdsa", HOST, False),
    ("an ECDSA key on P-384", "p384", HOST, False),
    ("TLS 1.2 only, RSA", "rsa-12", HOST, False),
    ("TLS 1.2 only, ECDSA", "ecdsa-12", HOST, False),
    ("TLS 1.3 only", "rsa-13", HOST, True),
    ("TLS 1.3, X25519", "x25519-13", HOST, True),
    ("TLS 1.3, P-256", "p256-13", HOST, True),
    ("TLS 1.3, P-384", "p384-13", HOST, True),
    ("TLS 1.3, P-521", "p521-13", HOST, True),
    ("a wildcard", "wildcard", "some.wild.example", False),
    ("an IPv4 address in the certificate", "address", "127.0.0.1", True),
    ("an IPv6 address in the certificate", "address", "::1", True),
    ("a host name in capitals", "rsa", HOST.upper(), False),
    ("a CA that may vouch for this name", "kept", HOST, True),
    ("a CA that may vouch for this name, TLS 1.2", "kept-12", HOST, True),
    ("a root that may vouch for this name", "bound", HOST, True),
    ("a CA that may vouch for this address", "local-address", "127.0.0.1", True),
    ("a wildcard of which another name is excluded", "excluded-wild", "some.wild.example", True),
    ("a chain of 22 KiB", "long", HOST, True),
    ("a chain of 22 KiB, TLS 1.2", "long-12", HOST, True),
)
# mbedTLS 2.28 cannot read a certificate with critical ones.
CONSTRAINTS = "cannot be read" if IS_OLD else "name constraints"
REFUSED = (
    # what, server, host, words
    ("another host name", "rsa", "bad.example", "another host name"),
    ("a name below the certificate's", "rsa", f"sub.{HOST}", "another host name"),
    ("a wildcard one level too high", "wildcard", "deep.some.wild.example", "another host name"),
    ("a wildcard and the bare name", "wildcard", "wild.example", "another host name"),
    ("an expired certificate", "expired", HOST, "expired"),
    ("a certificate of the future", "future", HOST, "not yet valid"),
    ("an unknown CA", "foreign", HOST, "issuer is unknown"),
    ("a server's certificate abused as CA", "abused", HOST, "issuer is unknown"),
    ("a certificate for clients only", "client", HOST, "not for servers"),
    ("a host name only and asked for an address", "rsa", "127.0.0.1", "numeric address" if IS_OLD else "another host"),
    ("a SHA-1 signature", "sha1", HOST, "weak hash"),
    ("a key of 1024 bits", "short", HOST, "weak key"),
    ("an address as a host name", "named-address", "127.0.0.1", "numeric address" if IS_OLD else "another host"),
    ("a CA for other names", "firm", HOST, CONSTRAINTS),
    ("a CA for other names, TLS 1.2", "firm-12", HOST, CONSTRAINTS),
    ("a CA for other names that does not insist", "soft", HOST, "name constraints"),
    ("a CA below one for other names", "firm-below", HOST, CONSTRAINTS),
    ("a CA that must not vouch for this name", "excluded", HOST, CONSTRAINTS),
    ("a wildcard of which this name is excluded", "excluded-wild", "bad.wild.example", CONSTRAINTS),
    ("a CA for other addresses", "remote-address", "127.0.0.1", "numeric address" if IS_OLD else "name constraints"),
    ("a root for other names", "unbound", "bad.example", CONSTRAINTS + "|issuer is unknown"),
    ("another name beside one that is permitted", "unbound", HOST, CONSTRAINTS + "|issuer is unknown"),
)


@contextlib.contextmanager
def serving(talk):
    """A listener on loopback that has a thread talk to each connection; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def loop():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        talk(connection)
        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def tests_of(scenario):
    for what, server, host, needs_new in ACCEPTED:
        tap.add(f"accepted: {what}", accepted, scenario, server, host, needs_new)
    for what, server, host, words in REFUSED:
        tap.add(f"refused: {what}", refused, scenario, server, host, words)

    @test
    def an_empty_CA_file():
        path = scenario.place / "empty.pem"
        path.write_bytes(b"")
        refuses(client(scenario.ports["rsa"], file=path), "ENOENT", r"empty\.pem.*SSL_CERT_FILE")

    @test
    def a_CA_file_of_something_else():
        path = scenario.place / "rubbish.pem"
        path.write_bytes(b"-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n\0\xff")
        refuses(client(scenario.ports["rsa"], file=path), "ENOENT", r"rubbish\.pem.*SSL_CERT_FILE")

    @test
    def a_CA_file_that_is_missing():
        refuses(client(scenario.ports["rsa"], file="/nonexistent/ca.pem"), "ENOENT",
                r"/nonexistent/ca\.pem \(No such file or directory\).*SSL_CERT_FILE")

    @test
    def a_CA_file_with_a_bad_certificate_in_it():
        root = (scenario.place / "root.crt").read_text(encoding="ascii")
        lines = root.splitlines()
        lines[3] = "A" * len(lines[3])
        path = scenario.place / "mixed.pem"
        path.write_text("\n".join(lines) + "\n# a comment\n" + root, encoding="ascii")
        equal(client(scenario.ports["rsa"], file=path), "ok HTTP/1.1 200 OK", "answer")
        counted = subprocess.run([CLIENT, "--count", path], capture_output=True, text=True, check=True)
        equal(counted.stdout, "loaded 1 refused 1\n", "count")

    @test
    def a_directory_of_CA_certificates():
        place = scenario.place / "directory"
        place.mkdir()
        (place / "root.pem").write_bytes((scenario.place / "root.crt").read_bytes())
        (place / "0a1b2c3d.0").symlink_to("root.pem")
        (place / "README").write_text("not a certificate\n", encoding="ascii")
        os.mkfifo(place / "pipe")
        equal(client(scenario.ports["rsa"], directory=place), "ok HTTP/1.1 200 OK", "a directory alone")
        equal(client(scenario.ports["rsa"], file="/nonexistent", directory=place), "ok HTTP/1.1 200 OK", "and no file")
        refuses(client(scenario.ports["rsa"], directory="/nonexistent"), "ENOENT", "/nonexistent")

    @test
    def a_list_of_directories_of_CA_certificates():
        first, second = scenario.place / "first", scenario.place / "second"
        for place, name in ((first, "foreign-root"), (second, "root")):
            place.mkdir()
            (place / f"{name}.pem").write_bytes((scenario.place / f"{name}.crt").read_bytes())
        for directories in (f"{first}:{second}", f"{second}:{first}", f"/nonexistent:{second}",
                            f"{second}:/nonexistent", f":{first}::{second}:"):
            equal(client(scenario.ports["rsa"], directory=directories), "ok HTTP/1.1 200 OK", directories)
        refuses(client(scenario.ports["rsa"], directory=first), "EKEYREJECTED", "issuer is unknown")
        refuses(client(scenario.ports["rsa"], directory="/nonexistent:/none"), "ENOENT", "/nonexistent:/none")

    @test
    def a_chain_that_is_too_long_is_refused():
        for server in ("too-long", "too-long-12"):
            refuses(client(scenario.ports[server], file=scenario.trusted), "EPROTO", "failed" if IS_OLD else "too long")

    @test
    def the_usual_CA_certificates_do_not_know_our_root():
        if not SYSTEM_BUNDLE.exists():
            raise Skip("no CA certificates are installed")
        refuses(client(scenario.ports["rsa"]), "EKEYREJECTED", "issuer is unknown")

    @test
    def every_CA_certificate_of_this_system_can_be_read():
        if not SYSTEM_BUNDLE.exists():
            raise Skip("no CA certificates are installed")
        count = SYSTEM_BUNDLE.read_text(encoding="utf-8").count("BEGIN CERTIFICATE")
        counted = subprocess.run([CLIENT, "--count", SYSTEM_BUNDLE], capture_output=True, text=True, check=True)
        equal(counted.stdout, f"loaded {count} refused 0\n", "count")

    @test
    def a_server_that_is_too_old():
        refuses(client(scenario.ports["old"], file=scenario.trusted), "EPROTO", "alert|version")

    @test
    def a_server_without_TLS():
        refuses(client(scenario.ports["plain"], file=scenario.trusted), "EPROTO", "no TLS")

    @test
    def a_server_that_says_nothing():
        with serving(lambda connection: connection.recv(1 << 20) and time.sleep(1.5)) as port:
            begin = time.monotonic()
            refuses(client(port, file=scenario.trusted, secs=1), "ETIMEDOUT", "handshake")
            took = time.monotonic() - begin
        expect(0.9 < took < 4, f"it took {took:.2f} s")

    @test
    def a_server_that_hangs_up():
        with serving(lambda connection: connection.recv(10)) as port:
            refuses(client(port, file=scenario.trusted), "ECONNRESET", "hung up|reset")

    def context():
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(scenario.place / "rsa.chain", scenario.place / "rsa.key")
        return made

    @test
    def an_address_is_not_sent_as_a_server_name():
        seen = []

        def talk(connection):
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            made.load_cert_chain(scenario.place / "address.chain", scenario.place / "rsa.key")
            made.sni_callback = lambda _, name, __: seen.append(name)
            with contextlib.suppress(ssl.SSLError), made.wrap_socket(connection, server_side=True) as server:
                server.recv(1000)
                server.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                server.unwrap()
        with serving(talk) as port:
            if not IS_OLD:
                equal(client(port, "127.0.0.1", scenario.trusted), "ok HTTP/1.1 200 OK", "answer")
                equal(client(port, "::1", scenario.trusted), "ok HTTP/1.1 200 OK", "answer")
            refuses(client(port, HOST, scenario.trusted), "EKEYREJECTED", "another host name")
        equal(seen, [HOST] if IS_OLD else [None, None, HOST], "server names")

    @test
    def an_answer_that_is_cut():
        def talk(connection):
            with context().wrap_socket(connection, server_side=True, suppress_ragged_eofs=False) as server:
                server.recv(1000)
                server.sendall(b"HTTP/1.1 200 OK\r\n\r\nabc")
                server.shutdown(socket.SHUT_WR)  # the connection's end, not TLS's
                server.recv(1000)
        with serving(talk) as port:
            refuses(client(port, file=scenario.trusted), "ECONNRESET", "hung up|reset")

    @test
    def an_answer_byte_by_byte():
        def talk(connection):
            inbox, outbox = ssl.MemoryBIO(), ssl.MemoryBIO()
            server = context().wrap_bio(inbox, outbox, server_side=True)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def step(work):
                while True:
                    try:
                        return work()
                    except ssl.SSLWantReadError:
                        trickle()
                        inbox.write(connection.recv(7))
            def trickle():
                for byte in outbox.read():
                    connection.send(bytes([byte]))
            step(server.do_handshake)
            step(lambda: server.read(1000))
            server.write(b"HTTP/1.1 204 Slow\r\n\r\n")
            with contextlib.suppress(ssl.SSLError):
                server.unwrap()
            trickle()
        with serving(talk) as port:
            equal(client(port, file=scenario.trusted), "ok HTTP/1.1 204 Slow", "answer")


def main():
    missing = missing_tools()
    if missing:
        print(f"1..0 # SKIP missing: {', '.join(missing)}")
        return
    with tempfile.TemporaryDirectory(prefix="rt-tls-") as place, Scenario(place) as scenario:
        print(f"# {LIBRARY}")
        tests_of(scenario)
        tap.main()


main()
