"""Run the code blocks of the documentation, and write down what they print.

A page is run from top to bottom in a folder of its own, its Python blocks in one namespace:

- `python` blocks are executed; a `text` block right after one holds what it printed;
- `console` blocks hold commands after "$ ", each followed by what it printed;
- blocks with a title, such as `csv title="in.csv"`, are files that the page's commands read;
- `sh` blocks set things up (install, make), take hours (reproduce) or need several machines, and are
  not run here: tests/app/test_cluster_page.py runs those of several machines.

    python tools/doc_blocks.py docs/tutorial.md     run, and write the outputs into the page

Pictures that a page saves under a name that it shows from `images/` are copied there.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?$")
SETUP = ("python -m pip ", "make ", "git clone ", "vaecp --install-completion")
LONG = ("vaecp reproduce", "vaecp evaluate", "python benchmarks/")
TOGETHER = ("srun ", "mpirun ", "dask ", "--coordinator ", "--cluster ")
"""Commands of several processes, which tests of their own start."""
SHELL = ("head", "cat", "ls")
PICTURE = re.compile(r"\]\((?:\.\./)*(?:docs/)?images/([\w-]+\.png)\)")
WIDTH = "88"


@dataclass(frozen=True)
class Block:
    """A fenced block: the lines `first` to `last` (exclusive) of its page hold its text."""

    language: str
    title: str | None
    first: int
    last: int
    text: str


class BlockError(Exception):
    """A block failed; the message names page, line and reason."""


def pages() -> list[Path]:
    """Return every page whose blocks are run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found, lines, opened = [], text.split("\n"), None
    for number, line in enumerate(lines):
        if opened is None and line.startswith("```"):
            match = FENCE.match(line)
            if match is None:
                raise BlockError(f"line {number + 1}: {line!r} names no language.")
            opened = (match, number + 1)
        elif opened is not None and line == "```":
            match, first = opened
            body = "\n".join(lines[first:number])
            found.append(Block(match[1], match[2], first, number, body))
            opened = None
    return found


def printed_by(text: str, found: list[Block], place: int) -> Block | None:
    """Return the `text` block that follows a block with only blank lines between."""
    if place + 1 == len(found) or (found[place + 1].language, found[place + 1].title) != (
        "text",
        None,
    ):
        return None
    between = text.split("\n")[found[place].last + 1 : found[place + 1].first - 1]
    return found[place + 1] if not "".join(between).strip() else None


def run(page: Path, folder: Path) -> dict[Block, str]:
    """Run a page in a folder, and return what each block with an output should hold."""
    text = page.read_text(encoding="utf-8")
    found, outputs, namespace = blocks(text), {}, {"__name__": "__main__"}
    with _inside(folder):
        for place, block in enumerate(found):
            where = f"{page.relative_to(ROOT)}, line {block.first + 1}"
            if block.title is not None:
                (folder / block.title).write_text(block.text + "\n", encoding="utf-8")
            elif block.language == "python":
                printed = _run_python(block.text, namespace, where)
                shown = printed_by(text, found, place)
                if bool(printed) != bool(shown):
                    raise BlockError(f"{where}: prints {printed!r}, but shows {shown}.")
                if shown is not None:
                    outputs[shown] = printed
            elif block.language == "console":
                outputs[block] = _run_console(block.text, folder, where)
            elif block.language == "sh":
                _check_setup(block.text, where)
    return outputs


def rewrite(page: Path) -> None:
    """Run a page, and write what its blocks print into it."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = run(page, Path(folder))
        text = page.read_text(encoding="utf-8")
        for name in PICTURE.findall(text):
            if (Path(folder) / name).exists():
                shutil.copy(Path(folder) / name, ROOT / "docs" / "images" / name)
    lines = text.split("\n")
    for block in sorted(outputs, key=lambda block: -block.first):
        lines[block.first : block.last] = outputs[block].rstrip("\n").split("\n")
    page.write_text("\n".join(lines), encoding="utf-8")


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    with contextlib.chdir(folder):
        yield
    os.environ.pop("COLUMNS")
    if before is not None:
        os.environ["COLUMNS"] = before


def _run_python(code: str, namespace: dict, where: str) -> str:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, where, "exec", dont_inherit=True), namespace)
    except Exception as error:
        raise BlockError(f"{where}: {type(error).__name__}: {error}") from error
    return printed.getvalue()


def _run_console(text: str, folder: Path, where: str) -> str:
    """Run each command; one that is shown to fail has to fail with the words shown."""
    shown: list[str] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.replace("\\\n", "").partition("\n")
        words = shlex.split(command, comments=True)
        handler: Callable[[list[str], Path], tuple[int, str]] = (
            _vaecp if words[0] == "vaecp" else _shell
        )
        code, output = handler(words, folder)
        refused = expected.startswith("vaecp: error:")
        if code != (2 if refused else 0) or (refused and output.strip() != expected.strip()):
            raise BlockError(f"{where}: {command!r} exits with {code}: {output}")
        shown.append(f"$ {part.partition(chr(10))[0]}\n{output}")
    return "".join(shown)


def _vaecp(words: list[str], folder: Path) -> tuple[int, str]:
    from typer.testing import CliRunner

    from vaecp.app.cli import app

    with warnings.catch_warnings():
        outcome = CliRunner().invoke(app, words[1:], prog_name="vaecp")
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    output = outcome.stdout if outcome.exit_code == 0 else outcome.stderr
    return outcome.exit_code, "".join(f"{line.rstrip()}\n" for line in output.splitlines())


def _shell(words: list[str], folder: Path) -> tuple[int, str]:
    if words[0] not in SHELL:
        return 127, f"only vaecp, {', '.join(SHELL)} are run here"
    outcome = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return outcome.returncode, outcome.stdout


def _check_setup(text: str, where: str) -> None:
    for line in text.split("\n"):
        together = any(word in line for word in TOGETHER)
        if line.strip() and not together and not line.lstrip("# ").startswith((*SETUP, *LONG)):
            raise BlockError(f"{where}: {line!r} is not run: use a console block.")


if __name__ == "__main__":
    for name in sys.argv[1:] or map(str, pages()):
        print(name, flush=True)
        rewrite(Path(name).resolve())
