"""Folders of the user: what is worked out here is what platformdirs says."""

import os

import platformdirs
import pytest

from brimful.home import own_folder


@pytest.mark.parametrize("kind", ["cache", "config", "data"])
@pytest.mark.parametrize("home", ["/home/ada", "/home/ada/", "relative", ""])
@pytest.mark.parametrize("chosen", [None, "", "/elsewhere", "/else where/", "relative", " /blank ", "~/below"])
def test_folders_are_those_of_platformdirs(monkeypatch, kind, home, chosen):
    """Whatever the environment says, plain or not."""
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv(f"XDG_{kind.upper()}_HOME", raising=False)
    if chosen is not None:
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", chosen)
    wanted = getattr(platformdirs, f"user_{kind}_path")("brimful", appauthor=False)
    assert own_folder(kind) == wanted
    assert os.fspath(own_folder(kind)) == os.fspath(wanted)
