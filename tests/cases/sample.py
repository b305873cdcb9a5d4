"""A sample of the cases for tests that take long with each: `make e2e` takes every case."""

import zlib
from collections.abc import Iterable

import pytest
from cases.language import Case

_ONE_IN = 6


def sampled(cases: Iterable[Case]) -> list:
    """The cases as parameters of a test; which ones are in the sample depends on their names."""
    return [pytest.param(case, id=case.prefix, marks=_marks(case)) for case in cases]


def _marks(case: Case) -> tuple:
    return () if zlib.crc32(case.prefix.encode()) % _ONE_IN == 0 else (pytest.mark.heavy,)
