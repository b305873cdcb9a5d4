"""That the store of these tests is one that a lake is safe in: one of two writers is refused."""

import hashlib
import hmac
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import product
from urllib.parse import urlsplit

import pytest
from stages import s3_stage

pytestmark = pytest.mark.heavy

RIVALS, KEYS = 4, 100


def signed(store, path, body, headers):
    """The headers of a PUT with AWS's signature, version 4."""
    moment = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    scope = [moment[:8], s3_stage.REGION, "s3", "aws4_request"]
    digest = hashlib.sha256(body).hexdigest()
    own = {
        **headers,
        "host": urlsplit(store.endpoint).netloc,
        "x-amz-content-sha256": digest,
        "x-amz-date": moment,
    }
    names = ";".join(sorted(own))
    lines = [f"{name}:{own[name]}" for name in sorted(own)]
    asked = hashlib.sha256("\n".join(["PUT", path, "", *lines, "", names, digest]).encode())
    key = f"AWS4{store.secret}".encode()
    text = "\n".join(["AWS4-HMAC-SHA256", moment, "/".join(scope), asked.hexdigest()])
    for part in [*scope, text]:
        key = hmac.digest(key, part.encode(), "sha256")
    given = f"{s3_stage.USER}/{'/'.join(scope)}, SignedHeaders={names}, Signature={key.hex()}"
    return {**own, "authorization": f"AWS4-HMAC-SHA256 Credential={given}"}


def put(store, path, body):
    """The status of a put that is refused where the key is there."""
    connection = HTTPConnection(urlsplit(store.endpoint).netloc)
    try:
        headers = signed(store, path, body, {"if-none-match": "*"})
        connection.request("PUT", path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_of_several_puts_of_a_key_that_may_not_be_there_one_is_taken(store):
    def race(which):
        key, rival = which
        path = f"/{store.bucket}/race/{key:020d}.json"
        return key, put(store, path, str(rival).encode() * 1000)

    with ThreadPoolExecutor(RIVALS) as rivals:
        answers = list(rivals.map(race, product(range(KEYS), range(RIVALS))))
    assert Counter(status for _, status in answers) == {200: KEYS, 412: KEYS * (RIVALS - 1)}
    assert len({key for key, status in answers if status == 200}) == KEYS
