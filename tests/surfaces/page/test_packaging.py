"""The page travels with the package, and its tests bring their browser."""

import subprocess
import sys
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[3]
WEB = Path("src/brimful/surfaces/http/web")


def test_the_wheel_has_every_file_of_the_page():
    """What is installed serves the same page as a checkout."""
    packed = {Path(each.path).relative_to(ROOT) for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    files = {each.relative_to(ROOT) for each in (ROOT / WEB).rglob("*") if each.is_file()}
    assert WEB / "assets" / "main.js" in files
    assert files <= packed


def test_without_a_browser_the_remedy_is_named():
    """Where none is found and none can be installed, setting up fails and says what to do; nothing is skipped."""
    script = ROOT / "scripts" / "make_browser.py"
    done = subprocess.run(
        [sys.executable, script], env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "apt-get install chromium" in done.stdout
    assert "BRIMFUL_BROWSER=" in done.stdout
