"""Put texts, numbers, style and scripts into one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from vaecp.runtime.extras import require

SCRIPTS = ("base.js", "slices.js", "figures.js", "start.js")


def check_installed() -> None:
    """Say before any work whether what the page needs is there."""
    require("plotly.offline", "report", "the report")
    require("jinja2", "report", "the report")


def render(contents: dict[str, Any]) -> str:
    """Return the page.

    Every text goes through Jinja's escaping and every number through JSON that cannot end its
    script element, so a label can only ever be shown. As a second lock, the page's policy
    runs the scripts whose hashes it lists, no others, and lets nothing be fetched.
    """
    jinja = require("jinja2", "report", "the report")
    plotly = require("plotly.offline", "report", "the report").get_plotlyjs()
    scripts = "\n".join(_asset(name) for name in SCRIPTS)
    environment = jinja.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja.StrictUndefined
    )
    figures = contents["figures"]
    markup = require("markupsafe", "report", "the report").Markup
    return environment.from_string(_asset("page.html")).render(
        **contents | {"figures": markup(json_for_script(figures))},
        has=_present(figures),
        style=markup(_asset("report.css")),
        plotly=markup(plotly),
        scripts=markup(scripts),
        policy=_policy(plotly, scripts),
    )


def json_for_script(value: Any) -> str:
    """Return JSON that is safe inside a script element.

    Examples
    --------
    >>> json_for_script("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _present(figures: dict[str, Any]) -> dict[str, bool]:
    """Which figures there are numbers for."""
    components = figures["components"]
    return {
        "relevance": components["relevance"] is not None,
        "bands": any(mode["std"] is not None for mode in components["modes"]),
        "history": figures["history"] is not None,
    }


def _policy(*scripts: str) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:"
    )


def _asset(name: str) -> str:
    return files("vaecp.show.report").joinpath("assets", name).read_text(encoding="utf-8")
