"""Let the API pages read our docstrings: what follows a name is a description, not a type.

Types stand in the signatures, so `rank : width of the latent rows.` has no type in it, where
NumPy's style would look for one.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_SECTION = re.compile(r"^(Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", re.M | re.S)
_ITEM = re.compile(r"^(\w[\w, ]*?) : (.*)$", re.M)


class PlainParameters(Extension):
    """Moves descriptions to a line of their own before docstrings are parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _SECTION.sub(
                lambda found: _ITEM.sub(r"\1\n    \2", found[0]), obj.docstring.value
            )
