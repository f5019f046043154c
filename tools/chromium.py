"""A Chromium without a window, which tests and screenshots drive."""

from __future__ import annotations

import shutil
from typing import Any

ABSENT = "Chromium or its driver is not installed: apt-get install chromium chromium-driver"


def programs() -> tuple[str, str] | None:
    """Return the paths of Chromium and of its driver, or None where one is not installed."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def open_browser(*arguments: str, **capabilities: Any) -> Any:
    """Start it; the caller quits it."""
    from selenium import webdriver

    found = programs()
    if found is None:
        raise SystemExit(ABSENT)
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", *arguments):
        options.add_argument(argument)
    for name, value in capabilities.items():
        options.set_capability(name, value)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(found[1]))
