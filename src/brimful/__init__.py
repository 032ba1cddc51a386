"""Brimful fills a language model's context to the brim and never over it.

Bring hits from any retriever, or windows of your own:

    hits -> inflate -> windows -> dedupe -> pack -> one text that fits, every byte accounted for
"""

from brimful.assembly.context import Context
from brimful.assembly.dedupe import dedupe
from brimful.assembly.pack import pack, parse, render
from brimful.budget import Budget
from brimful.corpus.documents import Document, Hit
from brimful.engine import VERSION, Engine, open  # noqa: A004
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
from brimful.settings import WindowSettings
from brimful.text.vocabularies import tokens_for
from brimful.windows.inflate import inflate
from brimful.windows.window import Cluster, Window

__version__ = VERSION

__all__ = [
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
    "pack",
    "parse",
    "render",
    "tokens_for",
]
