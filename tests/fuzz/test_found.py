"""What fuzzing and attacks have found stays found: every kept input is harmless now."""

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, seeds

FOUND = sorted(path for path in (Path(__file__).parent / "found").glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", FOUND, ids=[f"{path.parent.name}-{path.name}" for path in FOUND])
def test_a_find_is_harmless(path):
    """An input that once raised, hung or drowned what it was fed to, does so no longer."""
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_good_input_is_taken(name):
    """The seeds that are bent are what each way in takes, and nothing is fuzzed without one."""
    assert seeds()[name]
    for raw in seeds()[name]:
        TARGETS[name](raw)
