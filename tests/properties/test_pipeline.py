"""The invariants of the pure core, over whatever Hypothesis can think of."""

import os
import subprocess
import sys
from itertools import pairwise
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import brimful
from brimful import Document, Hit, Window, WindowSettings, inflate, pack, parse, render
from brimful.settings import FILLS, FORMATS, ORDERS, STRATEGIES
from tests.properties.strategies import (
    counters,
    documents,
    formats,
    hits_in,
    long_texts,
    own_windows,
    packings,
    sizings,
    texts,
)


@st.composite
def inflated(draw, *, text=texts):
    """Documents, hits, and the windows that they inflate to under some policy."""
    docs = draw(documents(text=text))
    hits = draw(hits_in(docs))
    settings = {"sizing": draw(sizings), "strategy": draw(st.sampled_from(STRATEGIES))}
    limit = draw(st.sampled_from([{}, {"budget": 200}, {"budget": 5_000}, {"max_bytes": 300}, {"max_bytes": 3_000}]))
    return docs, hits, {**settings, **limit}, inflate(hits, docs, **settings, **limit)


@given(
    inflated(),
    own_windows(),
    counters,
    formats,
    packings,
    st.integers(1, 600),
    st.booleans(),
    st.sampled_from(FILLS),
    st.sampled_from(ORDERS),
    st.booleans(),
)
@pytest.mark.seed("CFS property 2", "never over the budget", where="assembly/pack.py", ruling=5)
def test_never_over(found, own, counter, form, packing, budget, trim, fill, order, metadata):
    """The rendered text counts at most the budget, for every strategy, format and tokenizer."""
    *_, inflation = found
    given_windows = [*inflation.items, *own]
    context = pack(
        given_windows,
        budget=budget,
        model=counter,
        format=form,
        packing=packing,
        trim=trim,
        fill=fill,
        order=order,
        include_metadata=metadata,
    )
    assert counter.count(context.text) == context.tokens <= budget
    assert render(context) == context.text


@given(inflated())
def test_window_text_is_the_documents_bytes(found):
    """A window holds exactly the bytes that it cites, inside its document."""
    docs, _, _, inflation = found
    by_path = {document.path: document for document in docs}
    for window in inflation:
        content = by_path[window.path].content
        assert 0 <= window.start <= window.end <= len(content)
        assert window.text.encode() == content[window.start : window.end]
        for seam in window.seams:
            assert seam.text.encode() == content[seam.start : seam.end]
            assert seam.end <= window.start or seam.start >= window.end


@given(inflated(), st.randoms(use_true_random=False))
def test_order_of_hits_does_not_matter(found, random):
    """Any permutation of hits and documents inflates to the same windows."""
    docs, hits, settings, inflation = found
    hits, docs = list(hits), list(docs)
    random.shuffle(hits)
    random.shuffle(docs)
    again = inflate(hits, docs, **settings)
    assert again.windows == inflation.windows
    assert again.clusters == inflation.clusters
    assert again.dropped == inflation.dropped


@given(inflated(), own_windows(), packings, formats, st.integers(1, 400), st.randoms(use_true_random=False))
@pytest.mark.seed("CFS property 1", "the same bytes, whatever the order", where="assembly/pack.py")
def test_order_of_windows_does_not_matter(found, own, packing, form, budget, random):
    """Any permutation of the candidates packs to the same bytes."""
    windows = [*found[-1].windows, *own]
    first = pack(windows, budget=budget, packing=packing, format=form)
    random.shuffle(windows)
    again = pack(windows, budget=budget, packing=packing, format=form)
    assert again.text == first.text
    assert [(out.window.id, out.reason) for out in again.omitted] == [
        (out.window.id, out.reason) for out in first.omitted
    ]


@given(inflated())
def test_a_hit_is_never_cut_away(found):
    """Every hit that was not squeezed out stands whole in windows, unless it alone exceeds the cap or the limit."""
    _, hits, settings, inflation = found
    dropped = set(inflation.dropped)
    limit = settings.get("max_bytes")
    for hit in hits:
        if hit in dropped:
            continue
        holders = [window for window in inflation if hit in window.hits]
        assert holders
        bytes_shown = set()
        for window in inflation:
            if window.path == hit.path:
                bytes_shown |= set(range(window.start, window.end))
        missing = set(range(hit.start, hit.end)) - bytes_shown
        assert not missing or (limit is not None and hit.end - hit.start + 6 > limit), (missing, hit)


