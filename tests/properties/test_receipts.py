"""Receipts of whatever can be packed: they hold, and any change is found."""

from blake3 import blake3
from hypothesis import assume, given
from hypothesis import strategies as st

from brimful import Document, pack
from brimful.receipts.checking import check, check_store
from brimful.receipts.receipt import Receipt, make_receipt
from brimful.settings import FILLS
from brimful.store.merkle import all_buckets, bucket_of, leaf_hash, prove, root_of
from brimful.store.rows import Row
from tests.properties.strategies import formats, packings, texts
from tests.properties.test_pipeline import inflated


class Held:
    """Documents in memory as a snapshot: what receipts ask of one."""

    generation = 1

    def __init__(self, documents):
        self.documents = sorted(documents, key=lambda document: document.path)
        self.buckets = {}
        for document in self.documents:
            leaf = leaf_hash(document.path, document.time, blake3(document.content).digest())
            self.buckets.setdefault(bucket_of(document.path), []).append((document.path, leaf))
        self.levels = all_buckets({number: root_of(leaf for _, leaf in held) for number, held in self.buckets.items()})
        self.root = self.levels[-1][0]

    def row(self, path):
        """The document of that path."""
        for number, document in enumerate(self.documents):
            if document.path == path:
                content_hash = blake3(document.content).digest()
                return Row(
                    number,
                    path,
                    raw_id=bytes.fromhex(document.id),
                    content_hash=content_hash,
                    leaf=leaf_hash(path, document.time, content_hash),
                    bucket=bucket_of(path),
                    length=len(document),
                    time=document.time,
                    kind=document.kind,
                    language=document.language,
                    rule="",
                    title=None,
                    origin=None,
                    stamp=None,
                )
        return None

    def expect(self, paths, *, proofs=False):
        """All of it is at hand."""

    def read(self, number, start, end):
        """Bytes of a document."""
        return self.documents[number].content[start:end]

    def prove(self, path):
        """That a document is under the root."""
        held = self.buckets[bucket_of(path)]
        at = [name for name, _ in held].index(path)
        return prove([leaf for _, leaf in held], at, place=bucket_of(path), above=self.levels)


@st.composite
def receipted(draw):
    """Documents, a context cut from them, and its receipt after a round trip."""
    docs, *_, inflation = draw(inflated(text=texts))
    context = pack(
        inflation,
        budget=draw(st.integers(1, 600)),
        format=draw(formats),
        packing=draw(packings),
        fill=draw(st.sampled_from(FILLS)),
        include_metadata=draw(st.booleans()),
        dedup_threshold=draw(st.sampled_from([None, 0.8])),
    )
    question = draw(texts)
    receipt = make_receipt(context, question=question, snapshot=Held(docs), settings={"fill": "brim"})
    back = Receipt.from_json(receipt.to_json())
    assert back == receipt
    return docs, context.text, back


@given(receipted())
def test_every_receipt_holds(made):
    """Whatever was packed in whatever format, its receipt is right offline and against its state."""
    docs, text, receipt = made
    assert check(receipt, text=text) == []
    assert check_store(receipt, Held(docs)) == []
    assert check_store(receipt, Held(docs), text=text) == []


@given(receipted(), st.data())
def test_every_change_of_a_text_is_found(made, data):
    """A character that is another one, is missing or was added is found."""
    docs, text, receipt = made
    at = data.draw(st.integers(0, len(text)))
    new = text[:at] + data.draw(st.text(max_size=2)) + text[at + data.draw(st.integers(0, 2)) :]
    assert (check(receipt, text=new) == []) == (new == text)
    assert (check_store(receipt, Held(docs), text=new) == []) == (new == text)


@given(receipted(), st.data())
def test_every_change_of_a_cited_document_is_found(made, data):
    """Another content under a cited path is found and named, and what it says is about that document alone."""
    docs, text, receipt = made
    assume(receipt.documents)
    path = data.draw(st.sampled_from([document.path for document in receipt.documents]))
    document = next(document for document in docs if document.path == path)
    at = data.draw(st.integers(0, len(document)))
    said = document.content.decode()
    at = min(at, len(said))
    new = said[:at] + data.draw(st.text(max_size=2)) + said[at + data.draw(st.integers(0, 2)) :]
    assume(new != said)
    others = [other for other in docs if other.path != path]
    findings = check_store(receipt, Held([*others, Document(path, new, time=document.time)]), text=text)
    assert findings[0].kind == "state"
    assert {finding.path for finding in findings[1:]} == {path}
    assert {finding.kind for finding in findings[1:]} <= {"changed", "elsewhere"}
