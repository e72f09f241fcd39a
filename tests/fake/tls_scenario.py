# SPDX-License-Identifier: Apache-2.0
"""A small scenario of TLS on loopback: a root, an intermediate, good and bad certificates, and nginx that serves them.

Certificates are made anew with the openssl command in a directory of their own. One nginx serves a port for each of
them; its security level is lowered, so that it is the client that has to refuse. Everything ends with the scenario.
"""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST = "good.example"
SYSTEM_BUNDLE = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
START_SECS = 8

# openssl(1) takes what a certificate says from sections of this file; "ca" can set both ends of its validity.
CONFIG = """
[ca]
default_ca = here
[here]
database = {place}/index
new_certs_dir = {place}
rand_serial = yes
unique_subject = no
policy = any
default_md = sha256
[any]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
commonName = scenario
[root]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
"""
WEAK = """
openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = weak
[weak]
MinProtocol = TLSv1
CipherString = DEFAULT@SECLEVEL=0
"""
NGINX = """
daemon off;
master_process off;
pid {place}/nginx.pid;
error_log {place}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    root {place}/www;
    {servers}
}}
"""
SERVER = """
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {place}/{name}.chain;
        ssl_certificate_key {place}/{key}.key;
        ssl_protocols {protocols};
        ssl_ecdh_curve {curve};
        ssl_ciphers ALL:@SECLEVEL=0;
    }}
"""
PLAIN = """
    server {{ listen 127.0.0.1:{port}; }}
"""


class Leaf:
    """What a server's certificate says, and how it is served."""

    def __init__(self, name, key="rsa", names=f"DNS:{HOST}", usage="serverAuth", issuer="middle", digest="sha256",
                 start="20200101000000Z", end="20990101000000Z", protocols="TLSv1.2 TLSv1.3", copies=1,
                 curve="auto"):
        self.name, self.key, self.names, self.usage, self.issuer = name, key, names, usage, issuer
        self.digest, self.start, self.end, self.protocols = digest, start, end, protocols
        self.copies = copies  # of its issuer in the chain
        self.curve = curve  # of the key exchange

    def section(self):
        return (f"\n[{self.name}]\nbasicConstraints = critical,CA:FALSE\nsubjectAltName = {self.names}\n"
                f"extendedKeyUsage = {self.usage}\n")


# CAs that may vouch for some names only: issuer (itself: a root), and what nameConstraints says.
CONSTRAINED = {
    "keeping": ("root", f"critical,permitted;DNS:{HOST}"),
    "softly": ("root", "permitted;DNS:other.example"),
    "firmly": ("root", "critical,permitted;DNS:other.example"),
    "excluding": ("root", f"critical,permitted;DNS:example,excluded;DNS:{HOST},excluded;DNS:bad.wild.example"),
    "local": ("root", "critical,permitted;IP:127.0.0.0/255.0.0.0"),
    "remote": ("root", "critical,permitted;IP:10.0.0.0/255.0.0.0"),
    "bound-root": ("bound-root", f"critical,permitted;DNS:{HOST}"),
    # Below one that is bound: what it may itself say does not matter.
    "below": ("firmly", f"critical,permitted;DNS:{HOST}"),
}

LEAVES = (
    Leaf("rsa"),
    Leaf("ecdsa", key="ec"),
    Leaf("p384", key="ec384"),
    Leaf("rsa-12", protocols="TLSv1.2"),
    Leaf("ecdsa-12", key="ec", protocols="TLSv1.2"),
    Leaf("rsa-13", protocols="TLSv1.3"),
    Leaf("x25519-13", protocols="TLSv1.3", curve="X25519"),
    Leaf("p256-13", protocols="TLSv1.3", curve="prime256v1"),
    Leaf("p384-13", protocols="TLSv1.3", curve="secp384r1"),
    Leaf("p521-13", protocols="TLSv1.3", curve="secp521r1"),
    Leaf("old", protocols="TLSv1.1"),
    Leaf("wildcard", names="DNS:*.wild.example"),
    Leaf("address", names="IP:127.0.0.1,IP:::1"),
    Leaf("expired", end="20210101000000Z"),
    Leaf("future", start="20980101000000Z"),
    Leaf("foreign", issuer="foreign-root"),
    Leaf("abused", issuer="rsa"),
    Leaf("client", usage="clientAuth"),
    Leaf("sha1", digest="sha1"),
    Leaf("short", key="rsa1024"),
    Leaf("named-address", names="DNS:127.0.0.1"),
    Leaf("kept", issuer="keeping"),
    Leaf("kept-12", issuer="keeping", protocols="TLSv1.2"),
    Leaf("soft", issuer="softly"),
    Leaf("firm", issuer="firmly"),
    Leaf("firm-12", issuer="firmly", protocols="TLSv1.2"),
    Leaf("firm-below", issuer="below"),
    Leaf("excluded", issuer="excluding"),
    Leaf("excluded-wild", issuer="excluding", names="DNS:*.wild.example"),
    Leaf("local-address", issuer="local", names="IP:127.0.0.1"),
    Leaf("remote-address", issuer="remote", names="IP:127.0.0.1"),
    Leaf("bound", issuer="bound-root"),
    Leaf("unbound", issuer="bound-root", names=f"DNS:{HOST},DNS:bad.example"),
    Leaf("long", copies=40),
    Leaf("long-12", copies=40, protocols="TLSv1.2"),
    Leaf("too-long", copies=120),
    Leaf("too-long-12", copies=120, protocols="TLSv1.2"),
)
KEYS = {
    "root": "EC -pkeyopt ec_paramgen_curve:P-256",
    "rsa": "RSA -pkeyopt rsa_keygen_bits:2048",
    "ec": "EC -pkeyopt ec_paramgen_curve:P-256",
    "ec384": "EC -pkeyopt ec_paramgen_curve:P-384",
    "rsa1024": "RSA -pkeyopt rsa_keygen_bits:1024",
}


