# SPDX-License-Identifier: Apache-2.0
"""An S3 on loopback that takes no signature on trust: PUT and GET of objects, HEAD of buckets.

Every signature is computed anew from the request as it was received (AWS Signature Version 4, header form), and what
is wrong is answered with the status and the code of the real service. Buckets are found by path or by the host's first
label. Objects can be read in `objects`; that the same key never gets other bytes is watched.
"""

import datetime
import hashlib
import hmac
import re
import time
import urllib.parse
from xml.sax.saxutils import escape

from fake_http import Answer, Server

SKEW_SECS_MAX = 15 * 60
AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^,/]+)/(\d{8})/([^,/]*)/([^,/]*)/aws4_request, ?"
                           r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})")
SERVICE = "s3"


class Refused(Exception):
    """An error answer: status, code, message and further elements."""

    def __init__(self, status, code, message, **more):
        super().__init__(status, code, message)
        self.status, self.code, self.elements = status, code, {"Code": code, "Message": message, **more}


class Key:
    """An access key: its secret, the session token or None, when it expires (or None), and what it may touch."""

    def __init__(self, secret, token=None, expires=None, scope=""):
        self.secret, self.token, self.expires, self.scope = secret, token, expires, scope


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _encode(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def canonical_query(query):
    pairs = [part.partition("=")[::2] for part in query.split("&") if part]
    decoded = [(urllib.parse.unquote_to_bytes(name), urllib.parse.unquote_to_bytes(value)) for name, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted((_encode(name), _encode(value))
                                                                for name, value in decoded))


def canonical_request(request, signed, payload_hash):
    """The text that is hashed into the string to sign; the path is decoded and encoded as it should be."""
    path = _encode(urllib.parse.unquote_to_bytes(request.path), safe="/")
    lines = [name + ":" + ",".join(re.sub(" +", " ", value) for value in request.all(name)) for name in signed]
    return "\n".join([request.method, path, canonical_query(request.query), *lines, "", ";".join(signed), payload_hash])


def signature(secret, canonical, date, region):
    key = f"AWS4{secret}".encode()
    for part in (date[:8], region, SERVICE, "aws4_request"):
        key = _hmac(key, part)
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    return _hmac(key, f"AWS4-HMAC-SHA256\n{date}\n{date[:8]}/{region}/{SERVICE}/aws4_request\n{digest}").hex()


def read_date(text):
    """Seconds since 1970 of "20261115T093000Z"."""
    when = datetime.datetime.strptime(text, "%Y%m%dT%H%M%SZ")
    return when.replace(tzinfo=datetime.timezone.utc).timestamp()


class FakeS3(Server):
    """`expired_status` is 400, as of Amazon, or 403; `rewritable` are ends of keys that may get other bytes."""

    def __init__(self, buckets=("bucket",), region="eu-central-1", keys=None, tls=None, behave=None,
                 rewritable=("run.json",)):
        keys = {"AKID": ("secret", None)} if keys is None else keys
        self.region = region
        self.rewritable = rewritable
        self.expired_status = 400
        self.keys = {name: Key(*pair) for name, pair in keys.items()}
        self.objects = {bucket: {} for bucket in buckets}
        self.puts = []  # (bucket, key, hash of the body, content type, time)
        super().__init__(tls=tls, behave=behave)

    def add_key(self, access_key, secret, token=None, expires=None, scope=""):
        """expires: on the clock of now(); scope: the "bucket/prefix" that it is good for, "" for everything."""
        with self.lock:
            self.keys[access_key] = Key(secret, token, expires, scope)

    def expire_keys(self):
        """All keys with a session token have expired just now."""
        with self.lock:
            for key in self.keys.values():
                key.expires = self.now() if key.token else key.expires

    def handle(self, request):
        headers = [("x-amz-request-id", f"{request.number:016X}")]
        try:
            bucket, key = self._locate(request)
            if bucket in self.objects and key == "":
                headers.append(("x-amz-bucket-region", self.region))
            elif request.method == "HEAD":
                self._find_bucket(bucket)
            self._authenticate(request, bucket, key)
            return self._serve_object(request, bucket, key, headers)
        except Refused as refused:
            return self._refuse(request, refused, headers)

    def _refuse(self, request, refused, headers):
        elements = {**refused.elements, "Resource": request.path, "RequestId": f"{request.number:016X}"}
        inner = "".join(f"<{name}>{escape(str(text))}</{name}>" for name, text in elements.items())
        body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{inner}</Error>'.encode()
        return Answer(refused.status, [*headers, ("Content-Type", "application/xml")],
                      b"" if request.method == "HEAD" else body)

    def _locate(self, request):
        """Bucket and key; virtual-hosted where the host's first label is a bucket."""
        try:
            path = urllib.parse.unquote(request.path, errors="strict")[1:]
        except UnicodeDecodeError as error:
            raise Refused(400, "InvalidURI", "The path is no UTF-8.") from error
        label, _, rest = re.sub(r":\d+$", "", request.host).partition(".")
        if rest and not label.isdigit():
            return label, path
        bucket, _, key = path.partition("/")
        return bucket, key

    def _authenticate(self, request, bucket, object_key):
        if not request.all("Authorization"):
            raise Refused(403, "AccessDenied", "Access Denied")
        match = AUTHORIZATION.fullmatch(request.get("Authorization"))
        if not match or len(request.all("Authorization")) > 1:
            raise Refused(400, "AuthorizationHeaderMalformed", "The authorization header cannot be read.")
        access_key, day, region, service, signed, given = match.groups()
        key = self.keys.get(access_key)
        if key is None:
            raise Refused(403, "InvalidAccessKeyId", "There is no such access key.", AWSAccessKeyId=access_key)
        date = self._check_scope(request, day, region, service)
        self._check_signed_headers(request, signed.split(";"))
        self._check_token(request, key)
        self._check_signature(request, key, signed.split(";"), date, given)
        if not f"{bucket}/{object_key}".startswith(key.scope):
            self.dislike(f"{request.method} {request.target} with the key of {key.scope}")
            raise Refused(403, "AccessDenied", "Access Denied")

    def _check_scope(self, request, day, region, service):
        date = request.get("x-amz-date")
        if region != self.region:
            raise Refused(400, "AuthorizationHeaderMalformed", f"The region '{region}' is wrong.", Region=self.region)
        if service != SERVICE:
            raise Refused(400, "AuthorizationHeaderMalformed", f"The service '{service}' is wrong.")
        try:
            secs = read_date(date)
        except ValueError as error:
            raise Refused(403, "AccessDenied", "There is no x-amz-date that can be read.") from error
        if day != date[:8]:
            raise Refused(400, "AuthorizationHeaderMalformed", f"The date '{day}' is not that of x-amz-date.")
        if abs(self.now() - secs) > SKEW_SECS_MAX:
            raise Refused(403, "RequestTimeTooSkewed", "The clocks are too far apart.", RequestTime=date,
                          ServerTime=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now())),
                          MaxAllowedSkewMilliseconds=SKEW_SECS_MAX * 1000)
        return date

    @staticmethod
    def _check_signed_headers(request, signed):
        if signed != sorted(set(signed)):
            raise Refused(400, "AuthorizationHeaderMalformed", "The signed headers are not in order.")
        present = {name.lower() for name, _ in request.headers}
        loose = sorted(name for name in present - set(signed) if name == "host" or name.startswith("x-amz-"))
        if loose:
            raise Refused(403, "AccessDenied", "Some headers are not signed.",
                          HeadersNotSigned=", ".join(loose))

    def _check_token(self, request, key):
        tokens = request.all("x-amz-security-token")
        if key.token and not tokens:
            raise Refused(403, "InvalidAccessKeyId", "There is no such access key without a token.")
        if tokens != ([key.token] if key.token else []):
            raise Refused(400, "InvalidToken", "This is not the token of the key.")
        if key.expires is not None and self.now() >= key.expires:
            raise Refused(self.expired_status, "ExpiredToken", "The token has expired.")

    def _check_signature(self, request, key, signed, date, given):
        payload_hash = request.get("x-amz-content-sha256")
        if not payload_hash:
            raise Refused(400, "InvalidRequest", "There is no x-amz-content-sha256.")
        canonical = canonical_request(request, signed, payload_hash)
        if not hmac.compare_digest(signature(key.secret, canonical, date, self.region), given):
            raise Refused(403, "SignatureDoesNotMatch", "Another signature was expected.", CanonicalRequest=canonical)
        if payload_hash != hashlib.sha256(request.body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch", "The body has another hash.",
                          ClientComputedContentSHA256=payload_hash)

    def _find_bucket(self, bucket):
        if bucket not in self.objects:
            raise Refused(404, "NoSuchBucket", "There is no such bucket.", BucketName=bucket)
        return self.objects[bucket]

    def _serve_object(self, request, bucket, key, headers):
        objects = self._find_bucket(bucket)
        if request.method == "HEAD" and key == "":
            return Answer(200, headers)
        if request.method == "PUT" and key != "":
            return self._put(request, bucket, key, headers)
        if request.method in ("GET", "HEAD") and key != "":
            if key not in objects:
                raise Refused(404, "NoSuchKey", "There is no such object.", Key=key)
            return Answer(200, [*headers, ("ETag", self._etag(objects[key]))],
                          objects[key] if request.method == "GET" else b"")
        raise Refused(405, "MethodNotAllowed", "This cannot be done here.")

    @staticmethod
    def _etag(body):
        return f'"{hashlib.md5(body).hexdigest()}"'

    def _put(self, request, bucket, key, headers):
        if request.length is None:
            raise Refused(411, "MissingContentLength", "There is no Content-Length.")
        if len(key.encode()) > 1024:
            raise Refused(400, "KeyTooLongError", "A key has 1024 bytes at most.")
        before = self.objects[bucket].get(key, request.body)
        if before != request.body and not key.endswith(self.rewritable):
            self.dislike(f"PUT of other bytes to {bucket}/{key}: {len(before)} and then {len(request.body)}")
        self.objects[bucket][key] = request.body
        digest = hashlib.sha256(request.body).hexdigest()
        self.puts.append((bucket, key, digest, request.get("Content-Type"), time.time()))
        return Answer(200, [*headers, ("ETag", self._etag(request.body))])
