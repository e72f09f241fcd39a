#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tracker in a machine of its own making: network and mount namespaces in which a fake metadata service has the
link-local address of the clouds, and firmware and processor are what the test wants.

on_a_machine(...) runs this file as a program inside of the namespaces and returns what it has seen.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from fake_http import Answer, Server
from stream_scenario import PATIENCE, Scenario
from tap import Skip
from tracker import ROOT, clean_env

METADATA = ROOT / "tests" / "fake" / "fake_metadata.py"
LINK_LOCAL, ALIBABA = "169.254.169.254", "100.100.100.200"
UNSHARE = ("unshare", "--net", "--mount", "--propagation", "private")
VIRTUAL, PHYSICAL = "flags\t\t: fpu vme hypervisor\n", "flags\t\t: fpu vme\n"


def on_a_machine(vendor=None, *, settings=(), words=("-q", "--", "true"), dmi=None, cpuinfo=VIRTUAL, **env):
    """What became of a tracker there, as a dict; vendor None: nothing listens. dmi: files of the firmware's tables."""
    need_namespaces()
    case = {"vendor": vendor, "settings": list(settings), "words": list(words), "dmi": dmi or {}, "cpuinfo": cpuinfo,
            "env": env}
    done = subprocess.run([*UNSHARE, sys.executable, __file__, json.dumps(case)], text=True,
                          env=clean_env(PYTHONPATH=os.pathsep.join(sys.path)), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=40 * PATIENCE, check=False)
    if done.returncode != 0:
        raise AssertionError(f"status {done.returncode} in the namespace: {done.stderr[-3000:]}")
    return json.loads(done.stdout)


def need_namespaces():
    if not shutil.which("ip") or not shutil.which("unshare"):
        raise Skip("not installed: ip or unshare")
    steps = f"ip link set lo up && ip address add {LINK_LOCAL}/32 dev lo && mount -t tmpfs tables /mnt"
    words = [*UNSHARE, "sh", "-c", steps]
    if subprocess.run(words, capture_output=True, timeout=10 * PATIENCE, check=False).returncode != 0:
        raise Skip("namespaces are not permitted")


def make_network():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in (LINK_LOCAL, ALIBABA):
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)


def make_hardware(directory, dmi, cpuinfo):
    """What the kernel shows of the processor and the firmware; the real tables are out of sight in any case."""
    (directory / "cpuinfo").write_text(cpuinfo, encoding="ascii")
    subprocess.run(["mount", "--bind", directory / "cpuinfo", "/proc/cpuinfo"], check=True)
    tables = pathlib.Path("/sys/class/dmi/id").resolve()
    if tables.is_dir():
        subprocess.run(["mount", "-t", "tmpfs", "tables", tables], check=True)
    elif dmi:
        subprocess.run(["mount", "-t", "tmpfs", "tables", "/sys/class"], check=True)
        tables.mkdir(parents=True)
    for name, text in dmi.items():
        (tables / name).write_text(text + "\n", encoding="ascii")


class Proxy(Server):
    """One that should not be asked."""

    def handle(self, request):
        return Answer(502)


def start_metadata(case):
    """The service, when it listens; None where there is none."""
    if case["vendor"] is None:
        return None
    place = ALIBABA if case["vendor"] == "alicloud" else LINK_LOCAL
    sets = [word for pair in case["settings"] for word in ("--set", pair)]
    words = [sys.executable, METADATA, "--vendor", case["vendor"], "--listen", f"{place}:80", *sets]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def end_metadata(process):
    """The requests that it answered, as it lists them."""
    if process is None:
        return []
    process.terminate()
    return process.communicate()[0].splitlines()


def main():
    case = json.loads(sys.argv[1])
    with Scenario() as scenario, Proxy() as proxy:
        make_network()
        make_hardware(scenario.directory, case["dmi"], case["cpuinfo"])
        metadata = start_metadata(case)
        env = {name: value.replace("PROXY", proxy.url) if value else value for name, value in case["env"].items()}
        try:
            done = scenario.run(*case["words"], env={"TRACKER_COLLECT_CLOUD": None, "TRACKER_GRACE": "20", **env})
        finally:
            asked = end_metadata(metadata)
        runs = [run["register"] for run in scenario.api.runs.values()]
        print(json.dumps({"status": done.status, "stderr": done.stderr, "secs": done.secs, "runs": runs, "asked": asked,
                          "violations": scenario.api.violations, "proxied": proxy.requests}))


if __name__ == "__main__":
    main()
