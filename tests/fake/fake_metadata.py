#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A metadata service that plays one of the clouds, as strict about tokens and headers as the real one.

fake_metadata.py --vendor aws --listen 127.0.0.1:0

Prints "listening PORT" first, then one line for each request: method, path and status. --vendor portal answers every
request with a login page, --vendor hang never answers. --set NAME=VALUE replaces a value (region, zone, type, account,
domain), --delay SECONDS waits before every answer.
"""

import argparse
import http.server
import json
import secrets
import sys
import time

DEFAULTS = {
    "aws": {"domain": "amazonaws.com", "region": "eu-west-1", "zone": "eu-west-1b", "type": "m7g.4xlarge",
            "account": "123456789012"},
    "gcp": {"zone": "europe-west1-b", "type": "e2-standard-4", "account": "123456789012"},
    "azure": {"region": "westeurope", "zone": "1", "type": "Standard_D4s_v5",
              "account": "8d10da13-8125-4ba9-a717-bf7490507b3d"},
    "hcloud": {"region": "eu-central", "zone": "fsn1-dc14"},
    "upcloud": {"region": "fi-hel1"},
    "vultr": {"region": "EWR"},
    "alicloud": {"region": "cn-hangzhou", "zone": "cn-hangzhou-i", "type": "ecs.g7.large"},
    "ovh": {"region": "nova", "type": "b3-8"},
    "portal": {},
    "hang": {},
}
TTL_MAX_SECS = 21600
LOGIN_PAGE = "<!DOCTYPE html>\n<html><head><title>Wi-Fi</title></head><body>Please log in.</body></html>\n"
TEXT, JSON, HTML = "text/plain", "application/json", "text/html"


class Refused(Exception):
    """An answer other than 200: its status."""


class Tokens:
    """Session tokens by PUT: a life between 1 s and six hours, nothing without one."""

    def __init__(self, prefix):
        self.ttl_header = f"X-{prefix}-metadata-token-ttl-seconds"
        self.header = f"X-{prefix}-metadata-token"
        self.known = {}

    def make(self, headers):
        life = headers.get(self.ttl_header, "")
        if not life.isdigit() or not 1 <= int(life) <= TTL_MAX_SECS or "X-Forwarded-For" in headers:
            raise Refused(403 if "X-Forwarded-For" in headers else 400)
        token = secrets.token_urlsafe(40) + "=="
        self.known[token] = time.monotonic() + int(life)
        return token

    def check(self, headers):
        if self.known.get(headers.get(self.header), 0) <= time.monotonic():
            raise Refused(401)


def values_behind_token(prefix, values):
    """A service of plain values by path, for those with a token only."""
    tokens = Tokens(prefix)

    def answer(method, path, headers):
        if path == "/latest/api/token":
            if method != "PUT":
                raise Refused(405)
            return TEXT, tokens.make(headers)
        tokens.check(headers)
        found = values.get(path.removeprefix("/latest/meta-data/"))
        if method != "GET" or found is None:
            raise Refused(405 if found is not None else 404)
        return TEXT, found

    return answer


def aws(facts):
    return values_behind_token("aws-ec2", {
        "services/domain": facts["domain"],
        "placement/region": facts["region"],
        "placement/availability-zone": facts["zone"],
        "instance-type": facts["type"],
        "identity-credentials/ec2/info": json.dumps(
            {"Code": "Success", "LastUpdated": "2026-01-01T00:00:00Z", "AccountId": facts["account"]}, indent=2),
    })


def alicloud(facts):
    return values_behind_token("aliyun-ecs", {
        "instance/instance-type": facts["type"],
        "region-id": facts["region"],
        "zone-id": facts["zone"],
    })


def documents(found, wanted_headers=()):
    """A service of documents by path and query."""
    def answer(method, path, headers):
        if any(headers.get(name) != value for name, value in wanted_headers):
            raise Refused(400)
        if method != "GET" or path not in found:
            raise Refused(405 if path in found else 404)
        document = found[path]
        return (TEXT, document) if isinstance(document, str) else (JSON, json.dumps(document))

    return answer


def gcp(facts):
    project = f"projects/{facts['account']}"
    service = documents({
        "/computeMetadata/v1/instance/machine-type": f"{project}/machineTypes/{facts['type']}",
        "/computeMetadata/v1/instance/zone": f"{project}/zones/{facts['zone']}",
        "/computeMetadata/v1/project/numeric-project-id": facts["account"],
    })

    def answer(method, path, headers):
        if headers.get("Metadata-Flavor") != "Google" or "X-Forwarded-For" in headers:
            raise Refused(403)
        if headers.get("Host") not in ("metadata.google.internal", "metadata", "169.254.169.254"):
            raise Refused(403)
        return service(method, path, headers)

    return answer


def azure(facts):
    compute = {"azEnvironment": "AzurePublicCloud", "location": facts["region"], "name": "example",
               "subscriptionId": facts["account"], "tags": "", "vmSize": facts["type"], "zone": facts["zone"]}
    return documents({"/metadata/instance?api-version=2021-02-01": {"compute": compute, "network": {"interface": []}}},
                     [("Metadata", "true")])


def hcloud(facts):
    return documents({"/hetzner/v1/metadata": (
        f"availability-zone: {facts['zone']}\nhostname: example\ninstance-id: 42\nlocal-ipv4: ''\nnetwork-config:\n"
        "  config:\n  - mac_address: 96:00:00:00:00:01\n    type: physical\npublic-ipv4: 203.0.113.7\n"
        f"region: {facts['region']}\n")})


def upcloud(facts):
    return documents({"/metadata/v1.json": {"cloud_name": "upcloud", "instance_id": "00ab", "hostname": "example",
                                            "region": facts["region"], "tags": []}})


def vultr(facts):
    return documents({"/v1.json": {"hostname": "example", "instanceid": "42872224",
                                   "instance-v2-id": "4f0f12e5-1f84-404f-aa84-85f431ea5ec2",
                                   "region": {"countrycode": "US", "regioncode": facts["region"]}}})


def ovh(facts):
    return documents({
        "/openstack/latest/network_data.json": {
            "links": [], "networks": [], "services": [{"type": "dns", "address": "213.186.33.99"}]},
        "/openstack/latest/meta_data.json": {
            "uuid": "d8e02d56-2648-49a3-bf97-6be8f1204f38", "availability_zone": facts["region"], "name": "example"},
        "/latest/meta-data/instance-type": facts["type"],
    })


def portal(_facts):
    return lambda method, path, headers: (HTML, LOGIN_PAGE)


def hang(_facts):
    def answer(_method, _path, _headers):
        time.sleep(3600)
        raise Refused(503)

    return answer


VENDORS = {"aws": aws, "gcp": gcp, "azure": azure, "hcloud": hcloud, "upcloud": upcloud, "vultr": vultr,
           "alicloud": alicloud, "ovh": ovh, "portal": portal, "hang": hang}


class Handler(http.server.BaseHTTPRequestHandler):
    """One request a connection; the server's `answer` and `options` decide."""

    protocol_version = "HTTP/1.1"

    def reply(self):
        options = self.server.options
        time.sleep(options.delay)
        try:
            status, (kind, body) = 200, self.server.answer(self.command, self.path, self.headers)
        except Refused as refused:
            status, kind, body = refused.args[0], TEXT, f"{refused.args[0]}\n"
        data = body.encode()
        self.send_response(status)
        if options.vendor == "gcp":
            self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        sys.stdout.write(f"{self.command} {self.path} {status}\n")
        sys.stdout.flush()

    do_GET = do_PUT = do_POST = reply

    def log_message(self, *_arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Knows the service that it plays."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64  # all vendors come at once

    def __init__(self, address, options, answer):
        super().__init__(address, Handler)
        self.options = options
        self.answer = answer

    def handle_error(self, request, client_address):
        """A client that has gone away is no news."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vendor", choices=sorted(VENDORS), required=True)
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="ADDRESS:PORT")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    facts = dict(DEFAULTS[options.vendor])
    for pair in options.set:
        name, separator, value = pair.partition("=")
        if not separator or name not in facts:
            parser.error(f"{options.vendor} has no {name}")
        facts[name] = value
    address, _, port = options.listen.rpartition(":")
    server = Server((address, int(port)), options, VENDORS[options.vendor](facts))
    print("listening", server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
