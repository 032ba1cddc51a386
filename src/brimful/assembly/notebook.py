"""The view of a context in a notebook: one piece of HTML without scripts or outside resources.

Tokens, then the windows in reading order with their citations, then the omissions. Text of documents is escaped and
stays in `<pre>`, where notebooks typeset no formulas.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from brimful.assembly.formats.form import safe_name
from brimful.windows.window import Window

if TYPE_CHECKING:
    from brimful.assembly.context import Context, Omitted

SHOWN_OMISSIONS = 20
_BOX = "font:13px/1.5 system-ui,sans-serif;max-width:60em;border:1px solid rgba(128,128,128,.35);border-radius:6px;"
_PRE = (
    "margin:4px 0 0;padding:6px 8px;max-height:22em;overflow-y:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    "unicode-bidi:isolate;font:12px/1.45 ui-monospace,monospace;background:rgba(128,128,128,.1);color:inherit;"
    "border-radius:4px;"
)
_QUIET = "opacity:.75;"


def context_html(context: Context) -> str:
    """A context as one `<div>`."""
    parts = [_head(context), *map(_window_html, context.windows)]
    if not context.windows:
        parts.append(f'<div style="{_QUIET}">Nothing was found, or nothing fits.</div>')
    if context.omitted:
        parts.append(_omissions(context.omitted))
    inside = "".join(parts)
    return f'<div class="tex2jax_ignore mathjax_ignore" style="{_BOX}padding:10px 12px;">{inside}</div>'


def _head(context: Context) -> str:
    about = "" if context.question is None else f"<b><bdi>{html.escape(context.question)}</bdi></b><br>"
    count = "" if context.exact else "about "
    numbers = (
        f"{count}{context.tokens} of {context.budget.available} tokens ({html.escape(context.model)}), "
        f"{_number(len(context.windows), 'window')} of {_number(len({w.path for w in context.windows}), 'document')}"
    )
    changed = ", ".join(
        f"{correction.word.decode('utf-8', 'replace')} → {correction.term.decode('utf-8', 'replace')}"
        for correction in context.corrections
    )
    corrected = (
        f'<br><span style="{_QUIET}">searched as well: <bdi>{html.escape(changed)}</bdi></span>' if changed else ""
    )
    return f"<div>{about}{numbers}{corrected}</div>"


def _window_html(window: Window) -> str:
    before, after = ("… " if window.cut_start else ""), (" …" if window.cut_end else "")
    seams = "".join(f"{html.escape(seam.text)}\n" for seam in window.seams)
    above = f'<span style="{_QUIET}">{seams}</span>' if seams else ""
    return (
        f'<div style="margin-top:10px;">{_citation(window)}'
        f'<pre style="{_PRE}">\n{above}{before}{html.escape(window.text)}{after}</pre></div>'
    )


def _citation(window: Window) -> str:
    first, last = window.lines or (0, 0)
    lines = "" if not first else f"line {first}" if first == last else f"lines {first}–{last}"
    fills = "fills" if window.filling else ""
    details = (lines, f"bytes {window.start}–{window.end}", f"score {window.score:.3f}", fills)
    where = ", ".join(filter(None, details))
    name = f"<b>{html.escape(safe_name(window.path))}</b>"
    return f'<bdi>{name}</bdi> <span style="{_QUIET}">{where}</span>'


def _omissions(omitted: tuple[Omitted, ...]) -> str:
    rows = [f"<li>{_citation(out.window)} ({html.escape(out.reason)})</li>" for out in omitted[:SHOWN_OMISSIONS]]
    if len(omitted) > SHOWN_OMISSIONS:
        rows.append(f"<li>and {len(omitted) - SHOWN_OMISSIONS} more</li>")
    listed = f'<ul style="margin:4px 0 0;padding-left:20px;">{"".join(rows)}</ul>'
    return f'<details style="margin-top:10px;"><summary>{len(omitted)} left out</summary>{listed}</details>'


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
