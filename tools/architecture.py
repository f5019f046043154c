"""Draw the rooms of the package, who imports whom, and the path of one table through them.

    python tools/architecture.py        docs/images/architecture.svg, and the path in architecture.md

The rooms and their order are those that import-linter enforces (pyproject.toml), the imports are
those of the code, and a test follows the path.
"""

from __future__ import annotations

import textwrap
import tomllib
from html import escape
from pathlib import Path
from typing import NamedTuple

import grimp

ROOT = Path(__file__).resolve().parent.parent
DRAWING = ROOT / "docs" / "images" / "architecture.svg"
PAGE = ROOT / "docs" / "architecture.md"
MARKS = ("<!-- the path begins -->\n", "<!-- the path ends -->\n")
COMMAND = "vaecp complete data.csv -o out.csv --report page.html"

WORDS = {
    "app": "the command line",
    "study": "experiments",
    "show": "plots and the report",
    "outcomes": "what to do with a fitted model",
    "models": "the methods",
    "formats": "files, in and out",
    "datasets": "named tensors",
    "data": "observations and predictions",
    "runtime": "files, threads, compilation, progress",
    "errors": "what people are told",
}


class Step(NamedTuple):
    """A function that the table passes, and what happens there."""

    function: str
    words: str

    @property
    def room(self) -> str:
        return self.function.split(".")[1].split(":")[0]


PATH = (
    Step("vaecp.app.cli:complete", "checks the options and the files to write"),
    Step("vaecp.formats:open_file", "chooses the reader by the suffix, and reads the table"),
    Step("vaecp.data.observations:Observations.from_listed", "makes observations of its entries"),
    Step("vaecp.models.base:TensorEstimator.fit_tensor", "scales the values; the method learns"),
    Step("vaecp.outcomes.completion:fill", "asks the fitted model for every cell"),
    Step("vaecp.models.base:TensorEstimator.predict_at", "predicts mean and spread of the cells"),
    Step("vaecp.formats:write_completion", "writes `out.csv`, whole or not at all"),
    Step("vaecp.show.report:model_report", "begins the page about the fit"),
    Step("vaecp.outcomes.holdout:check_on_held_out", "fits once more without some entries"),
    Step("vaecp.show.report.page:render", "puts figures and tables into `page.html`"),
)

WIDTH, LANE, LINE, PADDING = 1000, 17, 16, 12
FONT = 'font-family="Helvetica, Arial, sans-serif"'
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8a6d00", "#444444")


def rooms() -> list[str]:
    """Return the rooms from the top down."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    names = [name.strip() for layer in layers for name in layer.split("|")]
    return [name.removeprefix("vaecp.") for name in names] + ["errors"]


def contents() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return what each room holds, and which other rooms it imports."""
    graph = grimp.build_graph("vaecp", cache_dir=None)
    order = rooms()
    holds: dict[str, set[str]] = {room: set() for room in order}
    uses: dict[str, set[str]] = {room: set() for room in order}
    for module in graph.modules:
        room, *inside = module.split(".")[1:] or [""]
        if room not in holds:
            continue
        holds[room].update(inside[:1])
        for imported in graph.find_modules_directly_imported_by(module):
            other = [*imported.split("."), ""][1]
            if other in holds and other != room:
                uses[room].add(other)
    return (
        {room: sorted(holds[room]) for room in order},
        {room: sorted(uses[room], key=order.index) for room in order},
    )


