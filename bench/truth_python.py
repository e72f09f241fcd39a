# SPDX-License-Identifier: Apache-2.0
"""Asks the Python package about one command, or about disks; runs in the environment that it is installed in.

Usage: truth_python.py track OUTPUT INTERVAL COMMAND... | disks
`track` puts its ProcessTracker on the command alone, since its wrapper counts its own processes too. `disks` prints the
totals of its system tracker per disk, as JSON, at the start and for every line of standard input.
"""

import json
import subprocess
import sys
import time

from resource_tracker import ProcessTracker
from resource_tracker.helpers import get_tracker_implementation


def track(output, interval, command):
    with subprocess.Popen(command) as process:
        # The command is a zombie until it is waited for, so that the tracker sees it end before the PID is free.
        ProcessTracker(pid=process.pid, start_time=time.time(), interval=interval, output_file=output)
        status = process.wait()
    sys.exit(status if status >= 0 else 128 - status)


def disks():
    _, get_system_stats = get_tracker_implementation()
    print(json.dumps(get_system_stats()["disk_stats"]), flush=True)
    for _ in sys.stdin:
        print(json.dumps(get_system_stats()["disk_stats"]), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "track":
        track(sys.argv[2], float(sys.argv[3]), sys.argv[4:])
    else:
        disks()
