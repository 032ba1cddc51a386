"""The formats that contexts are written in and read from."""

from __future__ import annotations

from brimful.assembly.formats.form import Block, Form, Fragment, Payload, Showing
from brimful.assembly.formats.json import JSON, WINDOWS
from brimful.assembly.formats.markdown import MARKDOWN
from brimful.assembly.formats.plain import ANTHROPIC, MESSAGES, PLAIN
from brimful.assembly.formats.xml import XML
from brimful.errors import choose

FORMS: dict[str, Form] = {form.name: form for form in (PLAIN, MARKDOWN, XML, JSON, MESSAGES, ANTHROPIC, WINDOWS)}


def form_for(name: str) -> Form:
    """A format by its name."""
    return FORMS[choose(name, FORMS, what="format")]


__all__ = ["FORMS", "Block", "Form", "Fragment", "Payload", "Showing", "form_for"]
