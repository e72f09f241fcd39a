#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fakes that the tests of streaming trust: S3 against botocore's signatures, and Sentinel's schema."""

import base64
import gzip
import hashlib
import http.client
import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.parse

import lib  # noqa: F401, finds those that follow
import net_faults
import tap
from fake_s3 import FakeS3
from fake_sentinel import FORMS, FakeSentinel
from tap import Skip, equal, expect, test

FAKE = pathlib.Path(__file__).resolve().parents[1] / "fake"

try:
    import botocore.auth
    import botocore.awsrequest
    import botocore.config
    import botocore.credentials
    import botocore.session
except ImportError:
    botocore = None

KEYS = {"AKID": ("secret", None), "ASIA": ("other/secret+", "token/with+signs==")}
CSV = "timestamp,a\n1,2\n3,4\n"
END = {"exit_code": 0, "run_status": "finished", "finished_at": "2026-11-15T09:30:00Z"}


def send(port, method, target, headers=(), body=None):
    """One request on a connection of its own: the answer and its body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request(method, target, body, dict(headers))
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def sign(s3, target, method="PUT", body=b"content", key="AKID", secret=None, token=None, region=None, headers=()):
    """The headers of a request as botocore signs it."""
    if botocore is None:
        raise Skip("python3-botocore is not installed")
    secret, token = secret or KEYS[key][0], token or KEYS[key][1]
    request = botocore.awsrequest.AWSRequest(method, s3.url + target, data=body, headers=dict(headers))
    botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(key, secret, token), "s3",
                              region or s3.region).add_auth(request)
    return {name: value if isinstance(value, str) else value.decode() for name, value in request.headers.items()}


def put(s3, target, body=b"content", sent=None, more=(), **how):
    """A signed PUT; sent is another body than the signed one, more are headers behind the signature's back."""
    signed = {**sign(s3, target, body=body, **how), **dict(more)}
    answer, text = send(s3.port, "PUT", target, signed, body if sent is None else sent)
    return answer, text.decode()


def accepted(target, key, headers=(), name="AKID"):
    with FakeS3(keys=KEYS) as s3:
        answer, text = put(s3, target, key=name, headers=headers)
        equal((answer.status, text), (200, ""), "answer")
        equal(s3.objects, {"bucket": {key: b"content"}}, "objects")
        equal([row[:3] for row in s3.puts], [("bucket", key, hashlib.sha256(b"content").hexdigest())], "puts")
        equal(s3.requests, [("PUT", f"127.0.0.1:{s3.port}", target, 200)], "requests")
        equal(s3.violations, [], "violations")


GOOD = (
    ("plain", "/bucket/a/000000.csv.gz", "a/000000.csv.gz"),
    ("a blank", "/bucket/a%20b", "a b"),
    ("a plus", "/bucket/a%2Bb", "a+b"),
    ("unicode", "/bucket/%C3%BC/%E6%97%A5", "ü/日"),
    ("a tilde", "/bucket/~a~", "~a~"),
    ("two slashes and dots", "/bucket/a//b/./c/../d", "a//b/./c/../d"),
    ("a query", "/bucket/a?x=%20b&a=&X=1&x=%20a", "a"),
    ("a content type", "/bucket/a", "a", {"Content-Type": "application/gzip"}),
    ("blanks in a header", "/bucket/a", "a", {"x-amz-meta-a": "b   c"}),
    ("a session token", "/bucket/a", "a", {}, "ASIA"),
)
for row in GOOD:
    tap.add(f"S3 accepts {row[0]}", accepted, *row[1:])


def refused(status, code, extra, change, **how):
    with FakeS3(keys=KEYS) as s3:
        change(s3)
        answer, text = put(s3, "/bucket/a", **how)
        equal((answer.status, text.partition("<Code>")[2].partition("</Code>")[0]), (status, code), "answer")
        expect(extra in text, "lacks", extra, text)
        equal((s3.objects, s3.puts), ({"bucket": {}}, []), "objects")


def skew(secs):
    return lambda s3: setattr(s3, "skew_secs", secs)


def expire(status):
    def change(s3):
        s3.expired_status = status
        s3.expire_keys()

    return change


def same(_s3):
    pass


