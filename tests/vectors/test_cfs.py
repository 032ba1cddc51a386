"""CFS: the specification's own vectors, with the rulings that settle its contradictions."""

from itertools import permutations

import pytest

import brimful
from brimful import Budget, Window
from brimful.assembly.context import verify_determinism
from brimful.assembly.select import groups_of
from brimful.text.tokens import APPROXIMATE, counting

BUDGET = 150


def words(text: str) -> int:
    """A counter that a vector can be written for: one token a word."""
    return len(text.split())


def packing_items(header_words: int) -> list[Window]:
    """A 50, B 100, C 30, D 80 tokens, one document each, with headers of a known price."""
    sizes = {"A": (50, 0.9), "B": (100, 0.85), "C": (30, 0.8), "D": (80, 0.75)}
    path = " ".join(["p"] * (header_words - 1))
    return [
        Window(f"{path}{name}" if header_words > 1 else name, " ".join([name] * tokens), score=score)
        for name, (tokens, score) in sizes.items()
    ]


@pytest.mark.parametrize("header_words", [2, 3, 10, 34, 35])
@pytest.mark.seed(
    "CFS vectors", "the packing vector: A and C, 80 tokens, not truncated", where="assembly/select.py", ruling=6
)
def test_packing_vector(header_words):
    """Budget 150: A and C get in, B and D are skipped, 80 content tokens, nothing truncated (ruling 6)."""
    context = brimful.pack(
        packing_items(header_words), budget=BUDGET, model=counting("words", words), packing="greedy", trim=False
    )
    assert [window.text[0] for window in context.windows] == ["A", "C"]
    assert context.content_tokens == 80
    assert context.truncated is False
    assert [(out.window.text[0], out.reason) for out in context.omitted] == [("B", "budget"), ("D", "budget")]


def test_packing_vector_with_a_real_vocabulary():
    """The same vector holds for o200k, with texts that count exactly 50, 100, 30 and 80 tokens."""
    counter = brimful.tokens_for("o200k_base")
    windows = []
    for name, tokens, score in (("A", 50, 0.9), ("B", 100, 0.85), ("C", 30, 0.8), ("D", 80, 0.75)):
        text = f"{name}" + " tea" * (tokens - 1)
        assert counter.count(text) == tokens
        windows.append(Window(f"{name}.md", text, score=score))
    context = brimful.pack(windows, budget=BUDGET, trim=False)
    assert [window.path for window in context.windows] == ["A.md", "C.md"]
    assert context.content_tokens == 80
    assert not context.truncated
    assert context.tokens == counter.count(context.text) <= BUDGET


@pytest.mark.seed("CFS §7", "truncated says that the budget ran out", where="assembly/pack.py", ruling=6)
def test_truncated_when_the_budget_ran_out():
    """A budget that is spent to the last token with groups left, none of them skipped, is a cut-off ranking."""
    windows = [Window("A", "a " * 148, score=0.9), Window("B", "b", score=0.8)]
    context = brimful.pack(windows, budget=BUDGET, model=counting("words", words), trim=False)
    assert context.tokens == BUDGET
    assert context.truncated


def grouping_items() -> list[Window]:
    """Two chunks each of two documents."""
    return [
        Window("a.md", "Chunk 1", score=0.9, sequence=1),
        Window("b.md", "Chunk 1", score=0.88, sequence=1),
        Window("a.md", "Chunk 2", score=0.85, sequence=2),
        Window("b.md", "Chunk 2", score=0.82, sequence=2),
    ]


@pytest.mark.seed("CFS §6", "windows by document, documents by their best score", where="assembly/select.py", ruling=8)
def test_grouping_vector():
    """Groups are a.md (0.9) and b.md (0.88), each with its chunks in sequence."""
    groups = groups_of(grouping_items())
    assert [(group.windows[0].path, [w.text for w in group.shown], group.windows[0].score) for group in groups] == [
        ("a.md", ["Chunk 1", "Chunk 2"], 0.9),
        ("b.md", ["Chunk 1", "Chunk 2"], 0.88),
    ]


@pytest.mark.seed(
    "CFS §9", "documents under headers, a blank line between them", where="assembly/formats/plain.py", ruling=9
)
def test_format_of_the_grouping_vector():
    """The code of §9 wins over its examples: a blank line stands between documents (ruling 9)."""
    context = brimful.pack(grouping_items(), budget=1_000)
    assert context.text == "[DOC: a.md]\nChunk 1\nChunk 2\n\n[DOC: b.md]\nChunk 1\nChunk 2\n"


