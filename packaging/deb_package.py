# SPDX-License-Identifier: Apache-2.0
"""The Debian packages, made by dpkg-deb from a tree that is laid out here; see deb-control(5) and Debian policy."""

import hashlib
import pathlib
import re
import shutil
import tempfile

from payload import (ARCHITECTURES, DOCS, NAME, RULE, File, date_words, documents, fill, gzip_bytes, lay_out,
                     plain_name, run_tool, usage_files)


def is_possible():
    return shutil.which("dpkg-deb") is not None


def file_name(build, settings):
    return f"{NAME}_{settings.debian_version}_{ARCHITECTURES[build.arch]}.deb"


def notice_of(build, library):
    """What the text of the licences says of one linked library."""
    parts = re.split(rf"^{RULE}\n(.*) \(linked in\)\n{RULE}\n", build.licenses, flags=re.M)
    for title, body in zip(parts[1::2], parts[2::2]):
        if plain_name({"name": title}) == plain_name(library):
            return body.strip("\n")
    return ""


def copyright_stanzas(build):
    """What the template does not name: all linked libraries but Mbed TLS, each with its own notice as its license."""
    for library in build.facts["libraries"]:
        if plain_name(library) == "mbedtls":
            continue
        notice = notice_of(build, library)
        owner = re.search(r"\(C\)\s+(.+)", notice)
        # An empty line is a dot in this format.
        body = "\n".join(" " + line.strip() if line.strip() else " ." for line in notice.splitlines())
        yield (f"Files: subprojects/{plain_name(library)}-*\nCopyright: {owner.group(1) if owner else 'see below'}\n"
               f"License: {library['license'].replace(' ', '-')}\n{body}\n")


def copyright_text(build, settings):
    return fill("deb/copyright", {"YEAR": date_words(settings.epoch, "%Y"),
                                  "LIBRARIES": "\n".join(copyright_stanzas(build)).rstrip("\n")})


def payload(build, settings):
    """The files below /: texts that Debian wants packed are packed, completions lie where its shells look."""
    by_name = {file.path.rsplit("/", 1)[1]: file for file in documents(build)}
    changelog = fill("deb/changelog", {"VERSION": settings.debian_version, "UPSTREAM": settings.version,
                                       "MAINTAINER": settings.maintainer,
                                       "DATE": date_words(settings.epoch, "%a, %d %b %Y %H:%M:%S +0000")})
    files = [File(f"bin/{NAME}", build.program, 0o755), by_name["README.md"],
             File(f"{DOCS}/copyright", copyright_text(build, settings).encode()),
             File(f"{DOCS}/changelog.gz", gzip_bytes(by_name["CHANGELOG.md"].content)),
             File(f"{DOCS}/changelog.Debian.gz", gzip_bytes(changelog.encode()))]
    for file in usage_files("share/zsh/vendor-completions"):
        is_page = "/man/" in file.path
        files.append(File(file.path + ".gz", gzip_bytes(file.content)) if is_page else file)
    return sorted((File("usr/" + file.path, file.content, file.mode) for file in files), key=lambda file: file.path)


def control_files(build, settings, files, directories):
    """control and md5sums. The size is counted as dpkg-gencontrol does: whole KiB per file, 1 KiB per directory."""
    kib = sum(-(-len(file.content) // 1024) for file in files) + len(directories) + 1
    control = fill("deb/control", {
        "VERSION": settings.debian_version, "ARCH": ARCHITECTURES[build.arch],
        "MAINTAINER": settings.maintainer, "INSTALLED_KIB": kib,
        "HOMEPAGE_LINE": f"Homepage: {settings.homepage}\n" if settings.homepage else ""})
    sums = "".join(f"{hashlib.md5(file.content, usedforsecurity=False).hexdigest()}  {file.path}\n" for file in files)
    return [File("control", control.encode()), File("md5sums", sums.encode())]


def make(build, settings, out):
    """Writes the package and returns its name."""
    with tempfile.TemporaryDirectory(prefix="rt-deb-") as work:
        tree = pathlib.Path(work) / "tree"
        tree.mkdir(mode=0o755)
        tree.chmod(0o755)
        files = payload(build, settings)
        directories = lay_out(files, tree, settings.epoch)
        control = [File("DEBIAN/" + file.path, file.content)
                   for file in control_files(build, settings, files, directories)]
        lay_out(control, tree, settings.epoch)
        name = file_name(build, settings)
        run_tool(["dpkg-deb", "--root-owner-group", "-Zxz", "-z9", "--build", tree, pathlib.Path(out) / name],
                 settings.epoch)
    return name
