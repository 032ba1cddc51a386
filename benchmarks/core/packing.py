"""How long does it take to fill a budget from 10,000 candidates, and how near to the budget does it end?"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from brimful import Document, Window, pack
from core.clock import Contender, race, settle
from core.offline import count, o200k
from core.report import Table, milliseconds, percent, times
from core.texts import Piece, Text, pieces_of

CANDIDATES = 10_000
BUDGETS = (4_000, 32_000, 128_000)
PACKINGS = ("greedy", "interleaved", "score_weighted")
BASE = "Brimful greedy, trim and fill"
HEADER = "file_path: "
WORDS_PER_TOKEN = 0.75

Packer = Callable[[list[Any], int], str]


def measure(texts: Sequence[Text]) -> tuple[list[Table], list[str]]:
    """One table for each budget."""
    pieces = pieces_of(texts, CANDIDATES)
    documents = {text.path: Document(text.path, text.content) for text in texts}
    windows = [Window.cut(documents[piece.text.path], piece.start, piece.end, score=piece.score) for piece in pieces]
    for document in documents.values():
        _ = document.outline
    makers = [
        (_llama_nodes(pieces), LLAMA),
        (_lang_documents(pieces), LANGCHAIN),
        (_hay_documents(pieces), HAYSTACK),
    ]
    settle()
    tables, summary = [], []
    for budget in BUDGETS:
        table, line = _table(windows, makers, budget)
        tables.append(table)
        summary.append(line)
    return tables, summary


def _table(windows: list[Window], makers: list[Any], budget: int) -> tuple[Table, str]:
    number = BUDGETS.index(budget)
    table = Table(
        f"3{'abc'[number]}. {CANDIDATES:,} candidates into {budget:,} tokens",
        ("packer", "ms", "+-", "vs Brimful", "tokens", "over", "full", "shown"),
    )
    if not number:
        table.about = (
            "Candidates of about 400 bytes of real text with scores. `tokens` are tiktoken's o200k count of the final "
            "string, headers and separators included; `over` is what a model with this limit would refuse; `full` is "
            "the share of the budget used; `shown` is how many candidates (or parts of them) are in. `vs Brimful` is "
            "against the first row: below 1x is faster than it."
        )
    contenders = {BASE: _packing(windows, budget, "greedy", trim=True, fill="brim")}
    contenders["Brimful greedy, trim"] = _packing(windows, budget, "greedy", trim=True, fill="relevant")
    contenders["Brimful greedy, fill"] = _packing(windows, budget, "greedy", trim=False, fill="brim")
    contenders["Brimful greedy, whole windows"] = _packing(windows, budget, "greedy", trim=False, fill="relevant")
    for packing in PACKINGS[1:]:
        contenders[f"Brimful {packing}, trim and fill"] = _packing(windows, budget, packing, trim=True, fill="brim")
        contenders[f"Brimful {packing}, whole windows"] = _packing(
            windows, budget, packing, trim=False, fill="relevant"
        )
    for documents, packers in makers:
        for name, packer in packers.items():
            if budget <= LARGEST.get(name, budget):
                contenders[name] = Contender(lambda _, packer=packer, documents=documents: packer(documents, budget))
    timings = race(contenders)
    base = timings[BASE].median if not timings[BASE].failure else math.nan
    for name, timing in timings.items():
        if timing.failure:
            table.add(name, "", "", "failed", "", "", "", "", failure=timing.failure)
            table.notes.append(f"{name} failed: {timing.failure}")
            continue
        ours = name.startswith("Brimful")
        text = timing.result.text if ours else timing.result
        tokens = count(text)
        shown = len(timing.result.windows) if ours else text.count(HEADER)
        over = max(tokens - budget, 0)
        ratio = timing.median / base
        cells = (
            milliseconds(timing.median),
            percent(timing.spread),
            times(ratio),
            f"{tokens:,}",
            f"{over:,}" if over else "-",
        )
        figures = {"tokens": tokens, "over": over, "full": tokens / budget, "shown": shown, "ratio": ratio}
        table.add(name, *cells, f"{tokens / budget:.2%}", f"{shown}", budget=budget, **figures, **timing.as_json())
        if ours and (tokens > budget or tokens != timing.result.tokens):
            table.notes.append(f"WRONG: {name} says {timing.result.tokens}, tiktoken {tokens}, budget {budget}.")
    for name in LARGEST:
        if name not in timings:
            table.add(name, "", "", "not run", "", "", "", "")
    if number == len(BUDGETS) - 1:
        table.notes += NOTES
    return table, _summary(table, budget)


def _summary(table: Table, budget: int) -> str:
    """Brimful's own row, and the fastest other one that a model would accept."""
    ran = [row for row in table.figures if "tokens" in row]
    ours = next((row for row in ran if row["packer"] == BASE), None)
    if ours is None:
        return f"Packing {CANDIDATES:,} into {budget:,} tokens: Brimful FAILED"
    others = [row for row in ran if not row["packer"].startswith("Brimful") and not row["over"]]
    fastest = min(others, key=lambda row: row["cpu_s"])
    first, second = (f"{milliseconds(row['cpu_s'])} ms, {row['full']:.2%} full" for row in (ours, fastest))
    return (
        f"Packing {CANDIDATES:,} candidates into {budget:,} tokens: {first}. The fastest other way that stays within, "
        f"{fastest['packer']}: {second}"
    )


