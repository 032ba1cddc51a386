"""Measures by hand, against plain sets, and against the published harness."""

import random

from hypothesis import given
from hypothesis import strategies as st

from brimful import Document
from brimful.evaluation import Place, Scores, TokenAxis, read_set, score

WORDS = Document("a.txt", "one two three four five six seven eight nine ten")  # each word one token


def words(first, last, document=WORDS):
    """The bytes of words `first` to `last` (from 0, inclusive)."""
    parts = document.content.decode().split(" ")
    start = len(" ".join(parts[:first])) + (first > 0)
    return Place(document.path, start, start + len(" ".join(parts[first : last + 1])))


def measured(cited, evidence, budget, documents=(WORDS,)):
    """The scores of an answer."""
    axis = TokenAxis(documents)
    return score(axis, evidence, axis.fill(cited, budget=budget).tokens)


def test_by_hand():
    """Ten words, evidence of four, an answer that holds two of them among five."""
    found = measured([words(2, 6)], [words(5, 8)], 100)
    assert found == Scores(recall=2 / 4, precision=2 / 5, iou=2 / 7, full=0.0, tokens=5)


def test_the_last_window_is_cut_at_the_budget():
    """Windows are taken in rank order; of the one that overflows only its beginning counts."""
    cited = [words(8, 9), words(0, 5)]
    assert measured(cited, [words(0, 1)], 4) == Scores(1.0, 2 / 4, 2 / 4, 1.0, 4)
    assert measured(cited, [words(1, 2)], 4) == Scores(1 / 2, 1 / 4, 1 / 5, 0.0, 4)
    assert measured(cited, [words(0, 1)], 2) == Scores(0.0, 0.0, 0.0, 0.0, 2)


def test_a_token_is_paid_once():
    """What stands in the context already is free, so the second window reaches further."""
    cited = [words(3, 4), words(2, 6)]
    assert TokenAxis([WORDS]).fill(cited, budget=4).tokens.tolist() == [3, 4, 2, 5]
    assert measured(cited, [words(5, 5)], 4).recall == 1.0


def test_evidence_that_overlaps_is_needed_once_and_full_means_all_of_it():
    """Recall counts distinct tokens; full asks for all of them."""
    evidence = [words(0, 3), words(2, 5)]
    assert measured([words(0, 3)], evidence, 100) == Scores(4 / 6, 1.0, 4 / 6, 0.0, 4)
    assert measured([words(0, 5)], evidence, 100) == Scores(1.0, 1.0, 1.0, 1.0, 6)


def test_blank_tokens_cost_but_are_no_evidence():
    """White space is in the context's price, never in what was wanted."""
    document = Document("b.txt", "one\n\n\n\ntwo")
    everything = Place("b.txt", 0, len(document))
    found = measured([everything], [everything], 100, [document])
    assert found.tokens == 3
    assert found == Scores(1.0, 2 / 3, 2 / 3, 1.0, 3)


def test_a_character_of_several_tokens_is_in_or_out_as_a_whole():
    """Tokens inside one character have its place; no token is lost where a text is all such characters."""
    document = Document("c.txt", "𓀀𓀁𓀂")  # each of several tokens
    axis = TokenAxis([document])
    per_character = [axis.span(Place("c.txt", 4 * n, 4 * n + 4)) for n in range(3)]
    assert [first for first, _ in per_character[1:]] == [last for _, last in per_character[:-1]]
    assert per_character[-1][1] == len(axis) > 3
    assert axis.span(Place("c.txt", 1, 4)) == (per_character[1][0], per_character[1][0])


def test_nothing_to_find_is_found():
    """Evidence in which no token starts counts as recalled, at no precision."""
    assert measured([words(0, 1)], [Place("a.txt", 1, 2)], 10) == Scores(1.0, 0.0, 0.0, 1.0, 2)
    assert measured([], [words(0, 0)], 10) == Scores(0.0, 0.0, 0.0, 0.0, 0)


def test_wrong_citations_are_counted_and_gain_nothing():
    """Unknown documents and bytes beyond a document's end buy nothing and are reported."""
    axis = TokenAxis([WORDS])
    filled = axis.fill([Place("z", 0, 1), Place("a.txt", 0, 1000), Place("a.txt", 5, 4), words(0, 0)], budget=5)
    assert (filled.invalid, filled.tokens.tolist()) == (3, [0])