@given(inflated())
def test_byte_limit_is_strict(found):
    """With max_bytes, the windows together never hold more."""
    _, _, settings, inflation = found
    if "max_bytes" in settings:
        assert sum(window.end - window.start for window in inflation) <= settings["max_bytes"]


@given(inflated())
def test_windows_do_not_overlap(found):
    """No byte of a document is in two windows."""
    last = {}
    for window in sorted(found[-1], key=lambda w: (w.path, w.start)):
        assert last.get(window.path, 0) <= window.start
        last[window.path] = window.end


@given(inflated())
def test_coherence_is_explained(found):
    """A coherence lies in 0..1 and follows from its parts."""
    for window in found[-1]:
        score, parts = window.coherence.score, window.coherence.parts
        assert 0.0 <= score <= 1.0
        assert abs(score - sum(p.value * p.weight for p in parts) / sum(p.weight for p in parts)) < 0.001
    for cluster in found[-1].clusters:
        assert 0.0 <= cluster.coherence.score <= 1.0


@given(st.lists(documents(text=long_texts, most=1), min_size=1, max_size=1), packings, counters, st.integers(500, 900))
def test_filled_to_the_brim(found, packing, counter, budget):
    """With trimming on and enough text offered, at least 98 % of the budget is used."""
    (document,) = found[0]
    windows = [Window.cut(document, 0, len(document), score=1.0)]
    assume(counter.count(document.content.decode()) > budget * 1.2)
    assume(counter.name != "words")
    context = pack(windows, budget=budget, packing=packing, model=counter, fill="relevant")
    assert context.truncated
    assert budget * 0.98 <= context.tokens <= budget


