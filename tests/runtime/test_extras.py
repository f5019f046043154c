"""Optional dependencies: imported where they are there, and named by their extra where not."""

import sys

import pytest

from vaecp.errors import MissingExtraError
from vaecp.runtime.extras import require


def test_a_module_that_is_there_is_returned():
    assert require("json", "report", "the page") is sys.modules["json"]


def test_a_module_that_is_not_there_is_named_with_what_needs_it_and_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    line = r"^the page needs plotly, which is not installed: pip install 'vaecp\[report\]'\.$"
    with pytest.raises(MissingExtraError, match=line):
        require("plotly.graph_objects", "report", "the page")
