#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The API of Sentinel on loopback, beside a fake S3: runs are registered, get keys for their uploads, and are finished.

Strict about everything that the protocol says: headers, keys and types of the JSON, how an inline CSV is packed, and
that uploaded objects are there and hold whole CSVs. As a command it starts both, prints one line of JSON with their
addresses and the token, and runs until stdin is closed.
"""

import base64
import binascii
import csv
import datetime
import gzip
import io
import json
import re
import secrets
import sys
import zlib

from fake_http import Answer, Server
from fake_s3 import FakeS3

FORMS = frozenset(("base64-gzip", "plain-gzip", "plain"))
FINISHED_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def is_text(value):
    return isinstance(value, str) and value != "" and "\0" not in value


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value):
    return is_int(value) and value >= 0


def is_number(value):
    return is_count(value) or isinstance(value, float) and value >= 0


def is_tags(value):
    return isinstance(value, dict) and value != {} and all(is_text(k) and isinstance(v, str) for k, v in value.items())


def is_texts(value):
    return isinstance(value, list) and value != [] and all(isinstance(item, str) for item in value)


def is_command(value):
    try:
        return isinstance(value, str) and is_texts(json.loads(value))
    except ValueError:
        return False


def is_time(value):
    try:
        return bool(FINISHED_AT.fullmatch(value)) and bool(datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ"))
    except (TypeError, ValueError):
        return False


def one_of(*words):
    return lambda value: value in words


REGISTER = {
    **dict.fromkeys(("job_name", "project_name", "stage_name", "task_name", "team", "env", "language", "orchestrator",
                     "executor", "external_run_id", "container_image"), is_text),
    "tags": is_tags, "command": is_command,
    **dict.fromkeys(("host_id", "host_hostname", "host_ip", "host_cpu_model", "host_gpu_model"), is_text),
    "host_server_allocation": one_of("dedicated", "shared"),
    **dict.fromkeys(("host_vcpus", "host_memory_mib", "host_gpu_count", "host_gpu_memory_mib"), is_count),
    "host_storage_gb": is_number,
    **dict.fromkeys(("cloud_vendor_id", "cloud_account_id", "cloud_region_id", "cloud_zone_id", "cloud_instance_type"),
                    is_text),
}
FINISH = {"exit_code": is_int, "run_status": one_of("finished", "failed"), "finished_at": is_time,
          "data_source": one_of("s3", "inline"), "data_uris": is_texts,
          "data_csv": lambda value: isinstance(value, str)}
FINISH_NEEDED = {"s3": ("run_status", "finished_at", "data_uris"), "inline": ("run_status", "finished_at", "data_csv")}
EXPIRY_FORMS = {
    "Z": lambda when: when.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "offset": lambda when: when.astimezone(datetime.timezone(datetime.timedelta(hours=5, minutes=30))).isoformat(),
    "odd": lambda when: "in a while",
}


class Refused(Exception):
    """An answer other than 200: status, detail, and whether a good client gets it too."""

    def __init__(self, status, detail, is_violation=True):
        super().__init__(status, detail)
        self.status, self.detail, self.is_violation = status, detail, is_violation


def unprocessable(location, kind, words, is_violation=True):
    """A 422 in the shape of FastAPI."""
    return Refused(422, [{"type": kind, "loc": ["body", *location], "msg": words}], is_violation)


def check_fields(body, fields, needed):
    for name, value in body.items():
        if name not in fields:
            raise unprocessable([name], "extra_forbidden", f"{name} is not known")
        if not fields[name](value):
            raise unprocessable([name], "value_error", f"{name} cannot be {value!r}"[:200])
    for name in needed:
        if name not in body:
            raise unprocessable([name], "missing", f"{name} is missing")


def no_twins(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def check_csv(text):
    """A whole CSV: a header, lines that end with LF, all with as many fields."""
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if not rows or not text.endswith("\n") or "\r" in text:
        raise ValueError("a CSV without a header, or without LF at the end of a line")
    if len({len(row) for row in rows}) != 1:
        raise ValueError("lines of the CSV with more and less fields")


class FakeSentinel(Server):
    """Settings may be changed at any time: what is accepted, and what is said of the keys for uploads."""

    def __init__(self, s3, token="secret-token", tls=None, behave=None, forms=FORMS, prefix="s3://bucket/prefix/x"):
        self.s3, self.token, self.forms, self.prefix = s3, token, forms, prefix
        self.lifetime_secs = 3600
        self.expiry_name = "expiration"  # or "expires_at", or None: not sent
        self.expiry_form = "Z"  # a key of EXPIRY_FORMS
        self.region = None  # sent with the keys
        self.has_credentials = True  # a registration may come without
        self.runs = {}
        self._key_count = 0
        super().__init__(tls=tls, behave=behave)

    def handle(self, request):
        try:
            return self._answer(200, self._route(request))
        except Refused as refused:
            if refused.is_violation:
                self.dislike(f"{request.method} {request.target}: {refused.status} {refused.detail}")
            return self._answer(refused.status, {"detail": refused.detail})

    @staticmethod
    def _answer(status, document):
        return Answer(status, [("Content-Type", "application/json")], json.dumps(document).encode())

    def _route(self, request):
        match = re.fullmatch(r"/runs(?:/([^/?]+)/(refresh-credentials|finish))?", request.target)
        if not match:
            raise Refused(404, "Not Found")
        if request.method != "POST":
            raise Refused(405, "Method Not Allowed")
        self._check_headers(request)
        run_id, verb = match.groups()
        if verb is None:
            return self._register(self._read_json(request, False))
        if run_id not in self.runs:
            raise Refused(404, "Run not found", is_violation=False)
        if verb == "finish":
            return self._finish(run_id, request)
        if request.body:
            raise unprocessable([], "extra_forbidden", "refresh-credentials takes no body")
        return {"upload_credentials": self._make_credentials(run_id)}

    def _check_headers(self, request):
        if request.all("Authorization") != [f"Bearer {self.token}"]:
            raise Refused(401, "Invalid token", is_violation=False)
        if request.all("Accept") != ["application/json"]:
            raise Refused(406, f"Accept {request.all('Accept')}")
        if not request.get("User-Agent").startswith("resource-tracker/"):
            raise Refused(400, f"User-Agent {request.all('User-Agent')}")
        if request.length is None:
            raise Refused(411, "no Content-Length")
        if request.body and request.all("Content-Type") != ["application/json"]:
            raise Refused(415, f"Content-Type {request.all('Content-Type')}")

    def _read_json(self, request, may_gzip):
        body = request.body
        if request.all("Content-Encoding"):
            if request.all("Content-Encoding") != ["gzip"] or not may_gzip:
                raise Refused(400, f"Content-Encoding {request.all('Content-Encoding')}")
            try:
                body = gzip.decompress(body)
            except (OSError, EOFError, zlib.error) as error:
                raise Refused(400, f"gzip: {error}") from error
        try:
            document = json.loads(body.decode("utf-8"), object_pairs_hook=no_twins, parse_constant=refuse_constant)
        except ValueError as error:
            raise unprocessable([], "json_invalid", f"JSON: {error}") from error
        if not isinstance(document, dict):
            raise unprocessable([], "dict_type", "the body is no object")
        return document

    def _register(self, body):
        check_fields(body, REGISTER, ())
        run_id = f"run-{len(self.runs) + 1}"
        self.runs[run_id] = {"run_id": run_id, "register": body, "finish": None, "finish_count": 0, "csv": None}
        answer = {"run_id": run_id, "upload_uri_prefix": self.prefix}
        if self.has_credentials:
            answer["upload_credentials"] = self._make_credentials(run_id)
        return answer

    def _make_credentials(self, run_id):
        self._key_count += 1
        access_key = f"ASIAFAKE{self._key_count:08d}"
        secret = base64.b64encode(secrets.token_bytes(30)).decode()
        token = base64.b64encode(secrets.token_bytes(300)).decode()
        expires = int(self.s3.now() + self.lifetime_secs)
        self.s3.add_key(access_key, secret, token, expires, scope=f"{self.prefix.removeprefix('s3://')}/{run_id}/")
        found = {"access_key": access_key, "secret_key": secret, "session_token": token}
        if self.expiry_name:
            when = datetime.datetime.fromtimestamp(expires, datetime.timezone.utc)
            found[self.expiry_name] = EXPIRY_FORMS[self.expiry_form](when)
        if self.region:
            found["region"] = self.region
        return found

    def _finish(self, run_id, request):
        run = self.runs[run_id]
        body = self._read_json(request, True)
        check_fields(body, FINISH, FINISH_NEEDED.get(str(body.get("data_source")), ("data_source",)))
        if "data_csv" in body and "data_uris" in body:
            raise unprocessable(["data_csv"], "extra_forbidden", "data_csv and data_uris")
        is_gzip = bool(request.all("Content-Encoding"))
        text = self._read_inline(body["data_csv"], is_gzip) if "data_csv" in body else None
        if text is None:
            self._check_uris(run_id, body["data_uris"])
        run["finish_count"] += 1
        if run["finish"] is not None:
            raise Refused(409, "The run is finished already", is_violation=False)
        run["finish"], run["csv"] = body, text
        return {"run_id": run_id, "status": body["run_status"]}

    def _read_inline(self, data, is_gzip):
        form = "plain"
        try:  # the header of a CSV has commas, which base64 does not know
            data, form = base64.b64decode(data, validate=True).decode("utf-8"), "base64"
        except (binascii.Error, ValueError):
            pass
        form += "-gzip" if is_gzip else ""
        if form not in self.forms:
            raise unprocessable(["data_csv"], "value_error", f"not as {form}", is_violation=form not in FORMS)
        try:
            check_csv(data)
        except (csv.Error, ValueError) as error:
            raise unprocessable(["data_csv"], "value_error", str(error)) from error
        return data

    def _check_uris(self, run_id, uris):
        directory = re.escape(f"{self.prefix}/{run_id}/")
        if len(set(uris)) != len(uris):
            raise unprocessable(["data_uris"], "value_error", "an object is named twice")
        for uri in uris:
            if not re.fullmatch(directory + r"\d{6}\.csv\.gz", uri):
                raise unprocessable(["data_uris"], "value_error", f"{uri} is no name for a batch")
            if self._object(uri) is None:
                raise unprocessable(["data_uris"], "value_error", f"{uri} is not there")
            try:
                check_csv(gzip.decompress(self._object(uri)).decode("utf-8"))
            except (OSError, EOFError, zlib.error, csv.Error, ValueError) as error:
                raise unprocessable(["data_uris"], "value_error", f"{uri}: {error}") from error

    def _object(self, uri):
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        return self.s3.objects.get(bucket, {}).get(key)

    def batch_uris(self, run_id):
        """Of all objects in the directory of a run, in order."""
        bucket, _, directory = f"{self.prefix}/{run_id}/".removeprefix("s3://").partition("/")
        return [f"s3://{bucket}/{key}" for key in sorted(self.s3.objects.get(bucket, {})) if key.startswith(directory)]

    def run_csv(self, run):
        """All that is known of a run (its id, or its entry in `runs`) as one CSV: the header once, and the rows.

        By the word of its finish; of a run that is not finished, what has been uploaded.
        """
        run = self.runs[run] if isinstance(run, str) else run
        finish = run["finish"] or {"data_uris": self.batch_uris(run["run_id"])}
        if "data_csv" in finish:
            return run["csv"]
        texts = [gzip.decompress(self._object(uri)).decode("utf-8") for uri in sorted(finish["data_uris"])]
        headers = {text.partition("\n")[0] for text in texts}
        if len(headers) > 1:
            raise ValueError(f"{run['run_id']}: batches with different headers")
        return "".join(f"{header}\n" for header in headers) + "".join(text.partition("\n")[2] for text in texts)


def main():
    with FakeS3() as s3, FakeSentinel(s3) as api:
        print(json.dumps({"api": api.url, "s3": s3.url, "token": api.token}), flush=True)
        sys.stdin.read()
        for words in s3.violations + api.violations:
            print(words, file=sys.stderr)


if __name__ == "__main__":
    main()
