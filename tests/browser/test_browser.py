"""The HTML report in a real browser: what the script does, and what holds without it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("selenium", reason="browser tests need the extra `browser`")

from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from aoti_logscan import pipeline
from aoti_logscan.render.html import render_html
from aoti_logscan.report import Argument, Call, Dossier, Evidence, LaunchReport, SuspectCode
from tests.conftest import FIXTURES

pytestmark = pytest.mark.browser

OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PAGES = (
    "triton-oob-proven-by-package",
    "lineage-index-made-by-argmax-kernel",
    "printer-level2-crash-pty",
    "printer-level2-healthy",
    "ima-on-rank3-of-eight-others-nccl-timeout",
    "xpu-device-lost-cause-unknown",
    "trace-failed-compile",
)
#: launches of the long run, on four ranks
MANY = 100_000
#: elements of a page, whatever the number of launches
MAX_ELEMENTS = 3_000

Open = Callable[[str], "Browser"]


def _program(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    assert found is not None, f"none of {', '.join(names)} is installed: these tests need it"
    return found


class Browser:
    """A headless Chromium, and how these tests speak to it."""

    def __init__(self, profile: Path, *, scripts: bool = True) -> None:
        options = ChromeOptions()
        options.binary_location = _program("chromium", "chromium-browser", "google-chrome")
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        if not scripts:
            blocked = {"profile.managed_default_content_settings.javascript": 2}
            options.add_experimental_option("prefs", blocked)
        self.driver = Chrome(options=options, service=Service(_program("chromedriver")))
        self.size(1280, 900)

    def size(self, width: int, height: int) -> None:
        given = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", given)

    def prefer(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def find(self, css: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def shown(self, css: str) -> list[Any]:
        return [
            one for one in self.driver.find_elements(By.CSS_SELECTOR, css) if one.is_displayed()
        ]

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def until(self, holds: Callable[[], Any]) -> None:
        """Wait until that holds, also while the page puts another element where one was read."""
        fresh = (StaleElementReferenceException,)
        wait = WebDriverWait(self.driver, 20, poll_frequency=0.02, ignored_exceptions=fresh)
        wait.until(lambda _: holds())

    def says(self, css: str, words: str) -> bool:
        """Whether an element comes to say something; a page answers when it has time to."""
        return self.comes(lambda: words in self.find(css).text)

    def lists(self, css: str, count: int) -> bool:
        """Whether so many elements come to be shown."""
        return self.comes(lambda: len(self.shown(css)) == count)

    def comes(self, holds: Callable[[], Any]) -> bool:
        try:
            self.until(holds)
        except TimeoutException:
            return False
        return True

    def search(self, words: str) -> str:
        """Type into the search box; what the page then counts."""
        box = self.find("#search")
        box.send_keys(Keys.CONTROL, "a")
        box.send_keys(Keys.DELETE, words)
        before = self.run("return window.frames_seen = 0")
        self.run("requestAnimationFrame(() => requestAnimationFrame(() => window.frames_seen++))")
        self.until(lambda: self.run("return window.frames_seen") != before)
        return str(self.find("#count").text)

    def hover(self, css: str, across: float, down: float = 0.5) -> ActionChains:
        """Move to a place in an element, given as parts of its width and height."""
        element = self.find(css)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        size = element.size
        x = int((across - 0.5) * size["width"])
        y = int((down - 0.5) * size["height"])
        return ActionChains(self.driver).move_to_element_with_offset(element, x, y)

    def troubles(self) -> list[Any]:
        return list(self.driver.get_log("browser"))  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.driver.quit()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = tmp_path_factory.mktemp("pages")
    for name in PAGES:
        (pages / f"{name}.html").write_text(render_html(_dossier(name)), encoding="utf-8")
    (pages / "many.html").write_text(render_html(_many()), encoding="utf-8")
    return pages


@pytest.fixture
def page(browser: Browser, folder: Path) -> Iterator[Open]:
    """Opens a page by its name; afterwards the console must be empty."""

    def opened(name: str) -> Browser:
        browser.size(1280, 900)
        browser.prefer("light")
        browser.driver.get((folder / f"{name}.html").as_uri())
        return browser

    browser.troubles()
    yield opened
    assert browser.troubles() == []


def _dossier(name: str) -> Dossier:
    paths = [FIXTURES / name / "input"]
    report = pipeline.analyze(paths)
    text = "\n".join(f"line {number}" for number in range(1, 400))
    code = SuspectCode(
        name="k", role="kernel", language="triton", file=None, first_line=1, text=text, lit=(200,)
    )
    return Dossier(report=report, launches=pipeline.kernels(paths), code=(code,))


def _many() -> Dossier:
    """A long run on four ranks: rank 2 never came back from its last launch."""
    each = MANY // 4
    found = tuple(_launch(rank, at, each) for rank in range(4) for at in range(each))
    report = _dossier("ima-level3-marks-asynchronous").report
    assert report.last_kernel is not None
    evidence = Evidence("run/rank2.log", 1, 0, "[ before_launch ]")
    kernel = msgspec.structs.replace(
        report.last_kernel,
        name=found[3 * each - 1].kernel,
        launch_index=each - 1,
        rank=2,
        evidence=evidence,
    )
    report = msgspec.structs.replace(report, last_kernel=kernel)
    return Dossier(report=report, launches=found, launches_left_out=25_000)


def _launch(rank: int, at: int, of: int) -> LaunchReport:
    kernel = at % 10
    is_open = rank == 2 and at == of - 1
    phases = ("before",) if is_open else ("before", "after")
    return LaunchReport(
        index=at,
        kernel=f"triton_poi_fused_add_{kernel}",
        open=is_open,
        rank=rank,
        source=f"run/rank{rank}.log",
        line=3 * at + 1,
        arguments=tuple(_argument(f"buf{kernel}", phase, rank, at) for phase in phases),
        call=Call("wrapper.cpp", 100 + kernel, f"call_{kernel}()"),
    )


def _argument(name: str, phase: Any, rank: int, at: int) -> Argument:
    bad = rank == 1 and at > 20_000 and name == "buf3"
    return Argument(
        name=name, phase=phase, dtype="float32", min=-1.5 * at, max=2.5 * at, mean=0.25, nan=bad
    )


@pytest.mark.parametrize("name", [*PAGES, "many"])
@pytest.mark.parametrize("width", [360, 1280])
def test_page_is_no_wider_than_the_screen(page: Open, name: str, width: int) -> None:
    browser = page(name)
    browser.size(width, 740)
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        wider = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
        assert browser.run(wider) == 0
    assert browser.run("return document.querySelectorAll('*').length") < MAX_ELEMENTS


def test_page_asks_nothing_of_the_network(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    assert browser.run("return performance.getEntriesByType('resource').map(one => one.name)") == []


def test_what_is_not_embedded_does_not_run(browser: Browser, folder: Path) -> None:
    planted = (folder / "printer-level2-healthy.html").read_text(encoding="utf-8")
    planted = planted.replace("</main>", "<script>document.title = 'planted'</script></main>")
    (folder / "planted.html").write_text(planted, encoding="utf-8")
    browser.troubles()
    browser.driver.get((folder / "planted.html").as_uri())
    assert browser.driver.title != "planted"
    assert "Content Security Policy" in browser.troubles()[0]["message"]


@pytest.mark.parametrize("name", PAGES)
def test_answer_is_on_the_first_screen_of_a_phone(page: Open, name: str) -> None:
    browser = page(name)
    browser.size(360, 780)
    ends = browser.run(
        "const css = '#verdict h1, #verdict .summary, #verdict .first h2';"
        "return [...document.querySelectorAll(css)]"
        ".map(one => one.getBoundingClientRect().bottom)"
    )
    assert len(ends) == 5
    assert max(ends) < 780


def test_finding_opens(page: Open) -> None:
    browser = page("ima-on-rank3-of-eight-others-nccl-timeout")
    folded = browser.find(".finding.consequence")
    assert not folded.find_element(By.CSS_SELECTOR, ".body").is_displayed()
    folded.find_element(By.CSS_SELECTOR, "summary").click()
    assert browser.comes(folded.find_element(By.CSS_SELECTOR, ".body").is_displayed)


def test_search_narrows_all_lists(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    assert browser.search("mm_out") == "0 findings · 2 launches · 0 flags · 0 sources"
    assert not browser.shown(".finding")
    assert "Nothing here fits" in browser.find("#findings .nothing").text
    assert browser.search("sigsegv") == "1 finding · 0 launches · 0 flags · 0 sources"
    assert len(browser.shown(".finding")) == 1
    browser.find("#search").send_keys(Keys.ESCAPE)
    assert browser.comes(lambda: browser.find("#count").text == "")
    assert len(browser.shown("#flags tbody tr")) > 10


def test_slash_goes_to_the_search(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    browser.find("body").send_keys("/")
    assert browser.comes(lambda: browser.run("return document.activeElement.id") == "search")
    assert browser.find("#search").get_attribute("value") == ""


def test_filter_by_rank(page: Open) -> None:
    browser = page("ima-on-rank3-of-eight-others-nccl-timeout")
    assert len(browser.shown("#sources tbody tr")) == 8
    Select(browser.find("#rank")).select_by_value("3")
    browser.until(lambda: len(browser.shown("#sources tbody tr")) == 1)
    assert browser.shown(".finding.cause")
    Select(browser.find("#rank")).select_by_value("5")
    browser.until(lambda: not browser.shown(".finding.cause"))


def test_named_launch_is_chosen_and_another_can_be(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    assert "aoti_torch_cpu_mm_out" in browser.find("#chosen h3").text
    browser.hover("#lanes .u-over", 0.1).perform()
    assert browser.says(".tip", "cpp_fused_exp_mul_0")
    ActionChains(browser.driver).click().perform()
    assert browser.says("#chosen h3", "cpp_fused_exp_mul_0")
    assert browser.lists("#chosen tbody tr", 4)
    assert "1.64872" in browser.find("#chosen table").text


def test_keys_walk_along_the_timeline(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    lanes = browser.find("#lanes")
    lanes.send_keys(Keys.HOME)
    assert browser.says("#chosen .labels", "launch 0")
    lanes.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.says("#chosen .labels", "launch 2")
    lanes.send_keys(Keys.END)
    assert browser.says("#chosen .labels", "launch 4")


def test_values_of_a_buffer(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    names = [option.text for option in Select(browser.find("#buffer")).options]
    assert names == ["arg1_1", "buf0", "buf1", "buf3", "buf4"]
    Select(browser.find("#buffer")).select_by_value("buf4")
    browser.hover("#values .u-over", 0.5).perform()
    told = browser.find("#values").find_element(By.XPATH, "..").find_element(By.CLASS_NAME, "tip")
    assert browser.comes(lambda: "min 12.2625 max 24.5251 mean 20.2332" in told.text)
    for scale in ("linear", "symlog"):
        Select(browser.find("#scale")).select_by_value(scale)
        assert browser.shown("#values canvas")


def test_argument_of_a_launch_leads_to_its_values(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    browser.find("#lanes").send_keys(Keys.HOME)
    first = browser.find("#chosen tbody button")
    first.click()
    assert browser.comes(lambda: browser.find("#buffer").get_attribute("value") == "arg1_1")
    assert browser.find("#phase").get_attribute("value") == "before"


def test_theme_is_the_systems_until_it_is_chosen(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(ground)
    browser.prefer("dark")
    dark = browser.run(ground)
    assert light != dark
    browser.find("#theme").click()
    assert browser.comes(lambda: browser.run(ground) == light)
    browser.prefer("light")
    browser.find("#theme").click()
    assert browser.comes(lambda: browser.run(ground) == dark)


#: contrast of every shown text with the ground behind it, as WCAG has it
CONTRAST = """
const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const ground = (one) => {
  for (; one; one = one.parentElement) {
    const colour = parse(getComputedStyle(one).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const poor = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const one = node.parentElement;
  if (!node.data.trim() || !one.checkVisibility() || one.closest("script, .u-wrap")) continue;
  const [a, b] = [light(parse(getComputedStyle(one).color)), light(ground(one))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) poor.push([ratio, one.className, node.data]);
}
return poor;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES, "many"])
def test_all_text_stands_out(page: Open, name: str, scheme: str) -> None:
    browser = page(name)
    browser.prefer(scheme)
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert browser.run(CONTRAST) == []


