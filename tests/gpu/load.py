#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A load for a GPU: holds memory and multiplies bf16 matrices with PyTorch.

Prints what it does on stdout, one `name value` per line: `pid`, then the Unix times `start` (everything is allocated,
the products begin), `end` (they are over, the memory is still held) and `done`.
"""

import argparse
import os
import time

SIDE = 8192
PRODUCTS = 8


def report(name, value):
    print(f"{name} {value}", flush=True)


def multiply(torch, secs, duty, period):
    """Keeps the device busy for that share of every period."""
    left, right = (torch.randn(SIDE, SIDE, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    product = torch.mm(left, right)
    torch.cuda.synchronize()
    report("start", time.time())
    slot = time.monotonic()
    end = slot + secs
    while slot < end:
        while time.monotonic() < slot + duty * period:
            for _ in range(PRODUCTS if duty >= 1 else 1):
                torch.mm(left, right, out=product)
            torch.cuda.synchronize()
        if duty < 1:
            time.sleep(max(0.0, slot + period - time.monotonic()))
        slot = max(slot + period, time.monotonic())
    report("end", time.time())
    return left, right, product


def main():
    parser = argparse.ArgumentParser(description="Loads a GPU.")
    parser.add_argument("--gib", type=float, default=2, help="memory to hold beside the matrices (GiB)")
    parser.add_argument("--secs", type=float, default=10, help="how long to multiply")
    parser.add_argument("--then-sleep", type=float, default=0, help="how long to hold the memory afterwards")
    parser.add_argument("--duty", type=float, default=1, help="share of the time to be busy, 0 to 1")
    parser.add_argument("--period", type=float, default=0.1, help="over which that share is taken (seconds)")
    args = parser.parse_args()
    report("pid", os.getpid())
    # Only now, since it takes seconds for which the reader of the PID should not wait.
    import torch  # pylint: disable=import-outside-toplevel
    held = [torch.zeros(int(args.gib * 2**30), dtype=torch.uint8, device="cuda")]
    held.extend(multiply(torch, args.secs, args.duty, args.period))
    time.sleep(args.then_sleep)
    report("done", time.time())


if __name__ == "__main__":
    main()