def find(name):
    """nginx may be off the PATH of a user, or where tools/setup has unpacked it."""
    return shutil.which(name) or shutil.which(name, path=f"/usr/sbin:/sbin:{ROOT}/build-tools/usr/sbin")


def missing_tools():
    """The programs that the scenario needs and that are not here."""
    return [name for name in ("openssl", "nginx") if not find(name)]


def free_ports(count):
    """Ports that were free a moment ago, all at once so that they differ."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Scenario:
    """Made once per run; ports by the name of the leaf, "plain" for one without TLS."""

    def __init__(self, place):
        self.place = pathlib.Path(place)
        self.nginx = None
        self.ports = dict(zip([leaf.name for leaf in LEAVES] + ["plain"], free_ports(len(LEAVES) + 1)))
        self.trusted = self.place / "trusted.pem"

    def __enter__(self):
        self._make_certificates()
        self._start()
        return self

    def __exit__(self, *_):
        if self.nginx and self.nginx.poll() is None:
            self.nginx.kill()
            self.nginx.wait(START_SECS)

    def _openssl(self, *words):
        result = subprocess.run(["openssl", *map(str, words)], cwd=self.place, capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, timeout=30, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"openssl {' '.join(map(str, words))}: {result.stderr}")

    def _sign(self, name, key, issuer, issuer_key, digest, start, end):
        """name.crt from name's section, for the key of key, by issuer (itself where that is name)."""
        self._openssl("req", "-new", "-config", "config", "-key", f"{key}.key", "-subj", f"/CN={name}", "-out",
                      f"{name}.req")
        by = ["-selfsign"] if issuer == name else ["-cert", f"{issuer}.crt"]
        self._openssl("ca", "-batch", "-notext", "-config", "config", "-extensions",
                      name if name in {leaf.name for leaf in LEAVES} | set(CONSTRAINED) else "root", "-keyfile",
                      f"{issuer_key}.key", *by,
                      "-md", digest, "-startdate", start, "-enddate", end, "-in", f"{name}.req", "-out", f"{name}.crt")

    def _make_certificates(self):
        (self.place / "index").touch()
        (self.place / "config").write_text(
            CONFIG.format(place=self.place) + "".join(leaf.section() for leaf in LEAVES) +
            "".join(f"\n[{name}]\nbasicConstraints = critical,CA:TRUE\nkeyUsage = critical,keyCertSign\n"
                    f"nameConstraints = {words}\n" for name, (_, words) in CONSTRAINED.items()), encoding="ascii")
        for name, words in KEYS.items():
            self._openssl("genpkey", "-quiet", "-algorithm", *words.split(), "-out", f"{name}.key")
        long = ("20200101000000Z", "20990101000000Z")
        issuer_keys = {"root": "root", "middle": "ec384", "foreign-root": "ec", "rsa": "rsa",
                       **{name: "ec" for name in CONSTRAINED}}
        for name, issuer in (("root", "root"), ("middle", "root"), ("foreign-root", "foreign-root"),
                             *((name, issuer) for name, (issuer, _) in CONSTRAINED.items())):
            self._sign(name, issuer_keys[name], issuer, issuer_keys[issuer], "sha256", *long)
        for leaf in LEAVES:
            self._sign(leaf.name, leaf.key, leaf.issuer, issuer_keys[leaf.issuer], leaf.digest, leaf.start, leaf.end)
            self._write_chain(leaf)
        bundle = SYSTEM_BUNDLE.read_text(encoding="utf-8") if SYSTEM_BUNDLE.exists() else ""
        self.trusted.write_text(bundle + self._pem("root") + self._pem("bound-root"), encoding="utf-8")

    def _pem(self, name):
        return (self.place / f"{name}.crt").read_text(encoding="ascii")

    def _write_chain(self, leaf):
        chain = {"rsa": ["rsa", "middle"], "below": ["below", "firmly"]}.get(leaf.issuer, [leaf.issuer] * leaf.copies)
        (self.place / f"{leaf.name}.chain").write_text("".join(map(self._pem, [leaf.name, *chain])), encoding="ascii")

    def _start(self):
        (self.place / "www").mkdir()
        (self.place / "www" / "index.html").write_bytes(b"x" * 100_000)
        (self.place / "weak").write_text(WEAK, encoding="ascii")
        servers = [SERVER.format(place=self.place, port=self.ports[leaf.name], name=leaf.name, key=leaf.key,
                                 protocols=leaf.protocols, curve=leaf.curve) for leaf in LEAVES]
        servers.append(PLAIN.format(port=self.ports["plain"]))
        (self.place / "nginx.conf").write_text(NGINX.format(place=self.place, servers="".join(servers)),
                                               encoding="ascii")
        with open(self.place / "nginx.out", "wb") as out:
            self.nginx = subprocess.Popen([find("nginx"), "-p", self.place, "-c", self.place / "nginx.conf", "-e",
                                           self.place / "error.log"], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          env={"OPENSSL_CONF": str(self.place / "weak")})
        self._wait_port(self.ports["plain"])

    def _wait_port(self, port):
        deadline = time.monotonic() + START_SECS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError as error:
                if self.nginx.poll() is not None or time.monotonic() > deadline:
                    said = (self.place / "nginx.out").read_text(encoding="utf-8", errors="replace")
                    raise RuntimeError(f"nginx does not serve: {said}") from error
                time.sleep(0.02)
