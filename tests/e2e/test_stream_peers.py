#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streaming through software that others wrote: nginx ends TLS in front of the fakes, tinyproxy opens the way there.

Certificates are those of tls_scenario.py. The proxy lives in a network namespace of its own, since what is on loopback
is never asked for through a proxy.
"""

import contextlib
import ctypes
import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import lib  # noqa: F401, finds those that follow
import tap
import tls_scenario
from spooled import STATUS, Job, make_scenario, run_directories
from stream_scenario import PATIENCE, WAIT_SECS, wait_for
from tap import Skip, equal, expect, test
from tls_scenario import Leaf
from tracker import BINARY, SLOW, clean_env

FOREIGN = "192.0.2.7"  # TEST-NET-1: not in use, hence not loopback for the tracker
CLONE_NEWNET = 0x40000000
# Time for a handshake at least.
GRACE_SECS = 3 if SLOW else 0.5
PASSWORD = "pr0xy-pass-8c1e"
LEAVES = (
    Leaf("address", names="IP:127.0.0.1,DNS:localhost"),
    Leaf("elsewhere", names="DNS:elsewhere.example", key="ec"),
    Leaf("expired", names="IP:127.0.0.1,DNS:localhost", key="ec", end="20210101000000Z"),
    Leaf("foreign", names="IP:127.0.0.1,DNS:localhost", key="ec", issuer="foreign-root"),
    Leaf("far", names=f"IP:{FOREIGN}", key="ec"),
)
NGINX = """
daemon off;
master_process off;
pid {place}/nginx.pid;
error_log {place}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    client_max_body_size 64m;
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header Connection "";
    {servers}
}}
"""
SERVER = """
    server {{
        listen {address}:{port} ssl;
        ssl_certificate {certificates}/{name}.chain;
        ssl_certificate_key {certificates}/{key}.key;
        ssl_protocols TLSv1.2 TLSv1.3;
        location / {{ proxy_pass {url}; }}
    }}
"""
PLAIN = """
    server {{
        listen {address}:{port};
        location / {{ proxy_pass {url}; }}
    }}
"""
TINYPROXY = """
Port {port}
Listen 127.0.0.1
Timeout 30
LogFile "{place}/tinyproxy.log"
LogLevel Connect
PidFile "{place}/tinyproxy.pid"
MaxClients 20
Allow 127.0.0.1
BasicAuth worker {password}
ConnectPort {api}
ConnectPort {s3}
"""


class Certificates(tls_scenario.Scenario):
    """Only what is needed here, and no server."""

    def _start(self):
        pass

    def root(self, name):
        """A CA file with one root."""
        return str(self.place / f"{name}.crt")


def need(*names):
    missing = [name for name in names if not tls_scenario.find(name)]
    if missing:
        raise Skip(f"not installed: {', '.join(missing)}")


@contextlib.contextmanager
def child(words, port, log, **how):
    """A server as a child process, from when it listens until the end of the with statement."""
    with open(log, "wb") as out, subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=out,
                                                  stderr=out, env=clean_env(), **how) as process:
        try:
            wait_for(lambda: process.poll() is not None or is_listening(port), f"{words[0]} to listen")
            expect(process.poll() is None, f"{words[0]} does not run:", log.read_text(encoding="utf-8"))
            yield process
        finally:
            process.kill()
            process.wait(WAIT_SECS)


def is_listening(port):
    """By the kernel's table: a connection would be one more for the log of a proxy."""
    wanted = re.compile(rf"^ *\d+: [0-9A-F]{{8}}:{port:04X} \S+ 0A ", re.M)
    with open("/proc/thread-self/net/tcp", encoding="ascii") as table:
        return wanted.search(table.read()) is not None


class Front:
    """nginx in front of the fakes of a scenario: with the certificates of these names, or "plain" without TLS."""

    def __init__(self, scenario, certificates, api="address", s3="address", address="127.0.0.1"):
        self.place = scenario.directory / "nginx"
        self.place.mkdir()
        self.ports = tls_scenario.free_ports(2)
        keys = {leaf.name: leaf.key for leaf in LEAVES}
        servers = [(SERVER if name in keys else PLAIN).format(address=address, port=port, name=name, url=server.url,
                                                              key=keys.get(name), certificates=certificates.place)
                   for port, name, server in zip(self.ports, (api, s3), (scenario.api, scenario.s3))]
        (self.place / "nginx.conf").write_text(NGINX.format(place=self.place, servers="".join(servers)),
                                               encoding="ascii")

    @contextlib.contextmanager
    def serving(self):
        words = [tls_scenario.find("nginx"), "-p", self.place, "-c", self.place / "nginx.conf", "-e",
                 self.place / "error.log"]
        with child(words, self.ports[1], self.place / "out"):
            yield