BAD = (
    ("a wrong secret", 403, "SignatureDoesNotMatch", "", same, {"secret": "wrong"}),
    ("an unknown key", 403, "InvalidAccessKeyId", "<AWSAccessKeyId>UNKNOWN<", same,
     {"key": "UNKNOWN", "secret": "a", "token": "b"}),
    ("a body that was changed", 400, "XAmzContentSHA256Mismatch", "", same, {"sent": b"Content"}),
    ("a token that was changed", 400, "InvalidToken", "", same,
     {"key": "ASIA", "more": {"X-Amz-Security-Token": "token/with+sign=="}}),
    ("another key's token", 400, "InvalidToken", "", same, {"key": "AKID", "token": "b"}),
    ("a header that is not signed", 403, "AccessDenied", "<HeadersNotSigned>x-amz-acl<", same,
     {"more": {"x-amz-acl": "public-read"}}),
    ("a signed header that was changed", 403, "SignatureDoesNotMatch", "", same,
     {"headers": {"Content-Type": "application/gzip"}, "more": {"Content-Type": "text/plain"}}),
    ("a hash that was changed", 403, "SignatureDoesNotMatch", "", same,
     {"sent": b"Content", "more": {"X-Amz-Content-SHA256": hashlib.sha256(b"Content").hexdigest()}}),
    ("a clock that is behind", 403, "RequestTimeTooSkewed", "<ServerTime>", skew(16 * 60), {}),
    ("a clock that is ahead", 403, "RequestTimeTooSkewed", "<ServerTime>", skew(-16 * 60), {}),
    ("another region", 400, "AuthorizationHeaderMalformed", "<Region>eu-central-1<", same, {"region": "us-east-1"}),
    ("an expired token", 400, "ExpiredToken", "", expire(400), {"key": "ASIA"}),
    ("an expired token with 403", 403, "ExpiredToken", "", expire(403), {"key": "ASIA"}),
)
for title, *want, how in BAD:
    tap.add(f"S3 refuses {title}", lambda want, how: refused(*want, **how), want, how)


@test
def S3_refuses_buckets_that_are_not_there_and_what_is_not_signed():
    with FakeS3() as s3:
        equal(put(s3, "/other/a")[0].status, 404, "another bucket")
        answer, text = send(s3.port, "PUT", "/bucket/a", body=b"a")
        expect(answer.status == 403 and b"<Code>AccessDenied</Code>" in text, "unsigned", text)
        answer, text = send(s3.port, "PUT", "/bucket/a", {"Authorization": "AWS4-HMAC-SHA256 Credential=AKID"}, b"a")
        expect(answer.status == 400 and b"<Code>AuthorizationHeaderMalformed</Code>" in text, "half a header", text)
        equal(s3.objects, {"bucket": {}}, "objects")


@test
def S3_names_the_region_of_a_bucket_without_a_key():
    with FakeS3(buckets=("bucket", "two"), region="sa-east-1") as s3:
        for target, headers in (("/bucket", {}), ("/two/", {}), ("/", {"Host": "two.s3.amazonaws.com"})):
            answer, text = send(s3.port, "HEAD", target, headers)
            equal((answer.status, answer.getheader("x-amz-bucket-region"), text), (403, "sa-east-1", b""), target)
        answer, _ = send(s3.port, "HEAD", "/none")
        equal((answer.status, answer.getheader("x-amz-bucket-region")), (404, None), "no bucket")
        answer, _ = send(s3.port, "HEAD", "/bucket", sign(s3, "/bucket", "HEAD", b""))
        equal((answer.status, answer.getheader("x-amz-bucket-region")), (200, "sa-east-1"), "signed")


@test
def S3_notices_other_bytes_under_the_same_key():
    with FakeS3() as s3:
        for body in (b"one", b"one", b"two"):
            put(s3, "/bucket/a", body)
            put(s3, "/bucket/run.json", body)
        equal([row[1] for row in s3.puts], ["a", "run.json"] * 3, "puts")
        equal(s3.violations, ["PUT of other bytes to bucket/a: 3 and then 3"], "violations")


