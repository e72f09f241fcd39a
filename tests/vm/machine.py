# SPDX-License-Identifier: Apache-2.0
"""A virtual machine without KVM (TCG), from its start to its end: kernel, initial RAM disk, a console to read from.

Whatever happens, it is gone afterwards: it ends itself, or it is killed at its deadline or with us.
"""

import os
import pathlib
import select
import shutil
import subprocess
import time

from archive import Missing

END = "vm: end"
BYTES_MAX = 16 << 20
MEMORY_MIB = "1024"
QEMU = {
    "amd64": ("qemu-system-x86_64", "q35", "max", "ttyS0"),
    "arm64": ("qemu-system-aarch64", "virt", "cortex-a72", "ttyAMA0"),
}


def emulator(arch):
    """The path of QEMU for an architecture."""
    name = QEMU[arch][0]
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} is not installed")
    return path


class Machine:
    """What to boot; run() does it."""

    def __init__(self, arch, kernel, initrd, cpu="", more=()):
        _, board, usual_cpu, console = QEMU[arch]
        images = sorted(pathlib.Path(kernel).glob("boot/vmlinuz-*"))
        if not images:
            raise Missing(f"no kernel in {kernel}")
        append = f"console={console} quiet loglevel=3 panic=-1 random.trust_cpu=on psi=1"
        self.words = [emulator(arch), "-M", board, "-cpu", cpu or usual_cpu, "-accel", "tcg,thread=multi", "-smp", "2",
                      "-m", MEMORY_MIB, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial",
                      "stdio", "-kernel", str(images[0]), "-initrd", str(initrd), "-append", append, *more]

    def run(self, secs, on_line):
        """Boots, hands over each line of the console, and returns what was wrong, or None."""
        deadline = time.monotonic() + secs
        with subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            try:
                return self._read(process.stdout.fileno(), deadline, secs, on_line)
            finally:
                process.kill()

    @staticmethod
    def _read(fd, deadline, secs, on_line):
        rest, total, is_ended = b"", 0, False
        while True:
            ready, _, _ = select.select([fd], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(fd, 65536) if ready else b""
            total += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                line = line.decode("utf-8", "replace").rstrip("\r")
                is_ended = is_ended or line.startswith(END)
                on_line(line)
            if is_ended:
                return None
            if not ready:
                return f"not done after {secs:.0f} s"
            if not chunk or total > BYTES_MAX:
                return "too many words on the console" if chunk else f"ended too early: {rest[-200:]!r}"
