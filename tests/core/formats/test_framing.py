"""Framings of keys and values: found by themselves, told by the source file, or broken."""

import zlib
from uuid import UUID

import pytest

from strandline.errors import UndecodableError
from strandline.formats.registry.framing import Framing, framed

GUID = UUID("89791762-2336-4186-9674-299b90a802e2")
EIGHT = (17).to_bytes(8)


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (b"\0\0\0\0\x11body", ("confluent:17", "apicurio-content:17")),
        (b"\1" + GUID.bytes + b"body", (f"guid:{GUID}",)),
        (b"\0" + EIGHT + b"body", ("apicurio-global:17",)),
        (b"\3\0" + GUID.bytes + b"body", (f"glue:{GUID}",)),
        (b"\3\5" + GUID.bytes + zlib.compress(b"body"), (f"glue:{GUID}",)),
    ],
)
@pytest.mark.parametrize("part", ["key", "value"])
def test_the_first_bytes_say_which_schema_a_part_has(data, ids, part):
    found = framed(data, part)
    assert (found.ids, found.body) == (ids, b"body")


@pytest.mark.parametrize(
    ("header", "told", "ids"),
    [
        ("__{}_schema_id", b"\1" + GUID.bytes, f"guid:{GUID}"),
        ("__{}_schema_id", b"\0\0\0\0\x11", "confluent:17"),
        ("apicurio.{}.globalId", EIGHT, "apicurio-global:17"),
        ("apicurio.{}.contentId", EIGHT, "apicurio-content:17"),
    ],
)
def test_a_header_of_a_part_says_its_schema_and_nothing_of_the_other_part(header, told, ids):
    for part, other in (("key", "value"), ("value", "key")):
        headers = [(header.format(part), told)]
        found = framed(b"\0body", part, headers)
        assert (found.ids, found.body) == ((ids,), b"\0body")
        assert framed(b"{}", other, headers) is None


def test_ids_of_two_headers_are_both_asked_for():
    headers = [("apicurio.key.contentId", EIGHT), ("apicurio.key.globalId", EIGHT)]
    assert framed(b"", "key", headers).ids == ("apicurio-global:17", "apicurio-content:17")
    said = Framing.APICURIO_CONTENT
    assert framed(b"", "key", headers, said).ids == ("apicurio-content:17",)


@pytest.mark.parametrize("data", [b"", b"{}", b" 1", b'"\x00"', b"5"])
def test_json_has_no_framing(data):
    assert framed(data, "value") is None


def test_what_a_source_file_says_decides_where_bytes_may_be_read_in_two_ways():
    data = b"\0\0\0\0\x11\0\0\0\x12body"
    assert framed(data, "value", (), Framing.CONFLUENT).ids == ("confluent:17",)
    assert framed(data, "value", (), Framing.APICURIO_CONTENT).ids == ("apicurio-content:17",)
    number = int.from_bytes(data[1:9])
    assert framed(data, "value", (), Framing.APICURIO_GLOBAL).ids == (f"apicurio-global:{number}",)
    assert framed(data, "value", (), Framing.NONE) is None
    with pytest.raises(UndecodableError, match="begins with 0, as no glue does"):
        framed(data, "value", (), Framing.GLUE)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0", "bad_framing"),
        (b"\0\0\0\1", "bad_framing"),
        (b"\0\0\0\0\0\0\0\1", "bad_framing"),
        (b"\1" + GUID.bytes[:15], "bad_framing"),
        (b"\3", "bad_framing"),
        (b"\3\5" + GUID.bytes + b"no zlib", "bad_framing"),
        (b"\3\5" + GUID.bytes + zlib.compress(b"body" * 99)[:-6], "bad_framing"),
        (b"\3\5" + GUID.bytes + zlib.compress(b"body") + b"more", "bad_framing"),
        (b"\3\7" + GUID.bytes + b"body", "bad_framing"),
    ],
)
def test_a_framing_that_is_cut_or_unknown_is_told(data, reason):
    with pytest.raises(UndecodableError) as told:
        framed(data, "value")
    assert told.value.reason == reason


def test_a_header_that_names_no_schema_is_told():
    for told in (b"", b"\1\2", b"17"):
        with pytest.raises(UndecodableError, match="bad_framing"):
            framed(b"body", "value", [("__value_schema_id", told)])
    with pytest.raises(UndecodableError, match="bad_framing"):
        framed(b"body", "value", [("apicurio.value.globalId", b"17")])
    with pytest.raises(UndecodableError, match="unsupported_format"):
        framed(b"{}", "key", [("apicurio.key.globalId", EIGHT), ("apicurio.key.encoding", b"JSON")])


def test_a_body_that_inflates_beyond_any_record_is_refused_before_it_is_whole():
    packing = zlib.compressobj(9)
    bomb = b"".join(packing.compress(bytes(1 << 20)) for _ in range(200)) + packing.flush()
    with pytest.raises(UndecodableError, match="too_large"):
        framed(b"\3\5" + GUID.bytes + bomb, "value")
