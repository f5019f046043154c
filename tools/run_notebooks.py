"""Execute the notebooks under examples/, and keep what they show.

python tools/run_notebooks.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def notebooks() -> list[Path]:
    """Return the notebooks of the examples."""
    return sorted((ROOT / "examples").glob("*.ipynb"))


def execute(path: Path, preamble: str = "") -> Any:
    """Return a notebook with its outputs; `preamble` runs first and leaves no trace."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    if preamble:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(preamble))
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    if preamble:
        notebook.cells.pop(0)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day, which differ from run to run
    return notebook


if __name__ == "__main__":
    import nbformat

    for path in notebooks():
        print(path, flush=True)
        nbformat.write(execute(path), path)
