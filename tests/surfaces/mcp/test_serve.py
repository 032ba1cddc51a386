from pathlib import Path

import pytest

from brimful.errors import ChoiceError, InputError
from brimful.surfaces.mcp import serve


def test_a_missing_store_is_not_made(tmp_path):
    """A wrong path is an error, no new store that answers nothing."""
    for place in (tmp_path, tmp_path / "nothing.db"):
        with pytest.raises(InputError, match="holds no store"):
            serve(place)
    assert list(tmp_path.iterdir()) == []


def test_an_address_is_checked_before_anything_is_opened():
    """Beyond loopback without a token, nothing is read."""
    with pytest.raises(InputError, match="needs a token"):
        serve(Path("nowhere"), transport="http", host="0.0.0.0")


def test_an_unknown_transport():
    """The two there are."""
    with pytest.raises(ChoiceError, match="choices: stdio, http"):
        serve(Path("nowhere"), transport="sse")