@pytest.mark.seed("CFS vectors", "the determinism vector", where="assembly/context.py")
def test_determinism_vector():
    """Two runs, and every order of the input, give the same chunks, text and bytes (§12)."""
    texts = {brimful.pack(list(order), budget=1_000).text for order in permutations(grouping_items())}
    assert len(texts) == 1


@pytest.mark.seed("CFS §12", "assemble twice and compare ids and bytes", where="assembly/context.py")
def test_determinism_verification():
    """§12: two assemblies are compared by ids and bytes, and a difference is noticed."""
    assert verify_determinism(lambda: brimful.pack(grouping_items(), budget=1_000))
    budgets = iter((1_000, 20))
    assert not verify_determinism(lambda: brimful.pack(grouping_items(), budget=next(budgets)))


@pytest.mark.seed("CFS §5", "score, path, sequence, byte offset", where="windows/window.py", ruling=8)
def test_order_of_ties():
    """Equal scores: path, then sequence, then byte offset decide (§5)."""
    windows = [
        Window("b", "x", score=1.0),
        Window("a", "x", 9, score=1.0, sequence=1),
        Window("a", "y", 3, score=1.0, sequence=1),
        Window("a", "z", 7, score=1.0, sequence=0),
    ]
    ordered = sorted(windows, key=lambda window: window.order)
    assert [(w.path, w.sequence, w.start) for w in ordered] == [("a", 0, 7), ("a", 1, 3), ("a", 1, 9), ("b", 0, 0)]


@pytest.mark.seed("CFS §3", "reserves of 200, 100 and 500 tokens", where="budget.py")
def test_default_reserves():
    """TokenBudget::new(2000) leaves 1,200 (§3)."""
    budget = Budget(2_000)
    assert (budget.reserved_system, budget.reserved_query, budget.reserved_response) == (200, 100, 500)
    assert budget.available == 1_200


@pytest.mark.seed(
    "CFS §4", "four characters a token, by default; a model's own vocabulary in production", where="text/tokens.py"
)
def test_default_tokenizer():
    """Four bytes a token, rounded up; a cut text shows its marker inside the limit (§4)."""
    counter = APPROXIMATE
    assert [counter.count("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    cut = counter.truncate("a" * 100, 10)
    assert cut == "a" * 37 + "..."
    assert counter.count(cut) == 10


@pytest.mark.seed("CFS §8.1", "interleaved packing alternates between documents", where="assembly/select.py", ruling=7)
def test_interleaved_rotates_over_documents():
    """Everyone's best window, then everyone's second best (§8.1)."""
    context = brimful.pack(grouping_items(), budget=1_000, packing="interleaved")
    assert [(w.path, w.text) for w in context.windows] == [
        ("a.md", "Chunk 1"),
        ("b.md", "Chunk 1"),
        ("a.md", "Chunk 2"),
        ("b.md", "Chunk 2"),
    ]


@pytest.mark.seed(
    "CFS §8.2", "score-weighted packing stops at the first that does not fit", where="assembly/select.py", ruling=7
)
def test_score_weighted_stops_at_the_first_that_does_not_fit():
    """Strictly by score, whatever would still fit after it (§8.2, ruling 7)."""
    context = brimful.pack(
        packing_items(2), budget=BUDGET, model=counting("words", words), packing="score_weighted", trim=False
    )
    assert [window.text[0] for window in context.windows] == ["A"]
    assert [out.reason for out in context.omitted] == ["budget", "stopped", "stopped"]
    assert context.truncated


@pytest.mark.seed("CFS §10", "above 80 % overlap is a duplicate", where="assembly/dedupe.py", ruling=8)
def test_overlap_must_be_strictly_above_the_threshold():
    """Exactly 80 % shared is kept, more is left out (§10)."""
    page = brimful.Document("a.md", " ".join(f"{n:04}" for n in range(200)))
    best = Window.cut(page, 0, 100, score=1.0)
    assert len(brimful.dedupe([best, Window.cut(page, 20, 120)])) == 2
    assert len(brimful.dedupe([best, Window.cut(page, 19, 119)])) == 1


def test_top_three_come_early():
    """The three best windows are among the first five of a greedy context (property 3)."""
    windows = [Window(f"{n}.md", f"text number {n}", score=float(n)) for n in range(20)]
    shown = brimful.pack(windows, budget=200).windows
    best = {w.id for w in sorted(shown, key=lambda w: w.order)[:3]}
    assert best <= {w.id for w in shown[:5]}


def test_strongest_at_both_ends():
    """The optional order puts the best document first and the second best last."""
    windows = [Window(f"{n}.md", f"text number {n}", score=float(n)) for n in range(1, 6)]
    shown = brimful.pack(windows, budget=200, order="ends").windows
    assert [w.score for w in shown] == [5.0, 3.0, 1.0, 2.0, 4.0]