@test
def S3_works_with_the_client_of_botocore():
    if botocore is None:
        raise Skip("python3-botocore is not installed")
    with FakeS3(keys=KEYS) as s3:
        secret, token = KEYS["ASIA"]
        client = botocore.session.get_session().create_client(
            "s3", s3.region, endpoint_url=s3.url, aws_access_key_id="ASIA", aws_secret_access_key=secret,
            aws_session_token=token, config=botocore.config.Config(s3={"addressing_style": "path"}, retries={
                "max_attempts": 0}))
        client.put_object(Bucket="bucket", Key="a b+c~ü/d", Body=b"bytes", ContentType="application/gzip")
        equal(client.get_object(Bucket="bucket", Key="a b+c~ü/d")["Body"].read(), b"bytes", "object")
        equal(client.head_bucket(Bucket="bucket")["ResponseMetadata"]["HTTPStatusCode"], 200, "bucket")
        equal(s3.puts[0][3], "application/gzip", "type")
        equal((s3.violations, s3.connections), ([], 1), "violations and connections")
        client.close()


class Api:
    """A client of the fake Sentinel that does everything right, unless asked otherwise."""

    def __init__(self, api):
        self.api = api
        self.headers = {"Authorization": f"Bearer {api.token}", "Accept": "application/json",
                        "Content-Type": "application/json", "User-Agent": "resource-tracker/1.0"}

    def post(self, target, document=None, is_gzip=False, **headers):
        """Status and JSON; a header of None is left out, a document of bytes is sent as it is."""
        body = document if isinstance(document, bytes) else b"" if document is None else json.dumps(document).encode()
        merged = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if is_gzip:
            merged["Content-Encoding"], body = "gzip", gzip.compress(body)
        merged = {name: value for name, value in merged.items() if value is not None}
        answer, text = send(self.api.port, "POST", target, merged, body)
        return answer.status, json.loads(text)

    def upload(self, s3, name, text, credentials, run_id="run-1"):
        keys = credentials["upload_credentials"]
        return put(s3, f"/bucket/prefix/x/{run_id}/{name}", gzip.compress(text.encode()), key=keys["access_key"],
                   secret=keys["secret_key"], token=keys["session_token"])[0].status


REGISTER_GOOD = (
    {}, {"job_name": "a", "team": "b"}, {"tags": {"a": "b", "c": ""}}, {"command": '["make", "-j8"]'},
    {"host_vcpus": 8, "host_storage_gb": 1.5, "host_gpu_count": 0, "host_server_allocation": "shared"},
    {"cloud_vendor_id": "aws", "cloud_instance_type": "m7g.large"},
)
REGISTER_BAD = (
    {"pid": 1}, {"run_id": "a"}, {"Job_name": "a"}, {"job_name": ""}, {"job_name": None}, {"job_name": 1}, {"tags": {}},
    {"tags": ["a"]}, {"tags": {"a": 1}}, {"command": ["make"]}, {"command": "make"}, {"command": "[1]"},
    {"host_vcpus": "8"}, {"host_vcpus": 1.5}, {"host_vcpus": True}, {"host_vcpus": -1}, {"host_storage_gb": "1"},
    {"host_server_allocation": "mine"}, [], b"{", b'{"team":"a","team":"b"}', b'{"host_storage_gb":NaN}', b"\xff", b"",
)


@test
def Sentinel_checks_a_registration():
    with FakeS3() as s3, FakeSentinel(s3) as api:
        client = Api(api)
        for number, document in enumerate(REGISTER_GOOD, 1):
            status, answer = client.post("/runs", document)
            equal((status, answer.get("run_id")), (200, f"run-{number}"), document)
            equal(api.runs[f"run-{number}"]["register"], document, "kept")
        equal(api.violations, [], "violations")
        for number, document in enumerate(REGISTER_BAD, 1):
            status, answer = client.post("/runs", document)
            equal((status, len(api.violations)), (422, number), document)
            expect(all({"type", "loc", "msg"} <= set(part) for part in answer["detail"]), "detail", answer)
        equal(len(api.runs), len(REGISTER_GOOD), "runs")


@test
def Sentinel_checks_headers_and_paths():
    with FakeS3() as s3, FakeSentinel(s3) as api:
        client = Api(api)
        for status, headers in ((401, {"Authorization": None}), (401, {"Authorization": "Bearer secret-tokem"}),
                                (401, {"Authorization": "secret-token"}), (406, {"Accept": None}),
                                (406, {"Accept": "*/*"}), (415, {"Content_Type": "text/plain"}),
                                (415, {"Content_Type": None}), (400, {"User_Agent": "curl/8"}),
                                (400, {"Content_Encoding": "gzip"})):
            equal(client.post("/runs", {}, **headers)[0], status, headers)
        equal(len(api.violations), 6, "violations: a wrong token is none")
        for status, target in ((404, "/runs/"), (404, "/run"), (404, "/runs?a"), (404, "/runs/run-1/finish")):
            equal(client.post(target, {})[0], status, target)
        equal(send(api.port, "GET", "/runs", client.headers)[0].status, 405, "GET")
        equal(api.runs, {}, "runs")
        equal(api.requests[0], ("POST", f"127.0.0.1:{api.port}", "/runs", 401), "requests")