def test_code_unfolds(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    assert "line 200" in browser.find("#code").text
    assert "line 100\n" not in browser.find("#code").text
    browser.find(".unfold").click()
    assert browser.says("#code", "line 100\n")


def test_command_is_copied(page: Open) -> None:
    browser = page("printer-level2-crash-pty")
    grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", grant)
    browser.find("#next .copy").click()
    browser.until(lambda: browser.find("#next .copy").text == "Copied")
    text = browser.run("return navigator.clipboard.readText()")
    assert text == browser.find("#next .command code").text


def test_a_hundred_thousand_launches_can_be_searched(page: Open) -> None:
    browser = page("many")
    assert "25,000 more launches are not in this page" in browser.find("#launches").text
    assert "10,000 launches" in browser.search("fused_add_7")
    assert "4 launches" in browser.search("#24000")
    assert "100,000 launches" in browser.search("call_")
    browser.search("")
    browser.find("#found summary").click()
    assert browser.lists("#found tbody tr", 200)
    browser.find("#more").click()
    assert browser.lists("#found tbody tr", 400)
    assert browser.run("return document.querySelectorAll('*').length") < 2 * MAX_ELEMENTS


def test_ranks_and_states_of_a_hundred_thousand_launches(page: Open) -> None:
    browser = page("many")
    height = browser.run("return document.querySelector('#lanes canvas').offsetHeight")
    Select(browser.find("#rank")).select_by_value("2")
    browser.until(lambda: "25,000 launches" in browser.find("#count").text)
    assert browser.run("return document.querySelector('#lanes canvas').offsetHeight") < height
    Select(browser.find("#state")).select_by_value("o")
    browser.until(lambda: "1 launch " in browser.find("#count").text)


def test_last_kernel_is_gone_to(page: Open) -> None:
    browser = page("many")
    assert "launch 24,999, rank 2, never came back" in browser.find("#chosen .labels").text
    browser.find("#lanes").send_keys(Keys.HOME)
    assert browser.says("#chosen .labels", "launch 0, rank 2")
    browser.find("#go").click()
    assert browser.says("#chosen .labels", "launch 24,999")
    browser.hover("#lanes .u-over", 0.05, 0.1).perform()
    assert browser.says(".tip", "launch 24,9")
    browser.find("#whole").click()
    browser.hover("#lanes .u-over", 0.05, 0.1).perform()
    assert browser.comes(lambda: "launch 24,9" not in browser.find(".tip").text)


def test_page_without_scripts_still_answers(
    tmp_path_factory: pytest.TempPathFactory, folder: Path
) -> None:
    browser = Browser(tmp_path_factory.mktemp("plain"), scripts=False)
    try:
        browser.driver.get((folder / "printer-level2-crash-pty.html").as_uri())
        text = browser.find("body").text
        assert "The process died of SIGSEGV" in text
        assert "the charts need JavaScript" in text
        for name in ("kernel", "findings", "next", "flags", "sources"):
            assert browser.find(f"#{name}").is_displayed()
        assert not browser.shown(".js")
        browser.driver.get((folder / "ima-on-rank3-of-eight-others-nccl-timeout.html").as_uri())
        browser.find(".finding.consequence summary").click()
        assert browser.comes(browser.find(".finding.consequence .body").is_displayed)
    finally:
        browser.driver.quit()


def test_print_shows_what_is_folded(page: Open) -> None:
    browser = page("ima-on-rank3-of-eight-others-nccl-timeout")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.find(".finding.consequence .body").is_displayed()
    assert not browser.shown(".bar, .copy, .banner")
    browser.run("dispatchEvent(new Event('afterprint'))")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert not browser.find(".finding.consequence .body").is_displayed()