def _packing(windows: list[Window], budget: int, packing: Any, *, trim: bool, fill: Any) -> Contender:
    return Contender(lambda _: pack(windows, budget=budget, model="o200k_base", packing=packing, trim=trim, fill=fill))


# ---- what users of the peers write; every one starts from the same candidates and sorts them by score


def _llama_nodes(pieces: Sequence[Piece]) -> list[Any]:
    from llama_index.core.schema import NodeWithScore, TextNode

    return [
        NodeWithScore(node=TextNode(text=piece.string, metadata={"file_path": piece.text.path}), score=piece.score)
        for piece in pieces
    ]


def _repack(nodes: list[Any], budget: int) -> str:
    from llama_index.core import PromptHelper, PromptTemplate
    from llama_index.core.schema import MetadataMode

    texts = [node.node.get_content(metadata_mode=MetadataMode.LLM) for node in _best(nodes)]
    helper = PromptHelper(context_window=budget, num_output=0, tokenizer=o200k().encode_ordinary)
    first: str = helper.repack(PromptTemplate("{context_str}"), texts)[0]
    return first


def _repack_few(nodes: list[Any], budget: int) -> str:
    return _repack(_enough(_best(nodes), budget, lambda node: node.node.text), budget)


def _lang_documents(pieces: Sequence[Piece]) -> list[Any]:
    from langchain_core.documents import Document

    return [
        Document(page_content=piece.string, metadata={"source": piece.text.path, "score": piece.score})
        for piece in pieces
    ]


def _formatted(document: Any) -> str:
    from langchain_core.prompts import PromptTemplate, format_document

    text: str = format_document(document, PromptTemplate.from_template(HEADER + "{source}\n{page_content}"))
    return text


def _lang_loop(documents: list[Any], budget: int) -> str:
    encode = o200k().encode_ordinary
    kept, tokens = [], 0
    for document in _best(documents):
        tokens += len(encode(document.page_content))
        if tokens > budget:
            break
        kept.append(_formatted(document))
    return "\n\n".join(kept)


def _lang_careful_loop(documents: list[Any], budget: int) -> str:
    encode = o200k().encode_ordinary
    kept: list[str] = []
    tokens = 0
    for document in _best(documents):
        text = _formatted(document)
        tokens += len(encode("\n\n" + text if kept else text))
        if tokens > budget:
            break
        kept.append(text)
    return "\n\n".join(kept)


def _lang_trim(documents: list[Any], budget: int) -> str:
    from langchain_core.messages import HumanMessage, trim_messages

    encode = o200k().encode_ordinary
    kept = trim_messages(
        [HumanMessage(_formatted(document)) for document in _best(documents)],
        max_tokens=budget,
        strategy="first",
        allow_partial=True,
        token_counter=lambda messages: sum(len(encode(message.content)) for message in messages),
    )
    return "\n\n".join(message.content for message in kept)