@test
def Sentinel_gives_keys_that_work_and_expire():
    with FakeS3() as s3, FakeSentinel(s3) as api:
        client = Api(api)
        _, run = client.post("/runs", {})
        equal(run["upload_uri_prefix"], "s3://bucket/prefix/x", "prefix")
        equal(sorted(run["upload_credentials"]), ["access_key", "expiration", "secret_key", "session_token"], "keys")
        equal(client.upload(s3, "000000.csv.gz", CSV, run), 200, "upload")
        equal(client.upload(s3, "000000.csv.gz", CSV, run, "run-2"), 403, "upload for another run")
        equal(client.post("/runs/run-1/refresh-credentials", {})[0], 422, "refresh with a body")
        api.expiry_name, api.expiry_form, api.region, api.lifetime_secs = "expires_at", "offset", "eu-central-1", 0
        status, fresh = client.post("/runs/run-1/refresh-credentials")
        equal((status, fresh["upload_credentials"]["region"]), (200, "eu-central-1"), "refresh")
        expect(fresh["upload_credentials"]["expires_at"].endswith("+05:30"), fresh)
        equal(client.upload(s3, "000001.csv.gz", CSV, fresh), 400, "upload with keys that are over")
        equal(client.upload(s3, "000001.csv.gz", CSV, run), 200, "upload with keys that are not")


def packed(text, form):
    data = base64.b64encode(text.encode()).decode() if form.startswith("base64") else text
    return {**END, "data_source": "inline", "data_csv": data}, form.endswith("-gzip")


@test
def Sentinel_takes_inline_data_in_the_forms_that_it_is_set_to():
    with FakeS3() as s3, FakeSentinel(s3) as api:
        client = Api(api)
        for number, form in enumerate(sorted(FORMS), 1):
            client.post("/runs", {})
            api.forms = {form}
            for other in sorted(FORMS - {form}):
                equal(client.post(f"/runs/run-{number}/finish", *packed(CSV, other))[0], 422, f"{other} for {form}")
            equal(api.runs[f"run-{number}"]["finish_count"], 0, "not finished yet")
            equal(client.post(f"/runs/run-{number}/finish", *packed(CSV, form))[0], 200, form)
            equal(client.post(f"/runs/run-{number}/finish", *packed(CSV, form))[0], 409, f"{form}, again")
            equal((api.run_csv(f"run-{number}"), api.runs[f"run-{number}"]["finish_count"]), (CSV, 2), form)
        equal(api.violations, [], "violations")


FINISH_BAD = (
    {}, END, {**END, "data_source": "s3"}, {**END, "data_source": "inline"}, {**END, "data_csv": CSV},
    {**END, "data_source": "ftp", "data_csv": CSV}, {**END, "data_source": "s3", "data_uris": []},
    {**END, "data_source": ["s3"], "data_csv": CSV},
    *({**END, "data_source": "inline", "data_csv": text} for text in ("", "a,b", "a,b\n1\n", "a,b\r\n", 5, [CSV])),
    *({**END, "data_source": "inline", "data_csv": CSV, **wrong} for wrong in (
        {"exit_code": "0"}, {"exit_code": None}, {"run_status": "done"}, {"finished_at": "2026-11-15 09:30:00"},
        {"finished_at": "2026-13-15T09:30:00Z"}, {"finished_at": 5}, {"pid": 1},
        {"data_uris": ["s3://bucket/prefix/x/run-1/000000.csv.gz"]})),
    *({**END, "data_source": "s3", "data_uris": [f"s3://bucket/prefix/x/{name}" for name in names]} for names in (
        ["run-1/000009.csv.gz"], ["run-1/000000.csv.gz", "run-1/000000.csv.gz"], ["run-1/0.csv.gz"],
        ["run-2/000000.csv.gz"], ["run-1/000001.csv.gz"], ["run-1/000002.csv.gz"])),
    *({**END, "data_source": "s3", "data_uris": [uri]} for uri in ("s3://two/a", "000000.csv.gz", 5)),
)


