from datetime import timedelta

import pytest

from strandline.sources.duration import parse, shown


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("45m", 2_700), ("2h", 7_200), ("1d 12h", 129_600), (" 1h  5 m ", 3_900)],
)
def test_a_duration_is_written_with_its_units(text, seconds):
    assert parse(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "1.5h", "-1h", "2 weeks", "1h30", "0s", "99999999d"])
def test_what_is_no_duration_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"must be a duration.*" + (text or "''")):
        parse(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (-5, "0s"), (59.9, "59s"), (3_600, "1h"), (3_605, "1h"), (90_061, "1d 1h")],
)
def test_a_duration_is_shown_in_its_two_greatest_units(seconds, text):
    assert shown(timedelta(seconds=seconds)) == text
