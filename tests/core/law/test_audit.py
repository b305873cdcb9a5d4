"""Law 5 is asked before versions are committed."""

import pytest

from strandline.errors import AuditError
from strandline.law import audit


def versions(*rows):
    names = ("key", "seq_from", "seq_to", "valid_from", "valid_to")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def test_versions_that_follow_each_other_may_be_committed():
    audit.check(
        versions(
            ("a", "10", "20", 1, 2), ("a", "20", "30", 2, 2), ("a", "40", None, 5, None),
            ("b", "05", None, 1, None),
        ),
        "shop.orders",
    )  # fmt: skip


@pytest.mark.parametrize(
    "first",
    [
        ("a", "10", None, 1, None),
        ("a", "10", "30", 1, 2),
        ("a", "10", "20", 1, 3),
    ],
    ids=["is open", "ends behind the next one's position", "ends behind the next one's time"],
)
def test_a_version_that_is_followed_may_not_reach_beyond_the_next(first):
    with pytest.raises(AuditError, match=r"shop\.orders: .* nothing was committed"):
        audit.check(versions(first, ("a", "20", None, 2, None)), "shop.orders")
