"""The page in a browser: it draws itself, answers clicks and keys, says no error and asks for nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sasayaki.inspect import write_page
from sasayaki.trace import Trace
from tests.fakes import text
from tests.inspect.examples import SAID, long_trace, noise, recording, transcribed, with_rejected, with_words
from tests.trace.examples import random_model

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

Open = Callable[..., "Visit"]


@dataclass
class Visit:
    """An open page, with everything that went wrong or was asked for since."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def texts(self, selector: str) -> list[str]:
        return [each.strip() for each in self.page.locator(selector).all_inner_texts()]

    def n_colours(self, canvas: str) -> int:
        """Number of different colours in a canvas."""
        code = """id => {
            const canvas = document.getElementById(id);
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
        return int(self.page.evaluate(code, canvas))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as started:
        try:
            running = started.chromium.launch(executable_path=CHROMIUM)
        except playwright.Error as error:
            pytest.skip(f"{CHROMIUM} does not start: {str(error).splitlines()[0]}")
        yield running
        running.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Open]:
    """Opens pages in a browser without a network; in the end they have asked for nothing and complained of nothing."""
    visits = []

    def open_page(path: Path, place: str = "", **settings: Any) -> Visit:
        context = browser.new_context(offline=True, **settings)
        page = context.new_page()
        visited = Visit(page)
        visits.append(visited)
        page.on("console", lambda message: visited.complaints.append(message.text))
        page.on("pageerror", lambda error: visited.complaints.append(str(error)))
        page.on("request", lambda request: visited.requests.append(request.url))
        page.goto(path.as_uri() + place)
        page.locator("#tokens > *, #readout:has-text('empty')").first.wait_for()
        return visited

    yield open_page
    for visited in visits:
        assert visited.complaints == []
        assert [url.split("#")[0] for url in visited.requests] == [visited.page.url.split("#")[0]]
        visited.page.context.close()


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "talk.html"
    write_page(path, *transcribed(), name="<talk> & more.wav")
    return path


def test_the_page_shows_the_recording_and_its_first_window(visit: Open, talk: Path) -> None:
    shown = visit(talk)
    assert shown.texts("h1") == ["<talk> & more.wav"]
    assert "model scripted" in shown.texts("#facts")[0]
    assert shown.texts("#overview-windows button") == ["1", "2", "3", "4", "5", "6"]
    assert shown.texts("#segments > *") == ["Good-morning", "<b>&friends</b>"]
    assert shown.texts("#window-title") == ["Window 1 of 6"]


def test_rejected_text_is_struck_through_and_says_why(visit: Open, tmp_path: Path) -> None:
    trace, samples = transcribed()
    write_page(tmp_path / "page.html", with_words(with_rejected(trace)), samples)
    shown = visit(tmp_path / "page.html")
    assert shown.texts("#segments > *") == ["Good-morning", "found", "<b>&friends</b> no_voice"]
    assert shown.texts("#segments s") == ["<b>&friends</b>"]
    title = shown.page.locator("#segments .rejected").get_attribute("title")
    assert title.endswith("0.3 s of voice · rejected: no_voice")
    assert "text rejected for no_voice" in shown.texts("#readout")[0]
    assert "rejected 5" in shown.texts("#facts")[0]
    assert "text rejected" in shown.page.locator("#overview-windows button").first.get_attribute("aria-label")
    shown.page.locator("#words button", has_text="morning").click()
    assert "Step 7 of" in shown.texts("#candidates-hint")[0]
    shown.page.locator("#words button", has_text="found").click()  # of no token of this decode
    assert "Step 7 of" in shown.texts("#candidates-hint")[0]


def test_pictures_are_drawn(visit: Open, talk: Path) -> None:
    shown = visit(talk)
    assert shown.n_colours("overview-wave") >= 2
    assert shown.n_colours("wave") >= 2
    assert shown.n_colours("spectrogram") > 10
    assert shown.n_colours("attention") > 10


def test_the_alignment_path_is_drawn_through_the_attention(visit: Open, talk: Path) -> None:
    code = """() => {
        const wanted = channels(ink().path).join();
        const canvas = document.getElementById("attention");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const rows = new Set();
        for (let i = 0; i < data.length; i += 4)
            if (data.slice(i, i + 3).join() === wanted) rows.add(Math.floor(i / 4 / canvas.width));
        return rows.size / canvas.height;
    }"""
    assert visit(talk).page.evaluate(code) > 0.5


def test_tokens_are_coloured_by_probability(visit: Open, talk: Path) -> None:
    def tones(place: str) -> set[str]:
        code = "all => all.map(each => each.style.getPropertyValue('--tone'))"
        return set(visit(talk, place).page.eval_on_selector_all("#tokens button", code))

    assert len(tones("#1.1.1")) >= 2
    assert not tones("#2.1.1") & tones("#2.2.1")


def test_texts_are_shown_as_they_are_and_never_run(visit: Open, talk: Path) -> None:
    shown = visit(talk)
    assert "".join(shown.texts("#tokens button:not(.special)")) == "Good-morning<b>&friends</b>"
    assert shown.page.locator("main b:not(#facts b, .figures b, .effects b)").count() == 0


def test_clicking_a_token_shows_its_candidates_before_and_after_each_filter(visit: Open, talk: Path) -> None:
    shown = visit(talk)
    token = shown.page.locator("#tokens button", has_text="G").first
    token.click()
    assert token.get_attribute("aria-current") == "true"
    assert "Step 2 of" in shown.texts("#candidates-hint")[0]
    heads = [head.split("\n")[0] for head in shown.texts("#table th")]
    assert heads == ["Token", "Model", "SuppressBlank", "SuppressTokens", "ApplyTimestampRules"]
    rows = [[cell.strip() for cell in row.split("\t")] for row in shown.texts("#table tbody tr")]
    assert rows[0] == ["G✓ result", "66 %", "66 %", "73 %", "73 %"]
    assert rows[1][0].startswith("x")
    assert ["(", "9.0 %", "9.0 %", "banned", "–"] in rows
    assert any("SuppressTokens banned" in effect and "( 9.0 %" in effect for effect in shown.texts("#effects li"))
    shown.page.locator("#tokens button", has_text="f").click()
    assert shown.texts("#table tbody tr")[0].startswith("f")


def test_the_search_is_a_tree_with_the_winning_path(visit: Open, talk: Path) -> None:
    shown = visit(talk)
    winners = [name.split(",")[0] for name in shown.page.locator("#tree .wins title").all_text_contents()]
    said = {token: chr(token) for token in text("Good-morning<b>&friends</b>")}
    assert winners == [*(said.get(token, name) for token, name in zip(SAID, winners, strict=False)), "end"]
    assert len(winners) == len(SAID) + 1
    assert shown.page.locator("#tree .node").count() > 2 * len(winners)
    assert shown.page.locator("#tree .edge.wins").count() == len(winners) - 1


def test_clicking_a_node_of_the_tree_shows_the_candidates_of_its_hypothesis(visit: Open, talk: Path) -> None:
    shown = visit(talk)
    shown.page.locator('#tree .node[data-step="4"]:not([data-row="0"])').first.click()
    assert "Step 5 of" in shown.texts("#candidates-hint")[0]
    pressed = shown.page.locator('#rows [aria-pressed="true"]')
    assert pressed.count() == 1
    assert "★" not in pressed.inner_text()
    shown.page.locator("#rows .wins").click()
    assert "★" in pressed.inner_text()


def test_attempts_stand_side_by_side_and_can_be_opened(visit: Open, talk: Path) -> None:
    shown = visit(talk, "#2")
    shown.page.locator("#overview-windows button").nth(1).click()
    cards = shown.page.locator("#attempts .attempt")
    playwright.expect(cards).to_have_count(2)
    first, second = (card.inner_text() for card in cards.all())
    assert "temperature 0.0" in first
    assert "failed logprob_threshold" in first
    assert "kept" in second
    assert cards.nth(1).get_attribute("aria-pressed") == "true"
    left, right = (card.bounding_box() for card in cards.all())
    assert left["y"] == right["y"]
    before = shown.texts("#tokens")
    cards.nth(0).click()
    assert shown.texts("#tokens") != before
    assert cards.nth(0).get_attribute("aria-pressed") == "true"


def test_windows_are_unpacked_when_they_are_opened(visit: Open, talk: Path) -> None:
    shown = visit(talk)
    assert shown.page.evaluate("opened.size") == 1
    for number in range(2, 7):
        shown.page.locator("#next").click()
        playwright.expect(shown.page.locator("#window-title")).to_have_text(f"Window {number} of 6")
    assert shown.page.evaluate("opened.size") == 4
    assert shown.page.locator("#next").is_disabled()


def test_pictures_and_words_can_be_clicked(visit: Open, talk: Path) -> None:
    """The scripted heads look at one place after another, so each place belongs to a token."""
    shown = visit(talk)
    columns = shown.page.evaluate("attemptShown().attention.path")
    box = shown.page.locator("#spectrogram").bounding_box()
    x = box["width"] * (columns[9] + 0.5) / 1500
    shown.page.locator("#spectrogram").click(position={"x": x, "y": 20})
    assert shown.page.evaluate("state.step") == 9
    rows = shown.page.locator("#attention").bounding_box()["height"] / len(columns)
    shown.page.locator("#attention").click(position={"x": 5, "y": 5.5 * rows})
    assert shown.page.evaluate("state.step") == 5
    shown.page.locator("#words button").first.click()
    assert shown.page.evaluate("state.step") == 1


def test_words_with_times_stand_at_their_times(visit: Open, tmp_path: Path) -> None:
    trace, samples = transcribed()
    write_page(tmp_path / "page.html", with_words(trace), samples)
    shown = visit(tmp_path / "page.html", "#2.2.1")
    words = shown.page.locator("#words button")
    assert shown.texts("#words button") == ["Good-", "morning", "<b>&f", "riends</b>"]
    box, stack = words.nth(1).bounding_box(), shown.page.locator("#stack-inner").bounding_box()
    assert (box["x"] - stack["x"]) / stack["width"] == pytest.approx(2.0 / 30, abs=0.002)
    words.nth(3).click()
    assert "Step 21 of" in shown.texts("#candidates-hint")[0]
    assert [item.get_attribute("aria-current") for item in shown.page.locator("#words > *").all()] == [
        None,
        None,
        None,
        "true",
    ]
    shown.page.keyboard.press("1")
    assert shown.texts("#words button") != ["Good-", "morning", "<b>&f", "riends</b>"]


def test_keys_move_through_tokens_hypotheses_windows_and_attempts(visit: Open, talk: Path) -> None:
    shown = visit(talk, "#2.2.3")

    def after(key: str) -> list[int]:
        shown.page.keyboard.press(key)
        return list(shown.page.evaluate("[state.window, state.attempt, state.step, state.row]"))

    assert after("ArrowRight")[:3] == [1, 1, 3]
    assert after("ArrowLeft")[:3] == [1, 1, 2]
    row = after("j")[3]
    assert after("k")[3] == row - 1
    assert after("1")[:2] == [1, 0]
    assert after("9")[:2] == [1, 0]
    width = shown.page.locator("#stack-inner").bounding_box()["width"]
    after("+")
    assert shown.page.locator("#stack-inner").bounding_box()["width"] == pytest.approx(2 * width, rel=0.01)
    shown.page.keyboard.press("]")
    playwright.expect(shown.page.locator("#window-title")).to_have_text("Window 3 of 6")


def test_the_address_remembers_the_place(visit: Open, talk: Path) -> None:
    shown = visit(talk, "#2.1.4")
    assert shown.page.evaluate("[state.window, state.attempt, state.step]") == [1, 0, 3]
    shown.page.keyboard.press("ArrowRight")
    playwright.expect(shown.page).to_have_url(re.compile(r"#2\.1\.5$"))


@pytest.mark.parametrize("place", ["#0.0.0", "#99.1.1", "#1.9.999", "#nonsense"])
def test_an_address_that_does_not_exist_opens_the_nearest(visit: Open, talk: Path, place: str) -> None:
    assert visit(talk, place).texts("#window-title") == ["Window 1 of 6"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_needs_no_scrolling_to_the_side(visit: Open, talk: Path, scheme: str) -> None:
    shown = visit(talk, viewport={"width": 390, "height": 800}, color_scheme=scheme)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    shown.page.locator("#theme").click()
    assert shown.page.evaluate("document.documentElement.dataset.theme") == "light"


def test_a_page_without_attention_says_so(visit: Open, tmp_path: Path) -> None:
    trace, samples = Trace(), recording(5.0)
    random_model(eot=2.0).transcribe(samples, language="en", sample_len=6, temperature=0.0, trace=trace)
    write_page(tmp_path / "page.html", trace, samples)
    shown = visit(tmp_path / "page.html")
    assert shown.texts("#attention-note")[0].startswith("No attention was recorded")
    assert not shown.page.locator("#attention").is_visible()
    shown.page.locator("#tokens button").first.click()
    shown.page.locator("#spectrogram").click()


def test_an_empty_recording_says_so(visit: Open, tmp_path: Path) -> None:
    trace, samples = Trace(), np.zeros(0, np.float32)
    random_model().transcribe(samples, language="en", trace=trace)
    write_page(tmp_path / "page.html", trace, samples)
    shown = visit(tmp_path / "page.html")
    assert shown.texts("#readout") == ["The recording has no window: it is empty."]
    shown.page.keyboard.press("ArrowRight")


def test_a_long_recording_unpacks_only_what_is_looked_at(visit: Open, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", long_trace(seconds=120), noise(120))
    shown = visit(tmp_path / "page.html", "#4.1.70")
    assert shown.texts("#window-title") == ["Window 4 of 5"]
    assert shown.page.evaluate("[...opened.keys()]") == [3]
