"""Draw the pictures of the report in the README anew: `python tools/screenshots.py`.

Needs Chromium and its driver (`apt-get install chromium chromium-driver`).
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from chromium import open_browser

import vaecp
from vaecp.app.demo import interleukin
from vaecp.show.report import model_report

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
PICTURES = {
    # name: (section, width, height at most, whether a telephone, scheme)
    "report-quality.png": ("quality", 1180, 1200, False, "light"),
    "report-slices.png": ("slices", 1180, 1200, False, "light"),
    "report-phone.png": ("summary", 390, 844, True, "dark"),
}
READY = "return document.documentElement.dataset.ready === 'true'"
WAIT = 60


def main() -> None:
    """Fit the demo's tensor, write its report, and take the pictures."""
    observations = interleukin()
    model = vaecp.VAECP(random_state=0).fit_tensor(observations)
    browser = open_browser("--hide-scrollbars")
    try:
        with tempfile.TemporaryDirectory() as folder:
            page = model_report(model, Path(folder) / "report.html", observations)
            for name, picture in PICTURES.items():
                (IMAGES / name).write_bytes(take(browser, page, *picture))
                print(f"written: {IMAGES / name}")
    finally:
        browser.quit()


def take(
    browser: Any,
    page: Path,
    section: str,
    width: int,
    height: int,
    mobile: bool,
    scheme: str,
) -> bytes:
    """Return a picture of one section of the page, from its upper edge."""
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get(page.as_uri())
    end = time.monotonic() + WAIT
    while not browser.execute_script(READY):
        if time.monotonic() > end:
            sys.exit(f"{page} was not drawn within {WAIT} seconds.")
        time.sleep(0.1)
    top, tall = browser.execute_script(
        "const box = document.getElementById(arguments[0]).getBoundingClientRect();"
        "return [box.top + window.scrollY, box.height]",
        section,
    )
    if mobile:  # as it opens
        top, tall = 0, height
    clip = {"x": 0, "y": top, "width": width, "height": min(tall, height), "scale": 1}
    taken = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
    )
    return base64.b64decode(taken["data"])


if __name__ == "__main__":
    main()
