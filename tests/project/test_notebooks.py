"""The notebooks under examples/: they run, and the copies that are kept show what they print."""

from __future__ import annotations

from pathlib import Path

import pytest
import run_notebooks

pytestmark = pytest.mark.slow

nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat and nbclient")
TOOLS = Path(run_notebooks.__file__).parent
PREAMBLE = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); import brief; brief.shorten()"
LARGEST = 300_000
every_notebook = pytest.mark.parametrize(
    "path", run_notebooks.notebooks(), ids=lambda path: path.stem
)


@every_notebook
def test_a_notebook_runs(path):
    pytest.importorskip("ipykernel", reason="notebooks are run by ipykernel")
    notebook = run_notebooks.execute(path, PREAMBLE)
    assert [kinds(cell) for cell in notebook.cells] == [
        kinds(cell) for cell in nbformat.read(path, as_version=4).cells
    ]


@every_notebook
def test_the_copy_that_is_kept_was_run_whole_and_is_small(path):
    notebook = nbformat.read(path, as_version=4)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert path.stat().st_size < LARGEST
    shown = {output.output_type for cell in notebook.cells for output in cell.get("outputs", ())}
    assert "error" not in shown


def kinds(cell) -> list[str]:
    """Return what a cell shows, by kind: numbers may differ."""
    return [output.output_type for output in cell.get("outputs", ())]