def test_an_overlong_answer_is_known():
    """`asked` is what the whole answer would cost, each token once."""
    filled = TokenAxis([WORDS]).fill([words(0, 4), words(3, 6), words(1, 2)], budget=2)
    assert (filled.answer_tokens, len(filled.tokens)) == (7, 2)


@st.composite
def cases(draw):
    """Two documents, an answer and evidence in them, and a budget."""
    alphabet = st.sampled_from(["a", "the ", " \n", "zug", "ü", "茶", "𓀀", "\u3000", " 12", ".\n\n", "\x85"])
    documents = [Document(path, "".join(draw(st.lists(alphabet, max_size=25)))) for path in ("x", "y")]
    ranges = st.builds(
        lambda document, one, two: Place(
            document.path, *sorted((one % (len(document) + 1), two % (len(document) + 1)))
        ),
        st.sampled_from(documents),
        st.integers(0, 200),
        st.integers(0, 200),
    )
    return (
        documents,
        draw(st.lists(ranges, max_size=8)),
        draw(st.lists(ranges, min_size=1, max_size=3)),
        draw(st.integers(1, 40)),
    )


@given(cases())
def test_measures_are_those_of_plain_sets(case):
    """Arrays and look-ups give what loops over single tokens give."""
    documents, cited, evidence, budget = case
    axis = TokenAxis(documents)
    context = []
    for at in cited:
        if len(context) >= budget:
            break
        context += [token for token in range(*axis.span(at)) if token not in context][: budget - len(context)]
    pieces = [{token for token in range(*axis.span(at)) if not axis.is_blank[token]} for at in evidence]
    wanted, held = set().union(*pieces), set(context)
    filled = axis.fill(cited, budget=budget)
    assert filled.tokens.tolist() == context
    assert filled.answer_tokens == len({token for at in cited for token in range(*axis.span(at))})
    found = score(axis, evidence, filled.tokens)
    if wanted:
        got = len(wanted & held)
        expected = got / len(wanted), got / len(held) if held else 0.0, got / len(wanted | held), float(wanted <= held)
        assert found == (*expected, len(held))


def test_scores_are_the_published_harness_s(harness, shared):
    """On real sets in English, Chinese and code, every score of a drawn answer is equal to the last digit."""
    chance = random.Random(7)
    for name in ("chroma", "qa_xquad_zh", "qa_anthropic_code"):
        texts, questions = harness.load_qa(name)
        theirs = {path: harness.Doc(path, text) for path, text in texts.items()}
        found = read_set(shared / "data" / name)
        axis = TokenAxis(found.documents)
        assert len(axis) == sum(document.ntok() for document in theirs.values())
        for ours, raw in list(zip(found.questions, questions, strict=True))[:40]:
            ranges = list(_drawn_ranges(chance, texts, raw["evidence"][0]))
            cited = [_in_bytes(texts, at) for at in ranges]
            for budget in (40, 500, 2000):
                cover, used = harness.fill(theirs, ranges, budget)
                expected = harness.score(theirs, raw, cover)
                filled = axis.fill(cited, budget=budget)
                assert len(filled.tokens) == used
                assert filled.answer_tokens == harness.fill(theirs, ranges, 10**9)[1]
                keys = ("recall", "precision", "iou", "full", "tokens")
                assert score(axis, ours.evidence, filled.tokens) == tuple(expected[key] for key in keys)


def _drawn_ranges(chance, texts, evidence):
    """Ranges of characters, some of them near the evidence."""
    for number in range(30):
        near = number % 3 == 0
        path = evidence["doc_id"] if near else chance.choice(sorted(texts))
        size = len(texts[path])
        start = evidence["start"] + chance.randrange(-200, 100) if near else chance.randrange(size + 1)
        start = min(max(start, 0), size)
        yield path, start, min(size, start + chance.randrange(500))


def _in_bytes(texts, at):
    path, start, end = at
    first = len(texts[path][:start].encode())
    return Place(path, first, first + len(texts[path][start:end].encode()))
