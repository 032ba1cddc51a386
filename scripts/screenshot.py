"""Take pictures of the page as it is: a server over this repository's documentation, a question, three screens."""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402
from tests.browser import make_browser, served  # noqa: E402

import brimful  # noqa: E402

QUESTION = "How are token counts exact without counting twice?"
STATE = {"q": QUESTION, "budget": 2600, "reserved_system": 150, "reserved_response": 450}
SCREENS = {
    "page.png": {"viewport": {"width": 1440, "height": 1060}, "color_scheme": "light"},
    "page-dark.png": {"viewport": {"width": 1440, "height": 1060}, "color_scheme": "dark"},
    "page-small.png": {"viewport": {"width": 375, "height": 812}, "color_scheme": "light", "device_scale_factor": 2},
}


def main() -> int:
    """Write docs/images."""
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        store = Path(place, "store.db")
        with brimful.open(store) as engine:
            engine.add(ROOT / "docs")
        with served(store) as address, sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=make_browser.where(), args=[*make_browser.ARGUMENTS, "--hide-scrollbars"]
            )
            for name, options in SCREENS.items():
                take(browser, address, folder / name, options)
                print(f"wrote docs/images/{name}, {(folder / name).stat().st_size >> 10} KB")
            browser.close()
    return 0


def take(browser: Browser, address: str, file: Path, options: dict[str, object]) -> None:
    """One picture, once the runner-ups have their prices."""
    context = browser.new_context(**options, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{address}/#{urlencode(STATE)}")
    page.wait_for_selector("#rest .enter", state="attached")
    page.screenshot(path=file)
    context.close()


if __name__ == "__main__":
    sys.exit(main())
