# SPDX-License-Identifier: Apache-2.0
"""Where AWS tools get temporary keys, on loopback: the role of an instance (IMDSv2), the endpoint of a container, and
AssumeRoleWithWebIdentity of STS.

Every answer hands out a new key, which the given fake S3 knows from then on. Nothing is given to those who do not
bring the token of the service.
"""

import datetime
import json
import re
import secrets
import urllib.parse
from xml.sax.saxutils import escape

from fake_http import Answer, Server

ROLE = "tracker-role"
IDENTITY_ROLE = "arn:aws:iam::123456789012:role/tracker"
TTL_MAX_SECS = 21600
STS = """<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <SubjectFromWebIdentityToken>system:serviceaccount:default:tracker</SubjectFromWebIdentityToken>
    <AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/tracker/x</Arn></AssumedRoleUser>
    <Credentials>
      <AccessKeyId>{AccessKeyId}</AccessKeyId>
      <SecretAccessKey>{SecretAccessKey}</SecretAccessKey>
      <SessionToken>{Token}</SessionToken>
      <Expiration>{Expiration}</Expiration>
    </Credentials>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>c6104cbe-af31-11e0-8154-cbc7ccf896c7</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>
"""


class FakeAws(Server):
    """`handed` has the source ("instance", "container" or "sts") of every key that was given out."""

    def __init__(self, s3, lifetime_secs=3600, behave=None):
        self.s3, self.lifetime_secs = s3, lifetime_secs
        self.region = "eu-central-1"  # of the instance
        self.container_token = f"container-{secrets.token_hex(12)}"
        self.identity_token = f"identity.{secrets.token_urlsafe(60)}+/="
        self.handed = []
        self._tokens = set()
        super().__init__(behave=behave)

    def handle(self, request):
        routes = {"/latest/api/token": self._make_token, "/container/keys": self._container, "/": self._sts}
        route = routes.get(request.target)
        if route is None:
            route = self._instance if request.target.startswith("/latest/meta-data/") else self._nothing
        return route(request)

    def _nothing(self, request):
        self.dislike(f"{request.method} {request.target}")
        return Answer(404)

    def _hand_out(self, source):
        access_key = f"ASIA{source.upper()}{len(self.handed):04d}"
        secret, token = secrets.token_urlsafe(30), secrets.token_urlsafe(200) + "=="
        expires = int(self.s3.now() + self.lifetime_secs)
        self.s3.add_key(access_key, secret, token, expires)
        self.handed.append(source)
        when = datetime.datetime.fromtimestamp(expires, datetime.timezone.utc)
        return {"AccessKeyId": access_key, "SecretAccessKey": secret, "Token": token,
                "Expiration": when.strftime("%Y-%m-%dT%H:%M:%SZ")}

    def _make_token(self, request):
        life = request.get("X-aws-ec2-metadata-token-ttl-seconds")
        if request.method != "PUT" or not re.fullmatch(r"[0-9]{1,5}", life) or not 1 <= int(life) <= TTL_MAX_SECS:
            return self._nothing(request)
        token = secrets.token_urlsafe(40) + "=="
        self._tokens.add(token)
        return Answer(200, [("Content-Type", "text/plain")], token.encode())

    def _instance(self, request):
        if request.method != "GET" or request.get("X-aws-ec2-metadata-token") not in self._tokens:
            self.dislike(f"{request.method} {request.target} without a token")
            return Answer(401)
        directory = "/latest/meta-data/iam/security-credentials/"
        if request.target == "/latest/meta-data/placement/region":
            return Answer(200, body=self.region.encode()) if self.region else Answer(404)
        if request.target == directory:
            return Answer(200, body=ROLE.encode())
        if request.target == directory + ROLE:
            found = {"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2026-01-01T00:00:00Z"}
            return self._json({**found, **self._hand_out("instance")})
        return self._nothing(request)

    def _container(self, request):
        if request.method != "GET" or request.all("Authorization") != [self.container_token]:
            return Answer(401)
        return self._json({**self._hand_out("container"), "RoleArn": IDENTITY_ROLE})

    @staticmethod
    def _json(document):
        return Answer(200, [("Content-Type", "application/json")], json.dumps(document, indent=2).encode())

    def _sts(self, request):
        form = dict(urllib.parse.parse_qsl(request.body.decode(), strict_parsing=True))
        wanted = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": IDENTITY_ROLE}
        if request.method != "POST" or request.all("Content-Type") != ["application/x-www-form-urlencoded"]:
            return self._nothing(request)
        if {name: form.get(name) for name in wanted} != wanted or request.all("Authorization"):
            return self._nothing(request)
        if not re.fullmatch(r"[\w+=,.@-]{2,64}", form.get("RoleSessionName", "")):
            return self._nothing(request)
        if form.get("WebIdentityToken") != self.identity_token:
            error = "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code>" \
                    "<Message>The token is not known.</Message></Error></ErrorResponse>"
            return Answer(400, [("Content-Type", "text/xml")], error.encode())
        keys = {name: escape(value) for name, value in self._hand_out("sts").items()}
        return Answer(200, [("Content-Type", "text/xml")], STS.format(**keys).encode())