def _lang_reduce(documents: list[Any], budget: int) -> str:
    from langchain_classic.chains.combine_documents.reduce import split_list_of_docs

    def joined(some: list[Any]) -> str:
        return "\n\n".join(_formatted(document) for document in some)

    few = _enough(_best(documents), budget, lambda document: document.page_content)
    return joined(split_list_of_docs(few, lambda some: count(joined(some)), budget)[0])


def _hay_documents(pieces: Sequence[Piece]) -> list[Any]:
    from haystack import Document

    return [Document(content=piece.string, meta={"file_path": piece.text.path}, score=piece.score) for piece in pieces]


def _hay_prompt(documents: list[Any]) -> str:
    from haystack.components.builders import PromptBuilder

    template = "{% for d in documents %}" + HEADER + "{{ d.meta.file_path }}\n{{ d.content }}\n\n{% endfor %}"
    prompt: str = PromptBuilder(template=template, required_variables=["documents"]).run(documents=documents)["prompt"]
    return prompt


def _hay_words(documents: list[Any], budget: int) -> str:
    from haystack.components.rankers import LostInTheMiddleRanker

    ranker = LostInTheMiddleRanker(word_count_threshold=int(budget * WORDS_PER_TOKEN))
    return _hay_prompt(ranker.run(_best(documents))["documents"])


def _hay_loop(documents: list[Any], budget: int) -> str:
    encode = o200k().encode_ordinary
    kept, tokens = [], 0
    for document in _best(documents):
        tokens += len(encode(document.content))
        if tokens > budget:
            break
        kept.append(document)
    return _hay_prompt(kept)


def _best(candidates: list[Any]) -> list[Any]:
    return sorted(candidates, key=lambda candidate: -_score(candidate))


def _score(candidate: Any) -> float:
    score: float = candidate.metadata["score"] if hasattr(candidate, "page_content") else candidate.score
    return score


def _enough(ranked: list[Any], budget: int, text_of: Callable[[Any], str]) -> list[Any]:
    """In a peer's favour: only the best candidates, twice as much text as can possibly be needed."""
    kept, room = [], 2 * 4 * budget
    for candidate in ranked:
        if room < 0:
            break
        kept.append(candidate)
        room -= len(text_of(candidate))
    return kept


LLAMA: dict[str, Packer] = {
    "LlamaIndex PromptHelper.repack": _repack,
    "LlamaIndex repack, given few": _repack_few,
}
LANGCHAIN: dict[str, Packer] = {
    "LangChain trim_messages": _lang_trim,
    "LangChain split_list_of_docs, given few": _lang_reduce,
    "LangChain, loop over contents": _lang_loop,
    "LangChain, careful loop": _lang_careful_loop,
}
HAYSTACK: dict[str, Packer] = {
    "Haystack LostInTheMiddle": _hay_words,
    "Haystack, loop over contents": _hay_loop,
}
LARGEST = {"LlamaIndex PromptHelper.repack": 4_000, "LangChain split_list_of_docs, given few": 4_000}
"""Budgets above which a contender is not run: repack takes as long at any, split_list_of_docs grows with its square."""

NOTES = [
    (
        "Brimful groups windows by document under one header each, tries every candidate, counts exactly what it "
        "writes, and says of each one left out why. Trim cuts the best that did not fit; fill grows windows into "
        "their documents."
    ),
    (
        "PromptHelper.repack is what CompactAndRefine packs with: it splits everything into prompts, of which "
        "the first is looked at here. It takes as long at any budget, so it is run at one. `given few` spares "
        "it the rest: it gets only the best candidates, twice as much as can fit."
    ),
    (
        "trim_messages cuts the last message at a line; the blank lines between messages are ours. "
        "split_list_of_docs is how ReduceDocumentsChain packs: it counts the whole text anew for "
        "every candidate, so its time grows with the square of the budget."
    ),
    (
        "Loop over contents: count each text until the budget is full, then write it with its header. Careful loop: "
        "count each text with its header and separator. Both stop at the first that does not fit, and look no further."
    ),
    f"LostInTheMiddleRanker limits words; {WORDS_PER_TOKEN} words to a token is the usual rule of thumb.",
]
