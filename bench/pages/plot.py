"""The medians as a drawing: one bar a contender, one panel a group of batches, in plain SVG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

_WIDTH, _LEFT, _BAR, _GAP = 880, 260, 18, 6
_COLOURS = {
    "strandline": "#0b7285",
    "merge": "#c92a2a",
    "merge-no-dv": "#e8590c",
    "merge-few": "#c92a2a",
}
_OTHERS = "#868e96"  # floors and units
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#212529}.t{font-weight:600}.v{fill:#495057}"
    "@media(prefers-color-scheme:dark){text{fill:#e9ecef}.v{fill:#adb5bd}}"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One contender on one case: its median, and the fastest and slowest time, in seconds."""

    label: str
    contender: str
    median: float
    least: float
    most: float
    wrong: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars that are compared with each other."""

    title: str
    bars: Sequence[Bar]


def write(path: Path, panels: Sequence[Panel]) -> None:
    """Writes the drawing."""
    lines, bottom = [], 0
    for panel in panels:
        lines += _panel(panel, bottom)
        bottom += 34 + len(panel.bars) * (_BAR + _GAP) + 14
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom}" '
        f'width="{_WIDTH}" height="{bottom}"><style>{_STYLE}</style>'
    )
    path.write_text("\n".join([head, *lines, "</svg>\n"]))


def _panel(panel: Panel, top: int) -> Iterator[str]:
    yield f'<text class="t" x="0" y="{top + 18}">{escape(panel.title)}</text>'
    longest = max((bar.most for bar in panel.bars), default=0) or 1
    scale = (_WIDTH - _LEFT - 190) / longest
    for number, bar in enumerate(panel.bars):
        y = top + 34 + number * (_BAR + _GAP)
        name = " · ".join(filter(None, (bar.contender, bar.label)))
        middle, end = y + _BAR / 2, _LEFT + bar.most * scale
        colour = _COLOURS.get(bar.contender, _OTHERS)
        yield f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>'
        yield (
            f'<rect x="{_LEFT}" y="{y}" width="{bar.median * scale:.1f}" height="{_BAR}" '
            f'fill="{colour}"{_faded(bar)}/>'
        )
        yield (
            f'<path d="M{_LEFT + bar.least * scale:.1f} {middle}H{end:.1f}" '
            'stroke="#343a40" stroke-width="1.5"/>'
        )
        told = f"{bar.median:.2f} s{', wrong history' if bar.wrong else ''}"
        yield f'<text class="v" x="{end + 8:.1f}" y="{y + 14}">{told}</text>'


def _faded(bar: Bar) -> str:
    return ' fill-opacity="0.35"' if bar.wrong else ""
