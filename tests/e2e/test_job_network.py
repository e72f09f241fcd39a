#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job received and sent: to the byte in network namespaces of its own, at least its TCP connections elsewhere.

All traffic is over loopback or between namespaces that are made here.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

import lib  # noqa: F401, finds those that follow
import tap
import tracker
from job import python
from tap import Skip, equal, expect, test
from tracker import BINARY, Tracker, directory, parse, wait_until

ON = {"TRACKER_COLLECT_JOB_NETWORK": "1"}


def run(arguments, env=None, **more):
    return tracker.run(arguments, env={**ON, **(env or {})}, **more)


def clean_env(**more):
    return tracker.clean_env(**ON, **more)


MIB = 1 << 20
DOWNLOAD_BYTES = 100 * MIB
DOWNLOAD_SECS = 2.0
LEAST_SHARE = 0.95

# Receives all there is and says how much.
CLIENT = """
import signal, socket, sys
signal.alarm(40)
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
received = 0
while piece := connection.recv(1 << 18):
    received += len(piece)
print(received)
"""

# Two ends of one connection in two processes, of which one sends for a while.
TALK = """
import os, signal, socket, time
signal.alarm(40)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
if os.fork() == 0:
    connection = socket.create_connection(listener.getsockname())
    listener.close()
    while connection.recv(1 << 16):
        pass
    os._exit(0)
connection = listener.accept()[0]
for _ in range(8):
    time.sleep(0.2)
    connection.sendall(bytes(1 << 20))
connection.close()
os.wait()
"""

# In a namespace of its own: waits for its interface, sends so many datagrams to the other end and receives what comes
# back, takes the interface down and writes its counters.
PEER = """
import pathlib, signal, socket, subprocess, sys, time
signal.alarm(40)
place, name, own, other, count = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
def ip(*words):
    subprocess.run(["ip", *words], check=True)
def counters():
    for line in open("/proc/self/net/dev"):
        if line.strip().startswith(name + ":"):
            columns = line.split(":")[1].split()
            return int(columns[0]), int(columns[8])
    return None
(place / f"{name}.ready").write_text("")
while not counters():
    time.sleep(0.01)
ip("addr", "add", own + "/24", "dev", name)
ip("link", "set", "lo", "up")
ip("link", "set", name, "up")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise:  # within the job: loopback does not count
    noise.sendto(bytes(1000), ("127.0.0.1", 9))
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind((own, 7777))
end.settimeout(0.01)
sent = 0
newest = time.monotonic()
while time.monotonic() - newest < 1:
    try:
        if sent < count:
            newest = time.monotonic()
            sent += 1
            end.sendto(bytes(1000), (other, 7777))
        end.recv(2000)
        newest = time.monotonic()
    except (TimeoutError, OSError):
        pass
ip("link", "set", name, "down")
(place / f"{name}.counters").write_text("%d %d" % counters())
"""

# In a namespace of the test: two trackers, each with a job that makes one of its own, a cable to each of these, and an
# echo at our end of it.
TWO_JOBS = """
import pathlib, signal, socket, subprocess, sys, threading, time
signal.alarm(50)
place, tracker, peer = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
def echo(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind((address, 7777))
        while True:
            data, sender = end.recvfrom(2000)
            end.sendto(data, sender)
jobs = []
for i, name in enumerate(("left", "right")):
    words = [tracker, "-i", "0.5", "-o", place / f"{name}.jsonl", "--summary-json", place / f"{name}.json", "--"]
    job = subprocess.Popen([*words, "unshare", "-n", sys.executable, "-I", "-S", "-c", peer, place, name,
                            f"10.77.{i}.1", f"10.77.{i}.2", str(300 + 100 * i)])
    jobs.append(job)
    while not (place / f"{name}.ready").exists():
        time.sleep(0.01)
    pid = open(f"/proc/{job.pid}/task/{job.pid}/children").read().split()[0]
    cable = ["type", "veth", "peer", "name", name, "netns", pid]
    for words in (["add", f"hub{i}", *cable], ["set", f"hub{i}", "up"]):
        subprocess.run(["ip", "link", *words], check=True)
    subprocess.run(["ip", "addr", "add", f"10.77.{i}.2/24", "dev", f"hub{i}"], check=True)
    threading.Thread(target=echo, args=(f"10.77.{i}.2",), daemon=True).start()
sys.exit(max(job.wait() for job in jobs))
"""


