# SPDX-License-Identifier: Apache-2.0
"""What machine the figures are of, without names of users or hosts: CPU model, CPUs, memory, kernel, load, versions."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import time


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def first(pattern, text):
    match = re.search(pattern, text, re.M)
    return match[1].strip() if match else None


def cpu_model():
    text = read("/proc/cpuinfo")
    return first(r"^model name\s*:\s*(.+)$", text) or first(r"^Hardware\s*:\s*(.+)$", text) or platform.machine()


def version_of(argv):
    """The first line of what a program says about its version."""
    if not shutil.which(argv[0]):
        return None
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else None


def is_virtual():
    return bool(re.search(r"^flags\s*:.*\bhypervisor\b", read("/proc/cpuinfo"), re.M))


def describe(tools):
    kib = first(r"^MemTotal:\s+(\d+) kB", read("/proc/meminfo"))
    system = first(r'^PRETTY_NAME="?([^"\n]+)', read("/etc/os-release"))
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "CPU": f"{cpu_model()}, {os.cpu_count()} CPUs{', virtual machine' if is_virtual() else ''}",
        "memory": f"{int(kib) / (1 << 20):.0f} GiB" if kib else "unknown",
        "system": f"{system or 'Linux'}, Linux {os.uname().release} {os.uname().machine}",
        "load at the start": read("/proc/loadavg").split(" ")[0] or "unknown",
        "processes at the start": sum(name.isdigit() for name in os.listdir("/proc")),
        "tools": ", ".join(f"{tool.name} {tool.version}".strip() for tool in tools
                           if not tool.why_missing and tool.name != "bare"),
        "left out": "; ".join(f"{tool.name}: {tool.why_missing}" for tool in tools if tool.why_missing) or "nothing",
        "meters": ", ".join(filter(None, (version_of([name, "--version"]) for name in
                                          ("strace", "valgrind", "hyperfine", "python3")))) or "none",
    }


def slug():
    """The machine as part of a file's name: not who it is, but what it is."""
    release = ".".join(os.uname().release.split(".")[:2])
    text = f"{cpu_model()} {os.cpu_count()}cpu linux{release}"
    return re.sub(r"[^a-z0-9.]+", "-", text.lower().replace("(r)", "").replace("(tm)", "")).strip("-")[:80]