@contextlib.contextmanager
def front_scenario(certificates, host="127.0.0.1", **front):
    """A scenario whose servers are reached through nginx only."""
    need("nginx")
    with make_scenario() as scenario:
        nginx = Front(scenario, certificates, **front)
        with nginx.serving():
            scenario.urls = {"SENTINEL_API_URL": f"https://{host}:{nginx.ports[0]}",
                             "AWS_ENDPOINT_URL": f"https://{host}:{nginx.ports[1]}"}
            scenario.front = nginx
            yield scenario


def deliver(scenario, env):
    """A run with an upload while it lasts; everything arrives and nothing is said."""
    with Job(scenario, "-i", "0.05", env=env) as job:
        wait_for(scenario.objects, "an upload")
        done = job.done().ended(STATUS, is_silent=True)
        equal(job.check_arrived()["data_source"], "s3", "data_source")
    scenario.check_strict()
    equal(scenario.spool_files(), [], "files in the spool")
    return done


def keep(scenario, words, env):
    """A short run that cannot be delivered: a warning in these words, the data in the spool, the status as it was."""
    with Job(scenario, command=("sh", "-c", f"exit {STATUS}"), env={"TRACKER_GRACE": GRACE_SECS, **env}) as job:
        done = job.done().ended(STATUS, "--upload-spool")
    expect(re.search(words, done.stderr), f"want {words!r}, got", done.stderr)
    equal([len(run_directories(scenario)), len(scenario.api.runs)], [1, 0], "runs in the spool, and at the API")
    return job, done


def heal(scenario, job, env):
    """What is in the spool is delivered once the setting is right."""
    scenario.upload_spool(env=env).ended(0)
    job.check_arrived()
    scenario.check_strict()
    equal(run_directories(scenario), [], "left in the spool")


def tests_of_tls(certificates):
    trusted = {"SSL_CERT_FILE": certificates.root("root")}

    @test(limit=20 * PATIENCE)
    def both_servers_behind_TLS_by_name_and_a_directory_of_CA_certificates():
        with front_scenario(certificates, host="localhost") as scenario:
            (scenario.directory / "trust").mkdir()
            (scenario.directory / "trust" / "root.pem").write_bytes((certificates.place / "root.crt").read_bytes())
            deliver(scenario, {"SSL_CERT_DIR": str(scenario.directory / "trust")})
            equal((scenario.front.place / "error.log").read_text(encoding="utf-8"), "", "complaints of nginx")

    @test(limit=20 * PATIENCE)
    def a_CA_bundle_for_S3_alone():
        env = {**trusted, "AWS_CA_BUNDLE": certificates.root("foreign-root")}
        with front_scenario(certificates, s3="foreign") as scenario:
            deliver(scenario, env)

    @test(limit=20 * PATIENCE)
    def without_the_CA_bundle_for_S3_the_rows_go_inline():
        with front_scenario(certificates, s3="foreign") as scenario, Job(scenario, "-i", "0.05", env=trusted) as job:
            wait_for(lambda: job.row_count() > 25, "an upload that fails")
            job.done().ended(STATUS)
            equal(job.check_arrived()["data_source"], "inline", "data_source")
            equal(scenario.s3.requests, [], "requests to S3")

    @test(limit=20 * PATIENCE)
    def an_unknown_CA():
        with front_scenario(certificates) as scenario:
            job, _ = keep(scenario, "issuer is unknown", {})
            equal(scenario.api.requests, [], "requests")
            heal(scenario, job, trusted)

    @test(limit=20 * PATIENCE)
    def another_CA():
        with front_scenario(certificates) as scenario:
            keep(scenario, "issuer is unknown", {"SSL_CERT_FILE": certificates.root("foreign-root")})
            equal(scenario.api.requests, [], "requests")

    @test(limit=20 * PATIENCE)
    def a_certificate_for_another_host():
        with front_scenario(certificates, api="elsewhere") as scenario:
            keep(scenario, "another host name|numeric address", trusted)
            equal(scenario.api.requests, [], "requests")

    @test(limit=20 * PATIENCE)
    def a_certificate_that_has_expired():
        with front_scenario(certificates, api="expired") as scenario:
            keep(scenario, "expired", trusted)
            equal(scenario.api.requests, [], "requests")

    @test(limit=20 * PATIENCE)
    def a_CA_file_that_is_missing():
        with front_scenario(certificates) as scenario:
            job, _ = keep(scenario, "/nonexistent/ca.pem", {"SSL_CERT_FILE": "/nonexistent/ca.pem"})
            equal(scenario.api.requests, [], "requests")
            heal(scenario, job, trusted)

    @test(limit=20 * PATIENCE)
    def https_to_a_server_without_TLS():
        with front_scenario(certificates, api="plain") as scenario:
            keep(scenario, "no TLS", trusted)
            equal(scenario.api.requests, [], "requests")

    @test(limit=20 * PATIENCE)
    def a_gateway_in_front_of_nothing():
        with front_scenario(certificates) as scenario:
            scenario.api.shut_door()
            job, _ = keep(scenario, "502 Bad Gateway", trusted)
            scenario.api.open_door()
            heal(scenario, job, trusted)


