"""How is a context sent? As the arguments of the providers' own clients, with the question behind it.

The budget covers the context alone, as it was counted. The system prompt, the question and what a provider adds around
messages belong to the reserves of the `Budget`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimful.errors import FormatError, InputError

if TYPE_CHECKING:
    from brimful.assembly.context import Context

Message = dict[str, object]


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
