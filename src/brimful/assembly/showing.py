"""How does a context leave: as JSON, the same from every surface, to a provider, and in a notebook?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from brimful.assembly.formats.form import safe_name
from brimful.assembly.formats.markdown import fenced
from brimful.assembly.formats.plain import MAP, QUESTION, with_backslashes
from brimful.assembly.formats.xml import as_text
from brimful.errors import FormatError, InputError
from brimful.results import (
    LeftOut,
    ShownCluster,
    ShownCoherence,
    ShownCorrection,
    ShownMatch,
    ShownPart,
    ShownWindow,
    as_record,
)
from brimful.search.spelling import Correction
from brimful.settings import FormatName
from brimful.windows.window import Cluster, Coherence, Window

if TYPE_CHECKING:
    from brimful.assembly.context import Condensed, Context, Match, Omitted
    from brimful.assembly.formats import Payload

# ---- record: What does a context look like as JSON? The same record from every surface.


def context_record(context: Context, *, prices: int = 0) -> dict[str, object]:
    """A context with its citations and its account; `prices` of how many that are left out, where it has them."""
    return {
        "question": context.question,
        "text": context.text,
        "prompt": context.prompt if context.with_question or context.map_text else None,
        "payload": None if isinstance(context.payload, str) else context.payload,
        "tokens": context.tokens,
        "content_tokens": context.content_tokens,
        "budget": context.budget.available,
        "account": asdict(context.account),
        "model": context.model,
        "exact": context.exact,
        "format": context.format,
        "packing": context.packing,
        "truncated": context.truncated,
        "windows": [as_record(window) for window in _shown_windows(context)],
        "clusters": [as_record(_cluster(each, context.windows)) for each in context.clusters],
        "read": None if context.read is None else asdict(context.read),
        "relevance": None if context.relevance is None else asdict(context.relevance),
        "digests": [_digest(digest) for digest in context.digests],
        "receipt": context.receipt.id if context.receipt else None,
        "corrections": corrections_record(context.corrections),
        "omitted": [
            _priced(as_record(_left_out(each)), each.enters_at if number < prices else None, is_priced=bool(prices))
            for number, each in enumerate(context.omitted)
        ],
    }


def corrections_record(corrections: Iterable[Correction]) -> list[dict[str, object]]:
    """Which words were searched for in place of others."""
    return [as_record(_correction(each)) for each in corrections]


def _correction(found: Correction) -> ShownCorrection:
    word, term = (each.decode("utf-8", "replace") for each in (found.word, found.term))
    return ShownCorrection(word, term, found.how, found.distance, found.weight)


def _priced(record: dict[str, object], price: int | None, *, is_priced: bool) -> dict[str, object]:
    del record["enters_at"]
    return {**record, "enters_at": price} if is_priced else record


def _digest(digest: Condensed) -> dict[str, object]:
    return {
        "path": digest.path,
        "model": digest.model,
        "source": digest.source,
        "sentences": [
            {
                "start": span.start,
                "end": span.end,
                "text": digest.document.text(span.start, span.end),
                "sources": [[each.start, each.end] for each in sources],
            }
            for span, sources in digest.sentences
        ],
    }


def _shown_windows(context: Context) -> list[ShownWindow]:
    """The windows of a context, with what its store said of them."""
    about, windows = context.relevance, context.windows
    origins, lengths = context.origins or [()] * len(windows), context.lengths or [None] * len(windows)
    return [
        _window(*shown, filling=about is not None and about.is_filling(shown[0]))
        for shown in zip(windows, context.matches, origins, lengths, strict=True)
    ]


def _window(
    window: Window, matches: Iterable[Match], origins: tuple[str, ...], length: int | None, *, filling: bool
) -> ShownWindow:
    best = min(window.hits, key=lambda hit: hit.order, default=None)
    return ShownWindow(
        path=window.path,
        start=window.start,
        end=window.end,
        lines=window.lines,
        origins=origins,
        score=window.score,
        filling=filling,
        length=len(window.document) if length is None and window.document else length,
        lexical=best.lexical if best else None,
        semantic=best.semantic if best else None,
        text=window.text,
        terms=tuple(sorted({term for hit in window.hits for term in hit.terms})),
        matches=tuple(ShownMatch(*match) for match in matches),
        coherence=_coherence(window.coherence),
        strategy=window.strategy,
        also_in=tuple(window.also_in),
    )


def _coherence(coherence: Coherence) -> ShownCoherence:
    parts = (ShownPart(each.name, each.value, each.weight, each.why) for each in coherence.parts)
    return ShownCoherence(coherence.score, tuple(parts))


def _cluster(cluster: Cluster, windows: Sequence[Window]) -> ShownCluster:
    """A cluster, whose windows are named by their number in the context."""
    numbers = {window.id: number for number, window in enumerate(windows)}
    members = tuple(numbers[window.id] for window in cluster.windows)
    return ShownCluster(cluster.strategy, _coherence(cluster.coherence), members)


def _left_out(omitted: Omitted) -> LeftOut:
    window = omitted.window
    reason, better = omitted.reason, omitted.duplicate_of
    return LeftOut(window.path, window.start, window.end, window.score, reason, better, window.lines)


# ---- sending: How is a context sent? As the arguments of the providers' own clients, with the question behind it.
#
# The budget covers the context alone, as it was counted. The system prompt, the question and what a provider adds
# around messages belong to the reserves of the `Budget`; with `with_question` and `map_percent` the engine takes what
# they cost from the room for the context, so that `Context.prompt` is within the budget.

Message = dict[str, object]


def question_part(format: FormatName, question: str) -> str:  # noqa: A002
    """A question as it stands behind a context of that format.

    >>> question_part("xml", "Is 3 < 4?")
    '<question>Is 3 &lt; 4?</question>\\n'
    """
    if format == "xml":
        return f"<question>{as_text(question)}</question>\n"
    if format == "json":
        return json.dumps({"question": question}, ensure_ascii=False) + "\n"
    if format in ("plain", "messages"):
        return f"\n{QUESTION}\n{question}\n"
    return question if format == "anthropic" else f"\n{question}\n"


def map_part(format: FormatName, drawn: str) -> str:  # noqa: A002
    """A map of the corpus as it stands before a context of that format; its names are not to be taken for headers."""
    if format == "xml":
        return f"<map>\n{as_text(drawn)}</map>\n"
    if format == "json":
        return json.dumps({"map": drawn}, ensure_ascii=False) + "\n"
    if format == "markdown":
        return f"### Map\n\n{fenced(drawn)}\n"
    return f"{MAP}\n{with_backslashes(drawn)}\n"


def prompt_of(context: Context) -> Payload:
    """Map, context and question in one, as far as they were asked for."""
    form = context.format
    question = context.question if context.with_question else None
    if question is None and context.map_text is None:
        return context.payload
    if form == "windows":
        raise FormatError("windows are for programs that write their own prompt; ask with another format")
    before = "" if context.map_text is None else map_part(form, context.map_text)
    after = "" if question is None else question_part(form, question)
    if form == "anthropic":
        assert isinstance(context.payload, list)
        texts: list[list[Message]] = [[{"type": "text", "text": part}] if part else [] for part in (before, after)]
        return [*texts[0], *context.payload, *texts[1]]
    text = f"{before}{context.text}{after if context.text or before else after.lstrip()}"
    return [{"role": "user", "content": text}] if form == "messages" else text


def openai_messages(context: Context, *, system: str | None, question: str | None) -> list[Message]:
    """An optional system message, then one user message: the text as it was counted, an empty line, the question."""
    if context.format == "anthropic":
        raise FormatError("this context was counted as blocks for Anthropic; ask with format='messages' for this shape")
    asked = _question(context, question)
    gap = "" if not (context.text and asked) else "\n" if context.text.endswith("\n") else "\n\n"
    content = f"{context.text}{gap}{asked}"
    messages: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    return [*messages, {"role": "user", "content": content}]


def anthropic_arguments(context: Context, *, system: str | None, question: str | None) -> dict[str, object]:
    """`messages` with one search result a document, citations enabled, then the question; `system` if there is one."""
    if context.format != "anthropic":
        raise FormatError(
            f"this context was counted as {context.format}, which search result blocks may exceed; "
            "ask with format='anthropic'"
        )
    asked = _question(context, question)
    assert isinstance(context.payload, list)
    blocks = [*context.payload, *([{"type": "text", "text": asked}] if asked else [])]
    messages = [{"role": "user", "content": blocks}]
    return {"messages": messages} if system is None else {"system": system, "messages": messages}


def _question(context: Context, question: str | None) -> str:
    """The one given, or the context's own; an empty one leaves it out."""
    asked = context.question or "" if question is None else question
    if not context.text and not asked:
        raise InputError("there is nothing to send: the context is empty and no question is given")
    return asked


