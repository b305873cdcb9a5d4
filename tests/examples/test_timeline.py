"""Timelines as data: what stands on which lane, in which column."""

from strandline.timelines.timeline import Move, Opened, related, timeline

KEY = ("code",)


def row(code, **values):
    return {"code": code, **values}


def test_an_open_version_has_no_end(version):
    drawn = timeline([version(row("A", percent=1), 10)], KEY)

    assert [(bar.lane, bar.start, bar.end) for bar in drawn.bars] == [(0, 0, None)]


def test_columns_are_positions_not_clocks(version):
    """A thousand seconds and a microsecond are one column each."""
    later = 1_000_000_000
    drawn = timeline(
        [
            version(row("A", percent=1), 10, 11, "update"),
            version(row("A", percent=2), 11, later, "update", op="u"),
            version(row("A", percent=3), later, op="u"),
        ],
        KEY,
    )

    assert [(bar.start, bar.end) for bar in drawn.bars] == [(0, 1), (1, 2), (2, None)]
    assert drawn.columns == 3


def test_a_gap_between_a_delete_and_the_next_create_is_left_empty(version):
    drawn = timeline(
        [version(row("A"), 10, 20, "delete"), version(row("B"), 25), version(row("A"), 30)], KEY
    )

    assert drawn.lanes == ("A", "B")
    assert [(bar.lane, bar.start, bar.end) for bar in drawn.bars] == [
        (0, 0, 1),
        (1, 2, None),
        (0, 3, None),
    ]


def test_the_rows_of_a_snapshot_share_a_column(version):
    reads = [version(row(code), number, op="r") for number, code in enumerate("CAB", 10)]
    drawn = timeline([*reads, version(row("D"), 20)], KEY)

    assert drawn.lanes == ("A", "B", "C", "D")
    assert [bar.start for bar in drawn.bars] == [0, 0, 0, 1]


def test_a_truncate_is_one_fence_across_the_lanes_it_closed(version):
    drawn = timeline(
        [version(row("A"), 10, 30, "truncate"), version(row("B"), 20, 30, "truncate")], KEY
    )

    assert drawn.fences == (2,)
    assert {bar.end for bar in drawn.bars} == {2}


def test_the_halves_of_a_move_are_one_column_and_an_arrow_back_is_drawn_too(version):
    rows = [
        version(row("5", status="new"), 10, 20, "key_move", moved_to={"code": "905"}),
        version(row("905", status="new"), 21, 30, "update", moved_from={"code": "5"}),
        version(row("905", status="moved"), 30, 40, "key_move", op="u", moved_to={"code": "5"}),
        version(row("5", status="moved"), 41, moved_from={"code": "905"}),
    ]

    drawn = timeline(rows, KEY)

    assert drawn.lanes == ("5", "905")
    assert drawn.moves == (Move(1, 0, 1), Move(3, 1, 0))
    assert [(bar.start, bar.end) for bar in drawn.bars] == [(0, 1), (1, 2), (2, 3), (3, None)]
    assert [bar.opened for bar in drawn.bars] == [
        Opened.CREATE,
        Opened.KEY_MOVE,
        Opened.UPDATE,
        Opened.KEY_MOVE,
    ]


def test_a_move_from_a_key_that_is_not_shown_has_no_arrow(version):
    drawn = timeline([version(row("B"), 21, moved_from={"code": "A"})], KEY)

    assert drawn.moves == ()
    assert drawn.bars[0].opened is Opened.KEY_MOVE


def test_a_bar_tells_what_its_version_changed(version):
    drawn = timeline(
        [
            version(row("A", percent="1.00", starts=None, name="x"), 10, 20, "update"),
            version(row("A", percent="2.00", starts=None, name="x"), 20, op="u"),
        ],
        KEY,
    )

    assert [bar.news for bar in drawn.bars] == [
        (("percent", "1.00"), ("name", "x")),
        (("percent", "2.00"),),
    ]


def test_numeric_keys_stand_in_the_order_of_numbers(version):
    reads = [version({"id": number}, 10 + number, op="r") for number in (10, 9, 2)]

    assert timeline(reads, ("id",)).lanes == ("2", "9", "10")


def test_a_timeline_of_nothing_is_empty():
    assert timeline([], KEY).bars == ()


def test_related_follows_moves_in_both_directions(version):
    rows = [
        version(row("A"), 10, 20, "key_move", moved_to={"code": "B"}),
        version(row("B"), 21, 30, "key_move", moved_from={"code": "A"}, moved_to={"code": "C"}),
        version(row("C"), 31, moved_from={"code": "B"}),
        version(row("D"), 40),
    ]

    assert [each["code"] for each in related(rows, KEY, {"code": "B"})] == ["A", "B", "C"]
