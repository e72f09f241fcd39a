# SPDX-License-Identifier: Apache-2.0
"""The RPM packages, where rpmbuild is at hand. The same rpmbuild gives the same bytes; another version of it may write
other headers, which is why checksums of the packages are only promised for one machine."""

import pathlib
import shutil
import tempfile

from payload import NAME, Failure, File, date_words, fill, lay_out, license_words, plain_name, run_tool, tar_payload

# Nothing here is to be stripped, split, compiled or looked through: the program is finished.
MACROS = {"debug_package": "%{nil}", "__os_install_post": "%{nil}", "_build_id_links": "none",
          "_buildhost": "localhost", "use_source_date_epoch_as_buildtime": "1",
          "clamp_mtime_to_source_date_epoch": "1", "source_date_epoch_from_changelog": "0",
          "_binary_payload": "w9.gzdio", "_binary_filedigest_algorithm": "8",
          "_rpmfilename": "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm"}


def is_possible():
    return shutil.which("rpmbuild") is not None


def file_name(build, settings):
    return f"{NAME}-{settings.version}-{settings.rpm_release}.{build.arch}.rpm"


def payload(build):
    return [File("usr/" + file.path, file.content, file.mode) for file in tar_payload(build)]


def file_lines(files):
    lines = []
    for file in files:
        is_license = "/LICENSE" in file.path
        is_doc = file.path.startswith(("usr/share/man/", "usr/share/doc/"))
        mark = "%license " if is_license else "%doc " if is_doc else ""
        lines.append(f"{mark}%attr({file.mode:04o},root,root) /{file.path}")
    return "\n".join(["%dir %attr(0755,root,root) /usr/share/doc/" + NAME, *lines])


def literal(text):
    """Words that rpm is not to take for macros, which may run programs."""
    return text.replace("%", "%%")


def bundled_lines(build):
    """What Fedora wants to know, to find packages that need a fix."""
    return "\n".join(f"Provides: bundled({plain_name(library)}) = {library['version']}"
                     for library in build.facts["libraries"])


def make(build, settings, out):
    """Writes the package and returns its name."""
    if "-" in settings.version:
        raise Failure(f"RPM knows no hyphen in a version: {settings.version}")
    with tempfile.TemporaryDirectory(prefix="rt-rpm-") as work:
        work = pathlib.Path(work)
        files = payload(build)
        (work / "tree").mkdir()
        lay_out(files, work / "tree", settings.epoch)
        spec = work / f"{NAME}.spec"
        spec.write_text(fill("rpm/resource-tracker.spec", {
            "VERSION": settings.version, "RELEASE": settings.rpm_release, "MAINTAINER": literal(settings.maintainer),
            "HOMEPAGE_LINE": f"URL: {literal(settings.homepage)}\n" if settings.homepage else "",
            "LICENSES": license_words(build), "BUNDLED": bundled_lines(build),
            "TREE": work / "tree", "FILES": file_lines(files),
            "DATE": date_words(settings.epoch, "%a %b %d %Y")}), encoding="utf-8")
        macros = {**MACROS, "_topdir": work / "top", "_dbpath": work / "db", "_tmppath": work, "_rpmdir": work / "made"}
        defines = [word for key, value in macros.items() for word in ("--define", f"{key} {value}")]
        run_tool(["rpmbuild", "-bb", "--quiet", "--target", f"{build.arch}-linux", *defines, spec], settings.epoch,
                 cwd=work)
        name = file_name(build, settings)
        shutil.copyfile(work / "made" / name, pathlib.Path(out) / name)
    return name
