"""The page in a real browser: Chromium opens it from the disk, with the network off."""

from __future__ import annotations

import json
import time

import chromium
import numpy as np
import pytest

import vaecp
from vaecp.data.observations import Observations
from vaecp.show.report import model_report

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytest.importorskip("plotly", reason="plotly is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.programs() is None, reason=chromium.ABSENT),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
EVIL = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
DESKTOP, PHONE = (1280, 900, False), (390, 844, True)
READY_WITHIN = 30  # seconds: far above what it takes, so that only a page that hangs fails


@pytest.fixture(scope="module")
def browser():
    found = chromium.open_browser(
        "--disable-dev-shm-usage",
        "--proxy-server=127.0.0.1:9",  # nobody listens there
        **{"goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}},
    )
    found.set_script_timeout(READY_WITHIN)
    yield found
    found.quit()


def observations() -> Observations:
    random = np.random.default_rng(0)
    rows = [1 + random.random((size, 2)) for size in (7, 12, 9, 3)]
    array = np.einsum("ir,jr,kr,lr->ijkl", *rows) + 0.05 * random.normal(size=(7, 12, 9, 3))
    array[random.random(array.shape) < 0.2] = np.nan
    array[2, :, :, 1] = np.nan
    labels = (
        np.array([EVIL, "<b>bold</b>", "%{x}", "d & e", "plain", "f" * 80, "g"], dtype=object),
        np.geomspace(0.001, 100, 12),
        np.arange(250.0, 340.0, 10.0),
        np.array(["2024-01-01", "2024-01-02", "2024-01-05"], dtype="datetime64[D]"),
    )
    return Observations.from_array(
        array,
        mode_names=("sample", "dose (mg)", "wavelength (nm)", "day"),
        labels=labels,
        value_name="intensity (a.u.)",
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """One page with everything, one of the model alone."""
    folder = tmp_path_factory.mktemp("pages")
    data = observations()
    model = vaecp.CPALS(rank=3, n_starts=1, max_iter=30, random_state=0).fit_tensor(data)
    return {
        "full": model_report(model, folder / "full.html", data),
        "alone": model_report(model, folder / "alone.html"),
    }


def show(browser, page, size=DESKTOP, scheme="light"):
    width, height, mobile = size
    command = browser.execute_cdp_cmd
    command("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    command("Network.emulateNetworkConditions", offline)
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    command("Emulation.setDeviceMetricsOverride", screen)
    prefer = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    media = {"features": [{"name": name, "value": value} for name, value in prefer.items()]}
    command("Emulation.setEmulatedMedia", media)
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what earlier pages left
    browser.get(page.as_uri())
    wait_until(browser, "return document.documentElement.dataset.ready === 'true'")


def wait_until(browser, script):
    end = time.monotonic() + READY_WITHIN
    while not browser.execute_script(script):
        assert time.monotonic() < end, f"never true: {script}"
        time.sleep(0.05)


def requested(browser):
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


def drawn(browser):
    """Return, by the id of a figure, how many points it has and how large it is on screen."""
    return browser.execute_script(
        """return Object.fromEntries([...document.querySelectorAll(".plot")].map((plot) => [plot.id, {
          points: (plot.data || []).reduce((sum, trace) =>
            sum + (trace.z ? trace.z.flat() : trace.y || []).length, 0),
          marks: plot.querySelectorAll(".plot image, .point, .trace path, .hm image").length,
          width: plot.getBoundingClientRect().width,
        }]))"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["full", "alone"])
def test_the_page_opens_offline_without_errors_and_fits_the_screen(
    browser, pages, name, size, scheme
):
    show(browser, pages[name], size, scheme)
    assert browser.get_log("browser") == []
    foreign = [url for url in requested(browser) if not url.startswith(("file:", "data:", "blob:"))]
    assert foreign == []
    figures = drawn(browser)
    assert len(figures) == (4 + 1 + 3 + 3 + 4 + 2 + 1 if name == "full" else 2 + 4 + 2)
    empty = [each for each, found in figures.items() if not (found["points"] and found["marks"])]
    assert empty == []
    wide, room = browser.execute_script(
        "const page = document.documentElement; return [page.scrollWidth, page.clientWidth]"
    )
    assert wide <= room <= size[0]
    assert tables_off_the_edge(browser) == []
    assert max(found["width"] for found in figures.values()) <= size[0]
    ink, page = (
        browser.execute_script(f"return getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    assert (brightness(ink) > brightness(page)) == (scheme == "dark")


def tables_off_the_edge(browser) -> list[str]:
    """Tables of which a part can only be seen by scrolling sideways."""
    return browser.execute_script(
        """return [...document.querySelectorAll("table")]
        .filter((table) => table.getBoundingClientRect().right > document.documentElement.clientWidth
          || table.parentElement.scrollWidth > table.parentElement.clientWidth)
        .map((table) => table.closest("section").id + " " + table.className)"""
    )


def brightness(colour: str) -> float:
    return sum(float(part) for part in colour.strip("rgb()").split(","))


def heat_map(browser, name="filled"):
    return browser.execute_script(f"return document.getElementById('slice-{name}').data[0].z")


def choose(browser, name, value):
    browser.execute_script(
        """const select = document.querySelector(`select[name="${arguments[0]}"]`);
        select.value = arguments[1]; select.dispatchEvent(new Event("change"));""",
        name,
        str(value),
    )


def test_the_slice_browser_shows_the_slice_that_is_chosen(browser, pages):
    show(browser, pages["full"])
    data = observations().to_array()
    opened = np.array(heat_map(browser, "observed"), dtype=float)
    assert opened.shape == (12, 9)  # the two largest modes
    assert 0 < np.isnan(opened).sum() < opened.size / 2
    choose(browser, "mode-0", 4)
    choose(browser, "mode-3", 1)
    seen = np.array(heat_map(browser, "observed"), dtype=float)
    np.testing.assert_allclose(seen, data[4, :, :, 1], rtol=1e-5)
    browser.find_element("css selector", "button[aria-label='next day']").click()
    seen = np.array(heat_map(browser, "observed"), dtype=float)
    np.testing.assert_allclose(seen, data[4, :, :, 2], rtol=1e-5)
    choose(browser, "down", 0)
    seen = np.array(heat_map(browser, "observed"), dtype=float)
    np.testing.assert_allclose(seen, data[:, 0, :, 2], rtol=1e-5)
    filled = np.array(heat_map(browser), dtype=float)
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(filled[~np.isnan(seen)], seen[~np.isnan(seen)])
    assert browser.get_log("browser") == []


def test_the_two_axes_trade_places(browser, pages):
    show(browser, pages["full"])
    before = np.array(heat_map(browser), dtype=float)
    choose(browser, "down", 2)  # which was across
    np.testing.assert_array_equal(np.array(heat_map(browser), dtype=float), before.T)


def test_an_entry_says_whether_it_was_observed(browser, pages):
    show(browser, pages["full"])
    choose(browser, "mode-0", 2)
    choose(browser, "mode-3", 1)
    text = browser.execute_script("return document.getElementById('slice-filled').data[0].text")
    assert "<br>filled " in text[0][0]
    assert "90 % interval " in text[0][0]
    choose(browser, "mode-0", 4)
    text = browser.execute_script("return document.getElementById('slice-filled').data[0].text")
    assert "<br>observed " in "".join(line[0] for line in text)


def test_a_listed_entry_is_shown_in_the_browser(browser, pages):
    show(browser, pages["full"])
    button = browser.find_elements("css selector", "button[data-place]")[-1]
    place = [int(part) for part in button.get_attribute("data-place").split(",")]
    browser.execute_script("arguments[0].click()", button)
    words = browser.find_element("id", "picked").text
    assert "observed" in words
    label = np.datetime_as_string(observations().labels[3][place[3]])
    assert f"day {label}" in words


def test_the_component_that_is_chosen_is_drawn(browser, pages):
    show(browser, pages["full"])
    script = "return document.getElementById('loading-0').data[0].y"
    before = browser.execute_script(script)
    choose(browser, "component", 2)
    assert browser.execute_script(script) != before


def test_labels_that_look_like_code_are_shown_and_not_run(browser, pages):
    show(browser, pages["full"])
    assert browser.title != "run"
    options = browser.find_elements("css selector", "select[name='mode-0'] option")
    assert options[0].get_attribute("textContent") == EVIL
    ticks = browser.execute_script(
        "return [...document.querySelectorAll('#missing-0 .xtick text')].map((t) => t.textContent)"
    )
    assert "<b>bo…d</b>" in ticks or "<b>bold</b>" in ticks
    assert not browser.find_elements("css selector", "main img, main script")


def test_colours_follow_the_scheme_when_it_changes(browser, pages):
    show(browser, pages["full"])
    script = "return document.getElementById('scatter').layout.font.color"
    light = browser.execute_script(script)
    media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    wait_until(browser, f"{script} !== '{light}'")


def test_a_foreign_script_is_refused_by_the_policy_of_the_page(browser, pages):
    show(browser, pages["full"])
    browser.execute_script(
        """const script = document.createElement("script");
        script.textContent = "document.title = 'run'"; document.body.append(script);"""
    )
    assert browser.title != "run"


def test_a_million_entries_open_within_seconds(browser, tmp_path):
    random = np.random.default_rng(0)
    rows = [random.normal(size=(100, 2)) for _ in range(3)]
    array = np.einsum("ir,jr,kr->ijk", *rows)
    array[random.random(array.shape) < 0.3] = np.nan
    data = Observations.from_array(array)
    model = vaecp.HOSVD(rank=2, max_iter=1).fit_tensor(data)
    page = model_report(model, tmp_path / "large.html", data, check=False)
    assert page.stat().st_size < 12e6
    started = time.monotonic()
    show(browser, page)
    assert time.monotonic() - started < READY_WITHIN
    assert "of 1,000,000 entries" in browser.find_element("id", "thinned").text
    assert browser.get_log("browser") == []