# ---- html: What does a context look like in a notebook? One piece of HTML that needs nothing and runs nothing.
#
# A bar shows where the tokens of the budget went; below it stand the windows in reading order, each with its citation,
# and what was left out. Text of documents is escaped and stays in `<pre>`, where notebooks typeset no formulas.

SHOWN_OMISSIONS = 20
_BOX = "font:13px/1.5 system-ui,sans-serif;max-width:60em;border:1px solid rgba(128,128,128,.35);border-radius:6px;"
_PRE = (
    "margin:4px 0 0;padding:6px 8px;max-height:22em;overflow-y:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    "unicode-bidi:isolate;font:12px/1.45 ui-monospace,monospace;background:rgba(128,128,128,.1);color:inherit;"
    "border-radius:4px;"
)
_QUIET = "opacity:.75;"
_KEY = "display:inline-block;width:9px;height:9px;border-radius:2px;"
_COLOURS = {"reserved": "#8a8f98", "markup": "#c9822b", "content": "#2f7fc1", "free": "rgba(128,128,128,.18)"}


def shares(context: Context) -> dict[str, int]:
    """Where a budget's tokens went: reserves, headers and other markup, what the windows say, what is free."""
    account = context.account
    return {
        "reserved": context.budget.reserved,
        "markup": account.headers + account.seams + account.markers,
        "content": account.content + account.digests,
        "free": account.free,
    }