def drawing() -> str:
    """Return the SVG."""
    holds, uses = contents()
    left = PADDING + LANE * len(holds) + 14
    lines = {room: textwrap.wrap(", ".join(parts), 62) for room, parts in holds.items()}
    tops, top = {}, 64.0
    for room in holds:
        tops[room] = top
        top += LINE * (1 + max(len(lines[room]), 1)) + 2 * PADDING
    heights = {room: LINE * (1 + max(len(lines[room]), 1)) + PADDING for room in holds}
    middles = {room: tops[room] + heights[room] / 2 for room in holds}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top:g}" '
        f'viewBox="0 0 {WIDTH} {top:g}">',
        f'<rect width="{WIDTH}" height="{top:g}" fill="#ffffff"/>',
        _text(PADDING, 24, "Columns: a square is a room, the dots below it are what it imports."),
        _text(PADDING, 44, f"Numbers: the path of one table through {COMMAND}"),
    ]
    for place, room in enumerate(holds):
        parts += _band(room, lines[room], left, tops[room], heights[room])
        parts += _lane(PADDING + LANE * (place + 0.5), left, middles, room, uses[room], place)
    return "\n".join([*parts, *_path(middles), "</svg>", ""])


def _band(room: str, lines: list[str], left: float, top: float, height: float) -> list[str]:
    box = f'x="{left}" y="{top:g}" width="{WIDTH - left - PADDING}" height="{height:g}"'
    found = [f'<rect {box} rx="6" fill="#f4f6f8" stroke="#b8c2cc"/>']
    found.append(_text(left + 10, top + LINE + 2, room, "bold"))
    found.append(_text(left + 90, top + LINE + 2, WORDS[room], colour="#444444"))
    for number, line in enumerate(lines, start=1):
        found.append(_text(left + 10, top + LINE * (number + 1) + 2, line, colour="#666666"))
    return found


def _lane(
    x: float, left: float, middles: dict[str, float], room: str, uses: list[str], place: int
) -> list[str]:
    colour, y = COLOURS[place % len(COLOURS)], middles[room]
    found = [f'<path d="M{x:g} {y:g}H{left}" stroke="{colour}" stroke-opacity="0.5"/>']
    if uses:
        found.append(f'<path d="M{x:g} {y:g}V{middles[uses[-1]]:g}" stroke="{colour}"/>')
    found.append(
        f'<rect x="{x - 5:g}" y="{y - 5:g}" width="10" height="10" fill="{colour}">'
        f"<title>{room}</title></rect>"
    )
    for other in uses:
        found.append(
            f'<circle cx="{x:g}" cy="{middles[other]:g}" r="4" fill="{colour}">'
            f"<title>{room} imports {other}</title></circle>"
        )
    return found


def _path(middles: dict[str, float]) -> list[str]:
    points = [
        (WIDTH - 40 - 32 * (len(PATH) - number), middles[step.room])
        for number, step in enumerate(PATH, start=1)
    ]
    joined = " ".join(f"{x:g},{y:g}" for x, y in points)
    found = [f'<polyline points="{joined}" fill="none" stroke="#c0392b" stroke-width="1.5"/>']
    for number, ((x, y), step) in enumerate(zip(points, PATH, strict=True), start=1):
        title = f"<title>{escape(step.function)}</title>"
        found.append(f'<circle cx="{x:g}" cy="{y:g}" r="11" fill="#c0392b">{title}</circle>')
        found.append(_text(x, y + 4, str(number), "bold", "#ffffff", "middle"))
    return found


def _text(
    x: float,
    y: float,
    words: str,
    weight: str = "normal",
    colour: str = "#111111",
    at: str = "start",
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" {FONT} font-size="12" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{at}">{escape(words)}</text>'
    )


def path_table() -> str:
    """Return the steps as Markdown."""
    rows = [
        f"| {number} | {step.room} | `{step.function.partition('.')[2]}` | {step.words} |"
        for number, step in enumerate(PATH, start=1)
    ]
    return "\n".join(["| | room | function | what happens |", "|---|---|---|---|", *rows, ""])


def page() -> str:
    """Return the page with the steps of today between its marks."""
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    return f"{before}{MARKS[0]}\n{path_table()}\n{MARKS[1]}{after}"


if __name__ == "__main__":
    DRAWING.write_text(drawing(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written: {DRAWING}, {PAGE}")
