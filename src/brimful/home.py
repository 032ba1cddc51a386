"""Where does the system keep what belongs to a user: settings, caches, data?"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

_BELOW_HOME = {"cache": ".cache", "config": ".config", "data": ".local/share"}


def own_folder(kind: Literal["cache", "config", "data"]) -> Path:
    """This program's folder for such things, which need not be there yet.

    `platformdirs` knows every system. Of Linux with a plain environment two lines are enough, and every start of the
    program asks: to load it takes 5 ms with all that it needs.
    """
    home, chosen = os.environ.get("HOME", ""), os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    is_plain = home.startswith("/") and (not chosen or (chosen.startswith("/") and chosen == chosen.strip()))
    if sys.platform == "linux" and is_plain and "ANDROID_DATA" not in os.environ:
        return Path(chosen or f"{home}/{_BELOW_HOME[kind]}", "brimful")
    import platformdirs

    folder_of = {
        "cache": platformdirs.user_cache_path,
        "config": platformdirs.user_config_path,
        "data": platformdirs.user_data_path,
    }
    return folder_of[kind]("brimful", appauthor=False)