def context_html(context: Context) -> str:
    """The whole, as one `<div>`."""
    parts = [_head(context), _bar(context), *map(_window_html, context.windows)]
    if not context.windows:
        parts.append(f'<div style="{_QUIET}">Nothing was found, or nothing fits.</div>')
    if context.omitted:
        parts.append(_omissions(context.omitted))
    inside = "".join(parts)
    return f'<div class="tex2jax_ignore mathjax_ignore" style="{_BOX}padding:10px 12px;">{inside}</div>'


def escape(text: str) -> str:
    """As HTML shows it; the module is loaded by whoever shows HTML, since it brings a table of all entities."""
    import html

    return html.escape(text)


def _head(context: Context) -> str:
    about = "" if context.question is None else f"<b><bdi>{escape(context.question)}</bdi></b><br>"
    count = "" if context.exact else "about "
    numbers = (
        f"{count}{context.tokens} of {context.budget.available} tokens ({escape(context.model)}), "
        f"{_number(len(context.windows), 'window')} of {_number(len({w.path for w in context.windows}), 'document')}"
    )
    changed = ", ".join(
        f"{each.word.decode('utf-8', 'replace')} → {each.term.decode('utf-8', 'replace')}"
        for each in context.corrections
    )
    corrected = f'<br><span style="{_QUIET}">searched as well: <bdi>{escape(changed)}</bdi></span>' if changed else ""
    return f"<div>{about}{numbers}{corrected}</div>"


def _bar(context: Context) -> str:
    parts, legend = [], []
    for name, tokens in shares(context).items():
        if tokens:
            colour = _COLOURS[name]
            parts.append(f'<span title="{name}: {tokens}" style="flex:{tokens} 1 0;background:{colour};"></span>')
            key = f'<span style="{_KEY}background:{colour};"></span>'
            legend.append(f'<span style="margin-right:12px;">{key} {name} {tokens}</span>')
    said = ", ".join(f"{name} {tokens}" for name, tokens in shares(context).items())
    frame = "display:flex;height:12px;margin:6px 0 2px;border-radius:3px;overflow:hidden;"
    return (
        f'<div role="img" aria-label="tokens: {said}" style="{frame}">{"".join(parts)}</div>'
        f'<div style="font-size:12px;{_QUIET}">{"".join(legend)}</div>'
    )


def _window_html(window: Window) -> str:
    before, after = ("… " if window.cut_start else ""), (" …" if window.cut_end else "")
    seams = "".join(f"{escape(seam.text)}\n" for seam in window.seams)
    above = f'<span style="{_QUIET}">{seams}</span>' if seams else ""
    return (
        f'<div style="margin-top:10px;">{_citation(window)}'
        f'<pre style="{_PRE}">\n{above}{before}{escape(window.text)}{after}</pre></div>'
    )


def _citation(window: Window) -> str:
    first, last = window.lines or (0, 0)
    lines = "" if not first else f"line {first}" if first == last else f"lines {first}–{last}"
    where = ", ".join(filter(None, (lines, f"bytes {window.start}–{window.end}", f"score {window.score:.3f}")))
    name = f"<b>{escape(safe_name(window.path))}</b>"
    return f'<bdi>{name}</bdi> <span style="{_QUIET}">{where}</span>'


def _omissions(omitted: tuple[Omitted, ...]) -> str:
    rows = [f"<li>{_citation(each.window)} ({escape(each.reason)})</li>" for each in omitted[:SHOWN_OMISSIONS]]
    if len(omitted) > SHOWN_OMISSIONS:
        rows.append(f"<li>and {len(omitted) - SHOWN_OMISSIONS} more</li>")
    listed = f'<ul style="margin:4px 0 0;padding-left:20px;">{"".join(rows)}</ul>'
    return f'<details style="margin-top:10px;"><summary>{len(omitted)} left out</summary>{listed}</details>'


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
