# SPDX-License-Identifier: Apache-2.0
"""What the load needs around it: a network of its own, a disk with 4096-byte sectors, a mount namespace.

Everything hangs on processes of ours and is taken down by the ExitStack that is handed in, whatever happens. What this
machine does not permit raises Unable with the reason; the harness then says so and continues without it.
"""

import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

LOAD = str(pathlib.Path(__file__).resolve().parent / "parity_load.py")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PORT = 9
READY_SECS = 15
# Addresses that RFC 2544 sets aside for benchmarks.
NEAR, FAR = "198.18.255.1", "198.18.255.2"
ZRAM_BYTES = 64 << 20
SYSFS_ZRAM = pathlib.Path("/sys/class/zram-control")


class Unable(Exception):
    """This machine does not permit it, or a tool is missing; the text says which."""


def call(*words, secs=30):
    """Output of a command that must end well."""
    program = shutil.which(words[0], path=PATH)
    if not program:
        raise Unable(f"{words[0]} is not installed")
    try:
        done = subprocess.run([program, *map(str, words[1:])], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=secs, check=False)
    except subprocess.TimeoutExpired as reason:
        raise Unable(f"{words[0]} did not end within {secs} s") from reason
    if done.returncode != 0:
        reported = (done.stderr or done.stdout).strip().splitlines()
        raise Unable(f"{words[0]}: {reported[-1] if reported else f'status {done.returncode}'}")
    return done.stdout.strip()


def quietly(*words):
    with contextlib.suppress(Unable):
        call(*words)


def end(process, secs=5):
    """Ends a process that we started: asked first, then made to."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(secs)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()


def start(stack, words, what, **more):
    """A helper that prints a word when it is ready."""
    process = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                               **more)
    stack.callback(end, process)
    ready, _, _ = select.select([process.stdout], [], [], READY_SECS)
    if not ready or process.stdout.readline().strip() != "ready":
        raise Unable(f"{what} did not start")
    return process


def need_root():
    if os.geteuid() != 0:
        raise Unable("only root may")


def python():
    """An interpreter without site packages: small, and the same in every environment."""
    return [shutil.which("python3", path=PATH) or sys.executable, "-S", "-E"]


def unshare(*options):
    """The words that make namespaces and then become what follows, under the same PID."""
    need_root()
    program = shutil.which("unshare", path=PATH)
    if not program:
        raise Unable("unshare is not installed")
    return [program, *options]


def network(stack):
    """A veth pair whose far end lies in a network namespace of its own, with a process there that answers.

    Gives the words of the load. The namespace goes with its process, and the pair with the namespace.
    """
    pid = start(stack, [*unshare("--net"), *python(), LOAD, "echo", PORT], "the far end of the network").pid
    near, far = f"rtpar{pid % 100000}a", f"rtpar{pid % 100000}b"
    call("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", pid)
    stack.callback(quietly, "ip", "link", "del", near)
    call("ip", "addr", "add", f"{NEAR}/30", "dev", near)
    call("ip", "link", "set", near, "up")
    inside = ("nsenter", "--target", pid, "--net", "ip")
    call(*inside, "addr", "add", f"{FAR}/30", "dev", far)
    call(*inside, "link", "set", far, "up")
    return f"net={FAR},{PORT}"


def loopback(stack):
    """A process that answers on the loopback interface; returns the words of the load."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start(stack, [*python(), LOAD, "echo", port], "the answer on loopback")
    return f"net=127.0.0.1,{port}"


def disk_of(path):
    """The whole device that a file lies on, None where it lies on none."""
    number = os.stat(path).st_dev
    link = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
    if not os.path.exists(link):
        return None
    real = pathlib.Path(os.path.realpath(link))
    return real.parent.name if (real / "partition").exists() else real.name


def namespace(stack):
    """A process in a mount namespace of its own: mounts made there are seen by those who enter it, and go with it."""
    waits = "import os,time\nprint('ready',flush=True)\np=os.getppid()\nwhile os.getppid()==p: time.sleep(1)"
    words = [*unshare("--mount", "--propagation", "private"), *python(), "-c", waits]
    return start(stack, words, "a mount namespace").pid


def detach(device, image):
    """Detaches the device if it is still ours: once it is free, another process may have got it."""
    with contextlib.suppress(OSError):
        backing = pathlib.Path(f"/sys/block/{os.path.basename(device)}/loop/backing_file")
        if backing.read_text(encoding="utf-8").strip() == str(image):
            quietly("losetup", "--detach", device)


def big_sectors(stack, place, view, size):
    """A loop device with 4096-byte sectors, one partition and an ext4 on it, mounted in the namespace of `view`.

    Its file is sparse, so that it can be as large as the comparison of disk space needs it. Returns the device and the
    directory. Once it is mounted the device is detached, which the kernel does when the mount goes, however it ends.
    """
    need_root()
    image, directory = place / "image", place / "mounted"
    image.touch()
    os.truncate(image, size)
    device = call("losetup", "--find", "--show", "--partscan", "--sector-size", 4096, image)
    stack.callback(detach, device, image)
    quietly("losetup", "--direct-io=on", device)
    call("addpart", device, 1, 2048, size // 512 - 4096)
    partition = f"{device}p1"
    for _ in range(100):
        if os.path.exists(partition):
            break
        time.sleep(0.02)
    call("mkfs.ext4", "-q", "-m", 0, "-N", 1024, "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard", partition,
         secs=60)
    directory.mkdir()
    call("nsenter", "--target", view, "--mount", "mount", partition, directory)
    stack.callback(quietly, "nsenter", "--target", view, "--mount", "umount", directory)
    detach(device, image)
    return os.path.basename(device), directory


def bind(stack, place, view):
    """A directory of the filesystem that holds `place`, mounted a second time in the namespace of `view`."""
    once, twice = place / "once", place / "twice"
    once.mkdir()
    twice.mkdir()
    call("nsenter", "--target", view, "--mount", "mount", "--bind", once, twice)
    stack.callback(quietly, "nsenter", "--target", view, "--mount", "umount", twice)
    return twice


def zram(stack):
    """A zram device of our own: a disk that is no loop device and has sectors of 4096 bytes."""
    need_root()
    try:
        number = (SYSFS_ZRAM / "hot_add").read_text(encoding="ascii").strip()
    except OSError as reason:
        raise Unable(f"no zram device can be made: {reason.strerror}") from reason

    def remove():
        for _ in range(100):
            with contextlib.suppress(OSError):
                (SYSFS_ZRAM / "hot_remove").write_text(number, encoding="ascii")
                return
            time.sleep(0.05)
    stack.callback(remove)
    try:
        pathlib.Path(f"/sys/block/zram{number}/disksize").write_text(str(ZRAM_BYTES), encoding="ascii")
    except OSError as reason:
        raise Unable(f"zram{number}: {reason.strerror}") from reason
    if not os.path.exists(f"/dev/zram{number}"):
        raise Unable(f"there is no /dev/zram{number}")
    return f"zram{number}"


def tree(stack, workers, enter=()):
    """Starts a tree of workers; `enter` are the words that lead into a namespace. Returns its process."""
    return start(stack, [*enter, *python(), LOAD, "tree", *workers], "the load")


def catch_signals():
    """SIGTERM and SIGHUP unwind the stacks like an interrupt does."""
    def stop(number, _frame):
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
