"""Make the pictures of docs/inspect.md from a page of `sasayaki inspect`.

    inspect_pictures.py PAGE.html docs --place 1.1.17 sound tokens search

Needs playwright and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

PARTS = {
    "sound": "section:has(#stack)",
    "attempts": "section:has(#attempts)",
    "tokens": "section:has(#tokens), section:has(#candidates-title)",
    "search": "section:has(#tree)",
}


def main() -> None:
    """Write `inspect-PART.png` for each part of a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--place", default="1.1.1", help="window, attempt and token, from 1")
    arguments = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1180, "height": 900}, color_scheme="light")
        page.goto(f"{arguments.page.resolve().as_uri()}#{arguments.place}")
        page.locator("#tokens button").first.wait_for()
        for part in arguments.parts:
            boxes = [section.bounding_box() for section in page.locator(PARTS[part]).all()]
            top = min(box["y"] for box in boxes)
            bottom = max(box["y"] + box["height"] for box in boxes)
            clip = {"x": boxes[0]["x"], "y": top, "width": boxes[0]["width"], "height": bottom - top}
            page.screenshot(path=arguments.folder / f"inspect-{part}.png", clip=clip, full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
