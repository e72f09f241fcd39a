# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of one archive as SPDX 2.3 JSON, and a check of what that version of the standard demands.

It lists the files of the archive and the libraries that are linked in. Download locations are NOASSERTION: sources
come from whatever archive the builder uses, and are identified by their hashes.
"""

import hashlib
import json
import re
import uuid

from payload import NAME, date_words, license_words, plain_name, tar_payload

# How vulnerability lists call the libraries, and the licences that they offer where we take one of several.
KNOWN = {"mbedtls": ("arm:mbed_tls", "Apache-2.0 OR GPL-2.0-or-later", "Copyright The Mbed TLS Contributors"),
         "zlib": ("zlib:zlib", "Zlib", "Copyright (C) Jean-loup Gailly and Mark Adler"),
         "musl": ("musl-libc:musl", "MIT", "Copyright (C) 2005-2020 Rich Felker, et al.")}
ELEMENT = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
DIGITS = {"SHA1": 40, "SHA256": 64}


def file_name(build, settings):
    return f"{NAME}-{settings.version}-{build.target}.spdx.json"


def element(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.]+", "-", name)


def digest(algorithm, content):
    return hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()


def file_entry(file, build):
    """One file of the archive; SHA1 is what the standard demands, SHA256 what one relies on."""
    is_program = file.path.startswith("bin/")
    concluded = license_words(build) if is_program else "Apache-2.0"
    return {"SPDXID": element("File", file.path), "fileName": "./" + file.path,
            "fileTypes": ["BINARY" if is_program else "TEXT"],
            "checksums": [{"algorithm": "SHA1", "checksumValue": digest("sha1", file.content)},
                          {"algorithm": "SHA256", "checksumValue": digest("sha256", file.content)}],
            "licenseConcluded": "NOASSERTION" if file.path.endswith(".linked") else concluded,
            "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"}


def library_entry(library):
    cpe, declared, owner = KNOWN.get(plain_name(library), ("", library["license"], "NOASSERTION"))
    name, version = library["name"], library["version"]
    entry = {"SPDXID": element("Package", name), "name": name, "versionInfo": version,
             "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": library["license"],
             "licenseDeclared": declared, "copyrightText": owner, "supplier": "NOASSERTION",
             "primaryPackagePurpose": "LIBRARY",
             "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                               "referenceLocator": f"pkg:generic/{plain_name(library)}@{version}"}]}
    if cpe:
        entry["externalRefs"].append({"referenceCategory": "SECURITY", "referenceType": "cpe23Type",
                                      "referenceLocator": f"cpe:2.3:a:{cpe}:{version}:*:*:*:*:*:*:*"})
    if library.get("sha256"):
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": library["sha256"]}]
        entry["comment"] = "The hash is that of the source archive."
    return entry


def own_entry(build, settings, files):
    """The package itself. Its verification code is SHA1 over the sorted SHA1 of all files, as the standard says."""
    code = digest("sha1", "".join(sorted(digest("sha1", file.content) for file in files)).encode())
    return {"SPDXID": element("Package", NAME), "name": NAME, "versionInfo": settings.version,
            "packageFileName": f"{NAME}-{settings.version}-{build.target}.tar.gz",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": True, "homepage": settings.homepage or "NOASSERTION",
            "packageVerificationCode": {"packageVerificationCodeValue": code},
            "licenseConcluded": license_words(build),
            "licenseDeclared": "Apache-2.0", "licenseInfoFromFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
            "supplier": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
            "comment": f"Built for {build.target} by {build.facts.get('compiler', 'an unnamed compiler')} "
                       f"against {build.facts.get('libc', 'an unnamed C library')}."}


def document(build, settings):
    files = tar_payload(build)
    own = own_entry(build, settings, files)
    libraries = [library_entry(library) for library in build.facts["libraries"]]
    entries = [file_entry(file, build) for file in files]
    title = f"{NAME}-{settings.version}-{build.target}"
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", entry["SPDXID"]) for entry in entries]
    relations += [(element("File", f"bin/{NAME}"), "STATIC_LINK", library["SPDXID"]) for library in libraries]
    # The same content gets the same name, other content another one.
    name = uuid.uuid5(uuid.NAMESPACE_OID, title + "".join(entry["checksums"][1]["checksumValue"] for entry in entries))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": title,
            "documentNamespace": f"urn:uuid:{name}",
            "creationInfo": {"created": date_words(settings.epoch, "%Y-%m-%dT%H:%M:%SZ"),
                             "creators": [f"Organization: {NAME} developers",
                                          f"Tool: {NAME}-package-{settings.version}"]},
            "documentDescribes": [own["SPDXID"]], "packages": [own, *libraries], "files": entries,
            "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                              for a, kind, b in relations]}


def text(build, settings):
    return json.dumps(document(build, settings), indent=2, sort_keys=False) + "\n"


def checksum_complaints(where, entry, demanded):
    sums = {row.get("algorithm"): str(row.get("checksumValue", "")) for row in entry.get("checksums", [])}
    if demanded and demanded not in sums:
        yield f"{where}: no {demanded}"
    for algorithm, value in sums.items():
        if not re.fullmatch(f"[0-9a-f]{{{DIGITS.get(algorithm, 0)}}}", value):
            yield f"{where}: {algorithm} is not one"


def missing_keys(where, entry, keys):
    return [f"{where}: no {key}" for key in keys if entry.get(key) in (None, "", [])]


def complaints(spdx):
    """What SPDX 2.3 demands and this document lacks, as lines."""
    found = missing_keys("document", spdx, ("SPDXID", "name", "documentNamespace", "creationInfo", "packages"))
    info = spdx.get("creationInfo", {})
    found += [words for is_wrong, words in (
        (spdx.get("spdxVersion") != "SPDX-2.3", "document: not SPDX-2.3"),
        (spdx.get("dataLicense") != "CC0-1.0", "document: dataLicense is not CC0-1.0"),
        (spdx.get("SPDXID") != "SPDXRef-DOCUMENT", "document: SPDXID is not SPDXRef-DOCUMENT"),
        (not re.fullmatch(r"[a-z]+:[^\s#]+", spdx.get("documentNamespace", "")), "document: the namespace is no URI"),
        (not DATE.fullmatch(info.get("created", "")), "creationInfo: created is no date"),
        (not info.get("creators"), "creationInfo: no creators")) if is_wrong]
    found += [f"creationInfo: odd creator {creator}" for creator in info.get("creators", [])
              if not re.match(r"(Person|Organization|Tool): \S", creator)]
    known = {"SPDXRef-DOCUMENT"}
    for package in spdx.get("packages", []):
        where = f"package {package.get('name')}"
        found += missing_keys(where, package, ("SPDXID", "name", "downloadLocation"))
        if package.get("filesAnalyzed", True):
            found += missing_keys(where, package, ("packageVerificationCode",))
        found += checksum_complaints(where, package, None)
    for file in spdx.get("files", []):
        where = f"file {file.get('fileName')}"
        found += missing_keys(where, file, ("SPDXID", "fileName", "checksums"))
        found += checksum_complaints(where, file, "SHA1")
    for entry in [*spdx.get("packages", []), *spdx.get("files", [])]:
        name = str(entry.get("SPDXID"))
        if not ELEMENT.fullmatch(name) or name in known:
            found.append(f"{name}: no usable or not the only such SPDXID")
        known.add(name)
    described = False
    for row in spdx.get("relationships", []):
        found += missing_keys("relationship", row, ("spdxElementId", "relationshipType", "relatedSpdxElement"))
        found += [f"relationship: {row.get(key)} does not exist" for key in ("spdxElementId", "relatedSpdxElement")
                  if row.get(key) not in known]
        described |= row.get("relationshipType") == "DESCRIBES"
    return found if described else [*found, "document: describes nothing"]
