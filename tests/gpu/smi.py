# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi says while something runs: a stream of device rows and a list of processes every second.

A device row: `2025/01/31 10:00:00.123, GPU-5c6f..., NVIDIA H200, 97, 41, 143771, 2918, 51, 612.30, 1980, 580.95.05,
00000000:00:06.0, 0`. A process row: `GPU-5c6f..., 4711, 2918`. What it does not know it writes as `[N/A]` and the like.
"""

import contextlib
import csv
import os
import statistics
import subprocess
import threading
import time

PROGRAM = "nvidia-smi"
TEXTS = ("uuid", "name", "driver_version", "pci.bus_id", "index")
COLUMNS = ("timestamp", "uuid", "name", "utilization.gpu", "utilization.memory", "memory.total", "memory.used",
           "temperature.gpu", "power.draw", "clocks.gr", "driver_version", "pci.bus_id", "index")
FORMAT = "--format=csv,noheader,nounits"
ROW_PERIOD_MS = 200
LIST_PERIOD_SECS = 1.0
CALL_SECS = 15
# How far from a sample a row or a list may be to be compared with it.
NEAR_SECS = 0.5
LIST_NEAR_SECS = 1.0
# How far a row's own time may be from its arrival before the clock or the time zone it is in is not ours.
STAMP_APART_SECS = 10


def number(text):
    """A number, or None for `[N/A]`, `[Not Supported]`, `[Unknown Error]` and whatever else is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def row_time(stamp, arrival):
    """When a row was made: by its own stamp where that can be believed, since output may arrive in bursts."""
    whole, _, fraction = stamp.partition(".")
    try:
        made = time.mktime(time.strptime(whole, "%Y/%m/%d %H:%M:%S")) + float("0." + (fraction or "0"))
    except (ValueError, OverflowError):
        return arrival
    return made if abs(made - arrival) < STAMP_APART_SECS else arrival


def parse_row(line, arrival):
    """A device row as a dictionary with `time`, or None for a line that is no such row."""
    cells = [cell.strip() for cell in next(csv.reader([line]), [])]
    if len(cells) != len(COLUMNS):
        return None
    row = {key: cell if key in TEXTS else number(cell) for key, cell in zip(COLUMNS, cells)}
    row["time"] = row_time(cells[0], arrival)
    total, used = row["memory.total"], row["memory.used"]
    row["memory.used_pct"] = 100 * used / total if total and used is not None else None
    return row


def parse_list(text):
    """Device and PID to MiB; None where the memory of a process is not reported."""
    memory = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != 3 or not cells[1].isdigit():
            continue
        memory[cells[0], int(cells[1])] = number(cells[2])
    return memory


def sum_devices(memory, uuid=None):
    """PID to MiB on one device, or over all devices; None where a part is not reported."""
    sums = {}
    for (device, pid), mib in memory.items():
        if uuid is None or device == uuid:
            known = sums.get(pid, 0.0)
            sums[pid] = None if mib is None or known is None else known + mib
    return sums


def kernel_address(bus_id):
    """`00000000:00:06.0` as the kernel writes it, `0000:00:06.0`."""
    domain, _, rest = bus_id.lower().partition(":")
    try:
        return f"{int(domain, 16):04x}:{rest}"
    except ValueError:
        return bus_id


def query(*words):
    """What nvidia-smi answers, or None where it fails."""
    try:
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, errors="replace", timeout=CALL_SECS,
                              check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def query_devices():
    """The lines of `nvidia-smi -L` that name a GPU."""
    return [line for line in (query("-L") or "").splitlines() if line.startswith("GPU ")]


def query_list():
    """The processes as of now, or None where nvidia-smi does not list them."""
    text = query("--query-compute-apps=gpu_uuid,pid,used_memory", FORMAT)
    return None if text is None else parse_list(text)


class Smi:
    """nvidia-smi beside the body of a `with`; everything it said is kept with its time."""

    def __init__(self):
        self.rows = []
        self.lists = []
        self.over = threading.Event()
        words = [PROGRAM, "--query-gpu=" + ",".join(COLUMNS), FORMAT, "-lms", str(ROW_PERIOD_MS)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, errors="replace",
                                        env={**os.environ, "LC_ALL": "C"})
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self._read_rows, self._ask_lists)]
        for thread in self.threads:
            thread.start()

    def _read_rows(self):
        for line in self.process.stdout:
            row = parse_row(line, time.time())
            if row:
                self.rows.append(row)

    def _ask_lists(self):
        while not self.over.is_set():
            asked = time.time()
            memory = query_list()
            if memory is not None:
                self.lists.append(((asked + time.time()) / 2, memory))
            self.over.wait(max(0.0, asked + LIST_PERIOD_SECS - time.time()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.process.terminate()
        try:
            self.process.wait(CALL_SECS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self.threads:
            thread.join(CALL_SECS)
        with contextlib.suppress(OSError):
            self.process.stdout.close()

    def devices(self):
        """The latest row of each device, in the order of nvidia-smi."""
        return {row["uuid"]: row for row in list(self.rows)}

    def has_rows_near(self, when):
        return any(abs(row["time"] - when) <= NEAR_SECS for row in self.rows)

    def near(self, uuid, key, when):
        """The mean of a column around a time; None without a value."""
        values = [row[key] for row in self.rows
                  if row["uuid"] == uuid and abs(row["time"] - when) <= NEAR_SECS and row[key] is not None]
        return statistics.fmean(values) if values else None

    def busy_near(self, when):
        """How many devices' worth of work runs around a time; None without a value."""
        values = [self.near(uuid, "utilization.gpu", when) for uuid in self.devices()]
        known = [value for value in values if value is not None]
        return sum(known) / 100 if known else None

    def list_near(self, when, uuid=None):
        """PID to MiB, on one device or on all, of the process list closest to a time; {} where none is close enough."""
        close = [(abs(asked - when), memory) for asked, memory in self.lists if abs(asked - when) <= LIST_NEAR_SECS]
        return sum_devices(min(close, key=lambda pair: pair[0])[1], uuid) if close else {}

    def pids(self):
        """Every process that was listed."""
        return {pid for _, memory in self.lists for _, pid in memory}
