# SPDX-License-Identifier: Apache-2.0
"""Writes the initial RAM disk of a guest: a cpio archive in the "newc" form of the kernel's
driver-api/early-userspace/buffer-format, so that neither root nor cpio is needed.

The root is a merged one: /bin, /sbin, /lib and /lib64 lead into /usr, whatever the packages were made for.
"""

import lzma
import os
import pathlib
import re
import stat

MERGED = ("bin", "sbin", "lib", "lib32", "lib64")
NOT_NEEDED = ("usr/share", "usr/include", "var", "boot")
DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")


class Initrd:
    """An archive in the making: path -> (mode, content, device)."""

    def __init__(self):
        self._entries = {}
        for name in ("usr", "dev", "proc", "sys", "tmp", "root", "etc", *("usr/" + name for name in MERGED)):
            self.add_directory(name)
        for name in MERGED:
            self.add_link(name, "usr/" + name)
        self._entries["dev/console"] = (stat.S_IFCHR | 0o600, b"", (5, 1))
        self._entries["dev/null"] = (stat.S_IFCHR | 0o666, b"", (1, 3))

    @staticmethod
    def _place(path):
        path = str(path).strip("/")
        return "usr/" + path if path.split("/")[0] in MERGED and "/" in path else path

    def _put(self, path, mode, content):
        path = self._place(path)
        parent = os.path.dirname(path)
        if parent and parent not in self._entries:
            self.add_directory(parent)
        self._entries[path] = (mode, content, (0, 0))

    def add_directory(self, path):
        self._put(path, stat.S_IFDIR | 0o755, b"")

    def add_link(self, path, target):
        self._put(path, stat.S_IFLNK | 0o777, target.encode())

    def add_text(self, path, text, mode=0o755):
        self._put(path, stat.S_IFREG | mode, text.encode())

    def add_file(self, path, source):
        """A file of this machine, readable by every user of the guest."""
        mode = os.stat(source).st_mode
        self._put(path, stat.S_IFREG | stat.S_IMODE(mode) | 0o444, pathlib.Path(source).read_bytes())

    def add_tree(self, directory, below=""):
        """What was unpacked, without what no program reads."""
        directory = pathlib.Path(directory)
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory).as_posix()
            if name.startswith(NOT_NEEDED) or name in MERGED:
                continue
            if path.is_symlink():
                self.add_link(below + name, os.readlink(path))
            elif path.is_file():
                self.add_file(below + name, path)

    def add_modules(self, kernel, wanted):
        """Modules and what they depend on, and /modules, which names them in the order to load them in."""
        found = {path.name.split(".")[0].replace("-", "_"): path for path in sorted(kernel.rglob("*.ko*"))}
        order = []

        def add(name):
            if name not in found or name in order:  # the others are built into the kernel
                return
            data = found[name].read_bytes()
            data = lzma.decompress(data) if found[name].suffix == ".xz" else data
            depends = DEPENDS.search(data)
            for other in (depends.group(1).decode().split(",") if depends else []):
                add(other.replace("-", "_"))
            order.append(name)
            self._put(f"modules.d/{name}.ko", stat.S_IFREG | 0o644, data)

        for name in wanted:
            add(name)
        self.add_text("modules", "".join(name + "\n" for name in order), 0o644)

    def write(self, path):
        with open(path, "wb") as file:
            for number, (name, (mode, content, device)) in enumerate(
                    [*sorted(self._entries.items()), ("TRAILER!!!", (0, b"", (0, 0)))], 1):
                raw = name.encode("utf-8", "surrogateescape") + b"\0"
                fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(raw), 0)
                head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
                file.write(head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4))