@given(documents(text=long_texts, most=1), st.sampled_from(["o200k_base", "cl100k_base", "mistral_v1", "approximate"]))
def test_growing_fills_to_the_brim(docs, model):
    """One small hit in a large document: growing it fills the budget."""
    document = docs[0]
    assume(brimful.tokens_for(model).count(document.content.decode()) > 700)
    hit = Hit(document.path, len(document) // 2, len(document) // 2, 1.0)
    windows = inflate([hit], docs, max_bytes=200)
    assume(windows.windows[0].text.strip())  # a hit on blank lines alone shows nothing
    context = pack(windows, budget=500, model=model)
    assert 490 <= context.tokens <= 500


@given(inflated(), own_windows(), formats, packings, st.integers(20, 2_000), st.booleans())
def test_every_byte_is_accounted_for(found, own, form, packing, budget, metadata):
    """Pieces cover the text without gap, and each source piece is its document's bytes."""
    docs, *_, inflation = found
    by_id = {document.id: document for document in docs}
    context = pack([*inflation, *own], budget=budget, format=form, packing=packing, include_metadata=metadata)
    raw, at = context.text.encode(), 0
    for piece in context.pieces:
        assert piece.start == at
        at = piece.end
        assert raw[piece.start : piece.end] == piece.text.encode()
        if piece.kind == "source" and piece.document_id:
            assert by_id[piece.document_id].content[piece.source_start : piece.source_end] == piece.text.encode()
    assert at == len(raw)
    assert context.drift() == [] or any(w.document is None for w in context.windows)


@given(inflated(), own_windows(), formats, st.integers(50, 2_000))
def test_parse_recovers_windows(found, own, form, budget):
    """With metadata, reading a context back gives its windows: path, range, text, score, edges."""
    context = pack([*found[-1], *own], budget=budget, format=form, include_metadata=True)
    expected = [
        (w.path, w.start, w.end, w.text, w.score, w.cut_start, w.cut_end, "\n".join(s.text for s in w.seams))
        for w in context.windows
    ]
    read = [
        (w.path, w.start, w.end, w.text, w.score, w.cut_start, w.cut_end, "\n".join(s.text for s in w.seams))
        for w in parse(context)
    ]
    assert read == expected


@given(inflated(), formats, st.integers(50, 2_000))
def test_parse_recovers_windows_without_metadata(found, form, budget):
    """Without metadata too, windows of known documents are told apart by their edges."""
    context = pack(found[-1], budget=budget, format=form)
    assert [(w.path, w.text) for w in parse(context)] == [(w.path, w.text) for w in context.windows]


@given(own_windows(), st.sampled_from(FORMATS))
@pytest.mark.seed("CFS §9", "a text can't forge a header", where="assembly/formats/plain.py", ruling=9)
def test_headers_can_not_be_forged(own, form):
    """Reading back finds exactly the real headers, in order, whatever the documents say."""
    context = pack(own, budget=5_000, format=form, packing="score_weighted")
    real = [block.path for block in context.blocks]
    read = [window.path for window in parse(context)]
    runs = [path for at, path in enumerate(read) if at == 0 or read[at - 1] != path]
    assert runs == real


@pytest.mark.parametrize("text", ["", "x", "é", "\x00", "\r\n", "\n", "👩‍👩‍👧", "...", "[DOC: a.md]"])
@pytest.mark.parametrize("form", FORMATS)
def test_smallest_documents(text, form):
    """Empty and one-character documents pass through the whole pipeline."""
    document = Document("a.md", text)
    inflation = inflate([Hit("a.md", 0, len(document), 1.0)], [document])
    context = pack(inflation, budget=200, format=form)
    assert "".join(window.text for window in context.windows) == text
    assert parse(context)[0].text == text if context.windows else text == ""


PROGRAM = """
from brimful import Document, Hit, inflate, pack
text = "Ada met Babbage in {}. They spoke of engine {}. "
documents = [Document(f"{n}.md", text.format(1800 + n, n) * 30, time=n * 60) for n in range(9)]
hits = [Hit(d.path, at, at + 9, (at % 7) / 3, terms=("ada",)) for d in documents for at in range(0, 1200, 170)]
for strategy in ("adjacent", "temporal", "semantic", "narrative"):
    for form in ("plain", "markdown", "xml", "json"):
        for packing in ("greedy", "interleaved", "score_weighted"):
            windows = inflate(hits, documents, budget=900, strategy=strategy)
            context = pack(windows, budget=900, format=form, packing=packing, dedup_threshold=0.8)
            print(context.text, [(out.window.id, out.reason) for out in context.omitted], context.trimmed)
"""


def test_hash_seeds_do_not_matter():
    """PYTHONHASHSEED 0 to 4, in processes of their own, give identical bytes."""
    outputs = set()
    for seed in range(5):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True)
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 10_000


@given(st.integers(0, 10**6), sizings, st.sampled_from([{}, {"budget": 800}, {"max_bytes": 6_000}]))
def test_long_hits(seed, sizing, limit):
    """Hits of thousands of bytes, overlapping at will: windows never overlap, no window exceeds the cap by more than
    its boundaries, and every byte of every hit within the cap is shown.
    """
    random = Random(seed)
    document = Document("a.txt", "".join(f"Sentence {n} of the long text. " for n in range(900)))
    starts = [random.randrange(0, 20_000) for _ in range(random.randrange(1, 9))]
    hits = [Hit("a.txt", start, start + random.choice([10, 900, 2_400, 4_000]), random.random()) for start in starts]
    found = inflate(hits, [document], sizing=sizing, settings=WindowSettings(snap=False), **limit)
    shown = sorted((window.start, window.end) for window in found)
    assert all(one[1] <= other[0] for one, other in pairwise(shown))
    assert sum(end - start for start, end in shown) <= limit.get("max_bytes", 10**9)
    if sizing == "density":
        assert all(end - start <= 2_500 for start, end in shown)
    for hit in hits:
        if hit in found.dropped or hit.end - hit.start > 2_500 or "max_bytes" in limit:
            continue
        missing = (hit.end - hit.start) - sum(max(0, min(hit.end, e) - max(hit.start, s)) for s, e in shown)
        covered_by_longer = any(o.end - o.start > 2_500 and o.start <= hit.end and hit.start <= o.end for o in hits)
        assert missing == 0 or covered_by_longer
