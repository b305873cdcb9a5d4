"""What the demo prints."""

from rich.console import Console

from examples.tally import tally
from examples.terminal import numbers, picture
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.timelines.timeline import timeline

KEY = ("code",)


def printed(renderable, width=80):
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(renderable, soft_wrap=True)
    return captured.get()


def test_a_timeline_shows_moves_deletes_and_what_is_still_open(version):
    rows = [
        version({"code": "A", "percent": 1}, 10, 20, "key_move", moved_to={"code": "B"}),
        version({"code": "B", "percent": 1}, 21, 30, "delete", moved_from={"code": "A"}),
        version({"code": "C", "percent": 3}, 40),
    ]

    lines = printed(picture(timeline(rows, KEY), width=80)).splitlines()

    assert lines[-3].endswith("↘")
    assert lines[-2].endswith("✕")
    assert lines[-1].endswith("▶")
    assert "percent 3" in lines[-1]


def test_lanes_keep_to_the_width_of_the_terminal(version):
    rows = [version({"code": "A", "bio": "x" * 500}, 10), version({"code": "B"}, 20)]

    assert max(map(len, printed(picture(timeline(rows, KEY), width=60)).splitlines())) <= 60


def test_a_value_is_printed_not_obeyed(version):
    rows = [version({"code": "A", "bio": "[red]\x1b[31m[/red]"}, 10)]

    output = printed(picture(timeline(rows, KEY), width=80))

    assert "[red]" in output
    assert "\x1b" not in output


def test_the_numbers_fit_a_terminal_of_80_columns():
    counts = Counts(landed=12345, changes=12345, history_rows=12345, current_rows=12345)
    table = TableReceipt("inventory.order_items", "t", counts, seconds=12.3)

    lines = printed(numbers("postgres_inventory", tally([Receipt("s", 1, (table,))]), 12.3))

    assert max(map(len, lines.splitlines())) <= 80
    assert "inventory.order_items" in lines
