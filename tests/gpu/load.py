#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A load for a GPU: holds memory and multiplies bf16 matrices with PyTorch.

Reports what it does on stdout, one `name value` per line: `pid`, then the Unix times `start` (everything is allocated,
the products begin), `end` (they are over, the memory is still held) and `done`.
"""

import argparse
import os
import time

SIDE = 8192
PRODUCTS = 8


def report(args, name, value):
    print(f"{args.label}{name} {value}", flush=True)


def multiply(torch, args, device):
    """Keeps the device busy for that share of every period."""
    left, right = (torch.randn(SIDE, SIDE, dtype=torch.bfloat16, device=device) for _ in range(2))
    product = torch.mm(left, right)
    torch.cuda.synchronize(device)
    report(args, "start", time.time())
    slot = time.monotonic()
    end = slot + args.secs
    while slot < end:
        while time.monotonic() < slot + args.duty * args.period:
            for _ in range(PRODUCTS if args.duty >= 1 else 1):
                torch.mm(left, right, out=product)
            torch.cuda.synchronize(device)
        if args.duty < 1:
            time.sleep(max(0.0, slot + args.period - time.monotonic()))
        slot = max(slot + args.period, time.monotonic())
    report(args, "end", time.time())
    return left, right, product


def main():
    parser = argparse.ArgumentParser(description="Loads a GPU.")
    parser.add_argument("--gib", type=float, default=2, help="memory to hold beside the matrices (GiB)")
    parser.add_argument("--secs", type=float, default=10, help="how long to multiply")
    parser.add_argument("--then-sleep", type=float, default=0, help="how long to hold the memory afterwards")
    parser.add_argument("--duty", type=float, default=1, help="share of the time to be busy, 0 to 1")
    parser.add_argument("--period", type=float, default=0.1, help="over which that share is taken (seconds)")
    parser.add_argument("--device", type=int, default=0, help="the GPU, in PCI order (default: 0); -1: the last one")
    parser.add_argument("--label", default="", help="put before the names on stdout")
    args = parser.parse_args()
    report(args, "pid", os.getpid())
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    # Only now, since it takes seconds and whatever waits for the PID should not.
    import torch  # pylint: disable=import-outside-toplevel
    device = f"cuda:{args.device % torch.cuda.device_count()}"
    held = [torch.zeros(int(args.gib * 2**30), dtype=torch.uint8, device=device)]
    held.extend(multiply(torch, args, device))
    time.sleep(args.then_sleep)
    report(args, "done", time.time())


if __name__ == "__main__":
    main()