@contextlib.contextmanager
def own_network():
    """This thread, and what it starts meanwhile, in a network namespace with a second address on lo."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as home:
        if libc.unshare(CLONE_NEWNET) != 0:
            raise Skip("namespaces are not permitted")
        try:
            for words in (["link", "set", "lo", "up"], ["addr", "add", f"{FOREIGN}/32", "dev", "lo"]):
                done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=WAIT_SECS, check=False)
                equal(done.returncode, 0, f"ip {' '.join(words)}: {done.stderr}")
            yield
        finally:
            if libc.setns(home.fileno(), CLONE_NEWNET) != 0:
                os._exit(1)  # nothing after this would be where it belongs


class Proxy:
    """tinyproxy that wants a password and leads to the servers of a scenario."""

    def __init__(self, scenario):
        self.scenario, self.place = scenario, scenario.directory / "tinyproxy"
        self.place.mkdir()
        self.port = tls_scenario.free_ports(1)[0]
        api, s3 = scenario.front.ports
        (self.place / "conf").write_text(TINYPROXY.format(port=self.port, place=self.place, password=PASSWORD, api=api,
                                                          s3=s3), encoding="ascii")

    @contextlib.contextmanager
    def serving(self):
        with child([tls_scenario.find("tinyproxy"), "-d", "-c", self.place / "conf"], self.port, self.place / "out"):
            yield self

    def url(self, user_info=f"worker:{PASSWORD}@"):
        return f"http://{user_info}127.0.0.1:{self.port}"

    def connects(self):
        """The ports that it led to."""
        log = (self.place / "tinyproxy.log").read_text(encoding="utf-8")
        return {int(port) for port in re.findall(rf"CONNECT {re.escape(FOREIGN)}:(\d+)", log)}


@contextlib.contextmanager
def proxy_scenario(certificates):
    """Servers at another address than loopback, and a proxy that leads there."""
    need("nginx", "tinyproxy", "ip")
    with own_network(), front_scenario(certificates, FOREIGN, address=FOREIGN, api="far", s3="far") as scenario:
        with Proxy(scenario).serving() as scenario.proxy:
            yield scenario


def check_secrets(*done):
    for one in done:
        expect(PASSWORD not in one.stderr + one.stdout, "the password is shown:", one.stderr, one.stdout)


def tests_of_proxy(certificates):
    trusted = {"SSL_CERT_FILE": certificates.root("root")}

    @test(limit=20 * PATIENCE)
    def through_a_proxy_with_a_password():
        with proxy_scenario(certificates) as scenario:
            done = deliver(scenario, {**trusted, "https_proxy": scenario.proxy.url()})
            equal(scenario.proxy.connects(), set(scenario.front.ports), "ports that the proxy led to")
            check_secrets(done)

    @test(limit=20 * PATIENCE)
    def a_proxy_is_not_for_hosts_that_no_proxy_names():
        with proxy_scenario(certificates) as scenario:
            deliver(scenario, {**trusted, "HTTPS_PROXY": scenario.proxy.url(), "no_proxy": f"example.com,{FOREIGN}"})
            equal(scenario.proxy.connects(), set(), "ports that the proxy led to")

    @test(limit=20 * PATIENCE)
    def a_proxy_is_not_for_loopback():
        env = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
        with make_scenario() as scenario, Job(scenario, env=env) as job:
            job.done().ended(STATUS, is_silent=True)
            job.check_arrived()

    @test(limit=20 * PATIENCE)
    def a_wrong_password_for_the_proxy():
        wrong = f"worker:x{PASSWORD}x@"
        with proxy_scenario(certificates) as scenario:
            env = {**trusted, "https_proxy": scenario.proxy.url(wrong)}
            job, done = keep(scenario, "proxy 127.0.0.1 port .*status 40[17]", env)
            uploaded = scenario.upload_spool(env=env).ended(1)
            expect(re.search("status 40[17]", uploaded.stdout), "the report:", uploaded.stdout)
            check_secrets(done, uploaded)
            equal(scenario.api.requests, [], "requests")
            heal(scenario, job, {**trusted, "https_proxy": scenario.proxy.url()})

    @test(limit=20 * PATIENCE)
    def no_password_for_the_proxy():
        with proxy_scenario(certificates) as scenario:
            keep(scenario, "407.* user name and password", {**trusted, "https_proxy": scenario.proxy.url("")})

    @test(limit=20 * PATIENCE)
    def a_port_that_the_proxy_does_not_lead_to():
        with proxy_scenario(certificates) as scenario:
            scenario.urls["SENTINEL_API_URL"] = f"https://{FOREIGN}:9"
            _, done = keep(scenario, "proxy 127.0.0.1 port .*403", {**trusted, "https_proxy": scenario.proxy.url()})
            check_secrets(done)

    @test(limit=20 * PATIENCE)
    def a_proxy_that_is_not_there():
        with proxy_scenario(certificates) as scenario:
            gone = f"http://worker:{PASSWORD}@127.0.0.1:9"
            _, done = keep(scenario, "proxy 127.0.0.1 port 9: .*efused", {**trusted, "https_proxy": gone})
            check_secrets(done)

    @test(limit=20 * PATIENCE)
    def a_proxy_cannot_listen_in():
        with proxy_scenario(certificates) as scenario:
            keep(scenario, "issuer is unknown", {"https_proxy": scenario.proxy.url()})
            equal(scenario.api.requests, [], "requests")


def main():
    if not tls_scenario.find("openssl"):
        print("1..0 # SKIP openssl is not installed")
        return
    tls_scenario.LEAVES = LEAVES
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rt-peers-") as place, Certificates(place) as certificates:
        print(f"# certificates made in {time.monotonic() - start:.1f} s")
        tests_of_tls(certificates)
        tests_of_proxy(certificates)
        tap.main()


PEERS = pathlib.Path(__file__).resolve().parents[2] / "build-tools" / "peers"


@contextlib.contextmanager
def foreign_s3(place):
    """An S3 server that others wrote, which checks signatures; yields its URL."""
    if not (PEERS / "node_modules").is_dir():
        raise Skip("the S3 server was not fetched (tools/setup check, with npm)")
    with subprocess.Popen(["node", str(PEERS / "s3.js"), str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as server:
        try:
            word, _, port = server.stdout.readline().partition(" ")
            expect(word == "listening", "the S3 server does not start:", word, server.stderr)
            yield f"http://127.0.0.1:{int(port)}"
        finally:
            server.stdin.close()
            server.wait(WAIT_SECS)


def objects_below(place):
    return {path.name.partition("._S3rver")[0]: path for path in pathlib.Path(place).rglob("*._S3rver_object")}


@test
def a_foreign_s3_server_takes_our_signatures():
    with tempfile.TemporaryDirectory() as place, foreign_s3(place) as url:
        local = pathlib.Path(place) / "local.csv"
        env = clean_env(TRACKER_S3_URI="s3://bucket/runs of/\u00fc+~", AWS_ENDPOINT_URL=url, AWS_ACCESS_KEY_ID="S3RVER",
                        TRACKER_COLLECT_CLOUD="0", TRACKER_SPOOL=f"{place}/spool", TRACKER_GRACE="5")
        words = [BINARY, "-f", "csv", "-o", str(local), "-i", "0.05", "--", "sleep", "0.5"]
        done = subprocess.run(words, env={**env, "AWS_SECRET_ACCESS_KEY": "S3RVER"}, cwd=place, capture_output=True,
                              text=True, timeout=WAIT_SECS, check=False)
        equal((done.returncode, done.stderr), (0, ""), "status and stderr")
        found = objects_below(place)
        equal(sorted(found), ["000000.csv.gz", "run.json"], "objects")
        equal(gzip.decompress(found["000000.csv.gz"].read_bytes()), local.read_bytes(), "rows")
        done = subprocess.run(words, env={**env, "AWS_SECRET_ACCESS_KEY": "wrong", "TRACKER_GRACE": "4"}, cwd=place,
                              capture_output=True, text=True, timeout=WAIT_SECS, check=False)
        equal(done.returncode, 0, "status")
        expect("SignatureDoesNotMatch" in done.stderr and "--upload-spool" in done.stderr, done.stderr)
        equal(len(objects_below(place)), 2, "objects")


if __name__ == "__main__":
    sys.exit(main())
