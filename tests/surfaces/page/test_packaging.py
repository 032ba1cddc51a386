"""The page travels with the package."""

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