@test
def Sentinel_checks_a_finish():
    with FakeS3() as s3, FakeSentinel(s3) as api:
        client = Api(api)
        client.post("/runs", {})
        s3.objects["bucket"].update({
            "prefix/x/run-1/000000.csv.gz": gzip.compress(CSV.encode()), "prefix/x/run-1/000001.csv.gz": b"no gzip",
            "prefix/x/run-1/000002.csv.gz": gzip.compress(b"a,b\n1,2\n1,2,3\n"),
            "prefix/x/run-1/0.csv.gz": gzip.compress(CSV.encode())})
        for number, document in enumerate(FINISH_BAD, 1):
            equal((client.post("/runs/run-1/finish", document)[0], len(api.violations)), (422, number), document)
        equal(client.post("/runs/run-1/finish", b"\x1f\x8b\x08", Content_Encoding="gzip")[0], 400, "broken gzip")
        expect(not any("broke:" in words for words in api.violations), api.violations)
        equal((api.runs["run-1"]["finish"], api.runs["run-1"]["finish_count"]), (None, 0), "run")
        for code in (None, 0, -9, 255):
            client.post("/runs", {})
            document = {**END, "exit_code": code, "data_source": "inline", "data_csv": CSV}
            if code is None:
                del document["exit_code"]
            equal(client.post(f"/runs/run-{len(api.runs)}/finish", document)[0], 200, code)


@test
def Sentinel_puts_the_batches_of_a_run_together():
    with FakeS3() as s3, FakeSentinel(s3) as api:
        client = Api(api)
        _, run = client.post("/runs", {})
        for number, text in ((1, "a,b\n5,6\n"), (0, "a,b\n1,2\n3,4\n"), (2, "a,b\n")):
            equal(client.upload(s3, f"{number:06d}.csv.gz", text, run), 200, number)
        equal(api.run_csv("run-1"), "a,b\n1,2\n3,4\n5,6\n", "before the finish")
        uris = [f"s3://bucket/prefix/x/run-1/{number:06d}.csv.gz" for number in (1, 0)]
        equal(client.post("/runs/run-1/finish", {**END, "data_source": "s3", "data_uris": uris})[0], 200, "finish")
        equal(api.run_csv(api.runs["run-1"]), "a,b\n1,2\n3,4\n5,6\n", "after it")
        equal((s3.violations, api.violations), ([], []), "violations")


@test
def nothing_that_looks_like_success_hides_a_request_without_effect():
    for fault in net_faults.all_faults(0.05):
        with FakeS3(behave=lambda request, fault=fault: fault) as s3:
            signed = sign(s3, "/bucket/a")
            try:
                status = send(s3.port, "PUT", "/bucket/a", signed, b"content")[0].status
            except (OSError, http.client.HTTPException, ValueError):
                continue
            expect(status != 200 or s3.objects["bucket"] == {"a": b"content"}, fault, status)


@test
def connections_are_kept_and_threads_end():
    before = threading.active_count()
    with FakeS3() as s3, FakeSentinel(s3) as api:
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=5)
        for _ in range(3):
            connection.request("POST", "/runs", b"{}", Api(api).headers)
            equal(json.loads(connection.getresponse().read())["upload_uri_prefix"], "s3://bucket/prefix/x", "answer")
        equal((api.connections, len(api.runs)), (1, 3), "connections and runs")
        api.behave = lambda request: net_faults.BlackHole()
        connection.request("POST", "/runs", b"{}", Api(api).headers)
        start = time.monotonic()
    equal(threading.active_count(), before, "threads")
    expect(time.monotonic() - start < 2, "took", time.monotonic() - start)
    connection.close()


@test
def the_command_prints_addresses_and_ends_with_stdin():
    with subprocess.Popen([sys.executable, FAKE / "fake_sentinel.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        found = json.loads(process.stdout.readline())
        equal(sorted(found), ["api", "s3", "token"], "keys")
        port = urllib.parse.urlsplit(found["api"]).port
        headers = {"Authorization": f"Bearer {found['token']}", "Accept": "application/json", "User-Agent": "curl"}
        equal(send(port, "POST", "/runs", headers, b"{}")[0].status, 400, "answer")
        process.stdin.close()
        equal(process.wait(5), 0, "exit code")
        expect("User-Agent" in process.stderr.read(), "the violation is reported")


if __name__ == "__main__":
    tap.main()
