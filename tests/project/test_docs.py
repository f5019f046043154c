"""The documentation: every code block runs, the site builds, and nothing is fetched for it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import doc_blocks
import pytest
from brief import shorten

from vaecp.app.commands import options
from vaecp.models import registry

pytestmark = pytest.mark.slow

ROOT = doc_blocks.ROOT


@pytest.fixture
def brief(monkeypatch):
    """Fits are cut short, and stay in this process; methods that a page adds are forgotten."""
    shorten(monkeypatch.setattr)
    monkeypatch.setenv("VAECP_DATA_URL", "http://127.0.0.1:9")  # tests download nothing
    monkeypatch.setattr(registry, "_METHODS", dict(registry.methods()))
    monkeypatch.setattr(options, "n_cores", lambda: 1)


def test_there_are_pages_with_blocks():
    counts = {page: len(doc_blocks.blocks(page.read_text())) for page in doc_blocks.pages()}
    assert counts[doc_blocks.ROOT / "README.md"] > 2
    assert counts[doc_blocks.ROOT / "docs" / "tutorial.md"] > 5


@pytest.mark.parametrize("page", doc_blocks.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_runs(page: Path, brief, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that are cut short
        try:
            outputs = doc_blocks.run(page, tmp_path)
        except doc_blocks.BlockError as error:
            if "no connection" not in str(error):
                raise
            pytest.skip("a tensor of this page is not here: set VAECP_DATA")
    for block, printed in outputs.items():
        assert n_lines(printed) == n_lines(block.text), f"{page}, line {block.first}"


def n_lines(printed: str) -> int:
    """Other numbers than those of full fits, and other notes, stand in as many lines."""
    return sum(not line.startswith("note: ") for line in printed.strip().split("\n"))


def test_a_failing_block_is_named_with_its_line(monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\n1 / 0\n```\n")
    monkeypatch.setattr(doc_blocks, "ROOT", tmp_path)
    with pytest.raises(doc_blocks.BlockError, match=r"page\.md, line 4: ZeroDivisionError"):
        doc_blocks.run(page, tmp_path)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` builds it: a warning is an error."""
    pytest.importorskip("mkdocs", reason="the site needs the extra vaecp[docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert outcome.returncode == 0, outcome.stderr
    return folder


def test_the_site_loads_nothing_from_elsewhere(site):
    loaded = re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^\"' >]+|"
        r"@import[^;]*//[^;]*|url\([\"']?https?://[^)]*"
    )
    found = [
        f"{path.name}: {match}"
        for path in [*site.rglob("*.html"), *site.rglob("*.css")]
        for match in loaded.findall(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_mathematics_is_mathml_and_parameters_have_descriptions(site):
    model = (site / "model.html").read_text(encoding="utf-8")
    assert model.count("<math ") > 20
    assert "arithmatex" not in model
    assert "\\mathcal" not in model
    api = (site / "api.html").read_text(encoding="utf-8")
    assert re.search(r"<code>rank</code>.{0,600}width of the latent rows", api, flags=re.DOTALL)
