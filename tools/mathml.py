"""Turn the mathematics of a page into MathML while the site is built, so that it needs no script."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace every formula that pymdownx.arithmatex has marked."""
    content = _BLOCK.sub(lambda found: _mathml(found[1], "block"), content)
    return _INLINE.sub(lambda found: _mathml(found[1], "inline"), content)


def _mathml(formula: str, display: str) -> str:
    # The converter knows rows that are aligned by this name alone.
    latex = html.unescape(formula).strip().replace("{aligned}", "{align*}")
    found = convert(latex, display=display)
    if "\\" in found or "<mi>&<" in found:
        raise PluginError(f"the formula {latex!r} has a command that the converter does not know.")
    return found
