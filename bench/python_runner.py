# SPDX-License-Identifier: Apache-2.0
"""Uses the Python package the documented way; runs in the environment that it is installed in.

Usage: python_runner.py wrap OUTPUT INTERVAL COMMAND... | host OUTPUT INTERVAL | attach OUTPUT INTERVAL PID
The server and cloud look-ups of its start are turned off, since no other tool makes them: its figures gain from that.
An OUTPUT of `-` keeps the samples where the package puts them, in files of its own.
"""

import os
import signal
import subprocess
import sys
import time

from resource_tracker import ResourceTracker, SystemTracker

ENDING = {signal.SIGTERM, signal.SIGINT}


def keep(tracker, output):
    """Writes what was collected, as its documentation shows it: both trackers side by side."""
    if output == "-":
        return
    metrics = tracker.get_combined_metrics()
    if len(metrics) > 0:
        metrics.to_csv(output)


def stop(*_):
    sys.exit(0)


def wrap(output, interval, command):
    with ResourceTracker(interval=interval, discover_server=False, discover_cloud=False) as tracker:
        status = subprocess.run(command, check=False).returncode
    keep(tracker, output)
    sys.exit(status if status >= 0 else 128 - status)


def host(output, interval):
    # Its default for the start is the time of the import; a start in the past would be made up for by a burst.
    SystemTracker(start_time=time.time(), interval=interval, output_file=None if output == "-" else output)


def attach(output, interval, pid):
    tracker = ResourceTracker(pid=pid, interval=interval, discover_server=False, discover_cloud=False)
    tracker.start()
    # Only now, so that its helpers do not inherit it.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    signal.sigwait(ENDING)
    tracker.stop()
    keep(tracker, output)


def main():
    mode, output, interval = sys.argv[1], sys.argv[2], float(sys.argv[3])
    if mode == "wrap":
        wrap(output, interval, sys.argv[4:])
    elif mode == "host":
        signal.signal(signal.SIGTERM, stop)
        if output == "-":
            output = os.devnull
        host(output, interval)
    else:
        attach(output, interval, int(sys.argv[4]))


if __name__ == "__main__":
    main()
