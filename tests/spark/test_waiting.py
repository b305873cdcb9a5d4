"""The halves of key moves that wait for their other half, as a run leaves them to the next."""

from strandline_spark.link import still_out


def test_halves_that_have_met_are_forgotten_and_the_others_stay():
    assert still_out({"met": 1, "still": 1}, {"met": 0, "new": 2}) == {"still": 1, "new": 2}


def test_a_table_whose_moves_are_all_halves_does_not_lengthen_its_commits_for_ever():
    waited = {f"old-{number}": 1 for number in range(900)}
    left = still_out(waited, {f"new-{number}": 1 for number in range(900)})
    assert len(left) == 1_000
    assert left.items() >= waited.items()