def need_namespace():
    """The words that run something in a network namespace of its own; skips where that is not possible."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        raise Skip("unshare or ip is not installed")
    for rights in ([], ["-r"]):
        words = ["unshare", *rights, "-n"]
        probe = subprocess.run([*words, "sh", "-c", "ip link add left type veth peer name right && unshare -n true"],
                               capture_output=True, timeout=10, check=False)
        if probe.returncode == 0:
            return words
    raise Skip("network namespaces or pairs of interfaces are not permitted")


def need_sock_diag():
    done = run(["--doctor", "-f", "json"])
    expect(done.stdout, f"exit status {done.returncode}: {done.stderr}")
    findings = json.loads(done.stdout)["findings"]
    if not any(found["name"] == "of the job" and found["state"] == "ok" for found in findings):
        raise Skip("TCP connections cannot be listed here")


def network_of(samples):
    """Bytes received and sent over all samples, and the sources."""
    cpus = [sample["cpu"] for sample in samples]
    received = sum(cpu["process_net_recv_bytes"] or 0 for cpu in cpus)
    sent = sum(cpu["process_net_sent_bytes"] or 0 for cpu in cpus)
    return received, sent, {cpu["process_net_source"] for cpu in cpus}


@contextlib.contextmanager
def server(secs):
    """A port on loopback that hands out the download to whatever connects, over about so many seconds."""
    def send(connection):
        piece, sent, start = bytes(MIB // 4), 0, time.monotonic()
        with connection, contextlib.suppress(OSError):
            while sent < DOWNLOAD_BYTES:
                connection.sendall(piece)
                sent += len(piece)
                time.sleep(max(0, start + secs * sent / DOWNLOAD_BYTES - time.monotonic()))

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=send, args=(listener.accept()[0],), daemon=True).start()

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@test(limit=60)
def two_jobs_in_namespaces_of_their_own_are_exact_to_the_byte():
    around = need_namespace()
    with directory() as place:
        words = [*around, sys.executable, "-I", "-S", "-c", TWO_JOBS, place, os.path.abspath(BINARY), PEER]
        done = subprocess.run(words, env=clean_env(), cwd=place, capture_output=True, text=True, timeout=55,
                              check=False)
        equal(done.returncode, 0, f"exit status: {done.stderr}")
        totals = {}
        for name in ("left", "right"):
            samples = [parse(line) for line in (place / f"{name}.jsonl").read_bytes().splitlines()]
            truth = tuple(map(int, (place / f"{name}.counters").read_text(encoding="ascii").split()))
            received, sent, sources = network_of(samples)
            tap.diag(f"{name}: {received} and {sent} bytes in {len(samples)} samples, the interface has {truth}")
            equal((received, sent), truth, f"bytes of {name}")
            equal(sources, {"namespace"}, "sources")
            summary = json.loads((place / f"{name}.json").read_text(encoding="utf-8"))["network"]
            equal((summary["received_bytes"], summary["sent_bytes"]), truth, "bytes in the summary")
            equal((summary["source"], summary["is_lower_bound"]), ("namespace", False), "the label in the summary")
            totals[name] = truth
        expect(min(totals["left"]) >= 100 * 1000, f"too little went by: {totals}")


@test(limit=60)
def a_download_is_known_to_95_percent_and_labelled():
    need_sock_diag()
    with directory() as place, server(DOWNLOAD_SECS) as port:
        done = run(["-i", "1", "-o", place / "out", "--summary", "--summary-json", place / "s.json",
                    "--summary-markdown", place / "s.md", "--report", place / "r.html", "--", *python(CLIENT, port)])
        equal(done.returncode, 0, f"exit status: {done.stderr}")
        equal(int(done.stdout), DOWNLOAD_BYTES, "bytes that the job received")
        samples = [parse(line) for line in (place / "out").read_bytes().splitlines()]
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))["network"]
        markdown, page = ((place / name).read_text(encoding="utf-8") for name in ("s.md", "r.html"))
    received, sent, sources = network_of(samples)
    tap.diag(f"{received / DOWNLOAD_BYTES:.4f} of the download, {sent} bytes sent")
    expect(LEAST_SHARE * DOWNLOAD_BYTES <= received <= DOWNLOAD_BYTES, f"{received} of {DOWNLOAD_BYTES} bytes")
    equal(sent, 0, "bytes sent")
    equal(sources, {"tcp"}, "sources")
    equal((summary["received_bytes"], summary["source"], summary["is_lower_bound"]), (received, "tcp", True), "summary")
    for text in (done.stderr, markdown):
        row = [line for line in text.splitlines() if "at least: TCP only" in line]
        expect(len(row) == 1 and "received" in row[0], f"the row of the job's network: {row}")
    expect("job received" in page and "of the job, at least" in page, "the report lacks the job's network")


@test(limit=60)
def a_download_before_the_first_sample_is_seen():
    need_sock_diag()
    with directory() as place, server(0.5) as port:
        done = run(["-i", "30", "-o", place / "out", "--", "sh", "-c", '"$@"; exit $?', "sh", *python(CLIENT, port)])
        equal(done.returncode, 0, f"exit status: {done.stderr}")
        samples = [parse(line) for line in (place / "out").read_bytes().splitlines()]
    received, _, sources = network_of(samples)
    tap.diag(f"{received / DOWNLOAD_BYTES:.4f} of a download of half a second")
    equal((len(samples), sources), (1, {"tcp"}), "samples and sources")
    expect(DOWNLOAD_BYTES / 2 <= received <= DOWNLOAD_BYTES, f"{received} of {DOWNLOAD_BYTES} bytes")


@test(limit=60)
def what_processes_of_the_job_say_to_each_other_does_not_count():
    need_sock_diag()
    with directory() as place:
        done = run(["-i", "0.3", "-o", place / "out", "--", *python(TALK)])
        equal(done.returncode, 0, f"exit status: {done.stderr}")
        samples = [parse(line) for line in (place / "out").read_bytes().splitlines()]
    equal(network_of(samples), (0, 0, {"tcp"}), "bytes and sources")


@test(limit=60)
def without_the_network_nothing_is_asked():
    with server(DOWNLOAD_SECS) as port:
        done = run(["-i", "1", "-o", "-", "--", *python(CLIENT, port)], env={"TRACKER_COLLECT_NETWORK": "false"})
    samples = [parse(line) for line in done.stdout.splitlines() if line.startswith("{")]
    expect(len(samples) >= 2, f"samples: {done.stdout}")
    for sample in samples:
        for key in ("process_net_recv_bytes", "process_net_sent_bytes", "process_net_source"):
            equal(sample["cpu"][key], None, key)


@test(limit=60)
def a_namespace_is_not_kept_after_its_last_process():
    need_namespace()
    if os.geteuid() != 0:
        raise Skip("only root makes a network namespace without another one for users")
    own = pathlib.Path("/proc/self/ns/net").stat().st_ino

    def kept(tracker):
        return [link for link in tracker.links().values() if link.endswith("/net/dev") and
                not link.startswith(("/proc/net/", f"/proc/{tracker.pid}/", "/proc/self/"))]

    script = "unshare -n sleep 1; sleep 30"
    with Tracker("-i", "0.2", "-o", "out", "--", "sh", "-c", script, env=ON) as tracked:
        wait_until(lambda: len(kept(tracked)) == 1, "a descriptor on the namespace of the job")
        wait_until(lambda: not kept(tracked), "that descriptor to be closed")
        expect(pathlib.Path(f"/proc/{tracked.pid}/ns/net").stat().st_ino == own, "the tracker left its own namespace")
        tracked.stop()


if __name__ == "__main__":
    tap.main()
