"""Brimful fills a language model's context to the brim and never over it.

Bring hits from any retriever, or windows of your own:

    hits -> inflate -> windows -> dedupe -> pack -> one text that fits, every byte accounted for
"""

from brimful.rules import VERSION

TYPE_CHECKING = False  # as in `typing`, which takes a while to load
if TYPE_CHECKING:
    from brimful.assembly.context import Context
    from brimful.assembly.dedupe import dedupe
    from brimful.assembly.pack import pack, parse, render
    from brimful.async_engine import AsyncEngine, open_async
    from brimful.budget import Budget
    from brimful.documents.documents import Document, Hit
    from brimful.engine import Engine, open  # noqa: A004
    from brimful.errors import (
        BrimfulError,
        BudgetError,
        ChoiceError,
        DocumentError,
        FormatError,
        InputError,
        MissingPartError,
        ScoreError,
        SettingError,
        SpanError,
        UnknownModelError,
    )
    from brimful.settings import Ask, WindowSettings
    from brimful.store.opening import rebuild
    from brimful.text.vocabularies import tokens_for
    from brimful.windows.inflate import inflate
    from brimful.windows.window import Cluster, Window
else:
    # Names are imported when first used, so that `brimful --help` does not wait for them.
    _NAMES_OF = {
        "brimful.assembly.context": "Context",
        "brimful.assembly.dedupe": "dedupe",
        "brimful.assembly.pack": "pack parse render",
        "brimful.async_engine": "AsyncEngine open_async",
        "brimful.budget": "Budget",
        "brimful.documents.documents": "Document Hit",
        "brimful.engine": "Engine open",
        "brimful.errors": (
            "BrimfulError BudgetError ChoiceError DocumentError FormatError InputError MissingPartError ScoreError "
            "SettingError SpanError UnknownModelError"
        ),
        "brimful.settings": "Ask WindowSettings",
        "brimful.store.opening": "rebuild",
        "brimful.text.vocabularies": "tokens_for",
        "brimful.windows.inflate": "inflate",
        "brimful.windows.window": "Cluster Window",
    }
    _HOME_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}
    _PARTS = {module.split(".")[1] for module in _NAMES_OF} | {
        *("evaluation", "index", "ingest", "receipts", "search", "store", "surfaces")
    }

    def __getattr__(name):
        """A public name, or a part of the package."""
        from importlib import import_module

        if name in _PARTS:
            return import_module(f"brimful.{name}")
        if name not in _HOME_OF:
            raise AttributeError(f"module 'brimful' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
        return value

    def __dir__():
        """All public names, imported or not."""
        return sorted({*globals(), *_HOME_OF})


__version__ = VERSION

__all__ = [
    "Ask",
    "AsyncEngine",
    "BrimfulError",
    "Budget",
    "BudgetError",
    "ChoiceError",
    "Cluster",
    "Context",
    "Document",
    "DocumentError",
    "Engine",
    "FormatError",
    "Hit",
    "InputError",
    "MissingPartError",
    "ScoreError",
    "SettingError",
    "SpanError",
    "UnknownModelError",
    "Window",
    "WindowSettings",
    "dedupe",
    "inflate",
    "open",
    "open_async",
    "pack",
    "parse",
    "rebuild",
    "render",
    "tokens_for",
]
