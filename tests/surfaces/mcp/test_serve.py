import sys
from pathlib import Path

import pytest

from brimful.errors import ChoiceError, InputError, MissingPartError
from brimful.surfaces.mcp import serve


def test_a_missing_package_names_the_remedy(own, monkeypatch):
    """Without the SDK the error says what to install."""
    for name in [name for name in sys.modules if name.startswith("brimful.surfaces.mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    with pytest.raises(MissingPartError, match=r"MCP needs a package that is missing .* install "):
        serve(own)


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


def test_the_package_alone_loads_nothing():
    """`brimful mcp` can name the function before it needs the SDK."""
    import subprocess

    program = "import sys, brimful.surfaces.mcp; sys.exit('mcp' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
