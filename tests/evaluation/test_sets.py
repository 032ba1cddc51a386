"""Evaluation sets are read strictly: what is measured on is what was meant."""

import pytest

from brimful.errors import InputError
from brimful.evaluation import Place, read_set
from tests.evaluation.conftest import DOCS, QUESTIONS, write_lines


def test_evidence_is_bytes_whichever_way_it_is_given(folder):
    """Characters, bytes or both name the same range; questions without evidence are left out."""
    found = read_set(folder)
    assert found.name == "small"
    assert [question.id for question in found.questions] == ["q1", "q2", "q3"]
    assert [question.evidence for question in found.questions] == [
        (Place("boats.md", 9, 34),),
        (Place("tee.md", 19, 54),),
        (Place("cha.md", 0, 21),),
    ]
    assert found.documents[1].text(19, 54) == "Über vier Grad bleibt er flüssig."


def _evidence(**changes):
    return [{**QUESTIONS[0], "evidence": [{**QUESTIONS[0]["evidence"][0], **changes}]}]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (_evidence(doc_id="ships.md"), r"questions.jsonl:1, evidence\[0\]: no document 'ships.md'"),
        (_evidence(text="The ferry sinks at nine.."), "holds 'The ferry leaves at nine.', not"),
        (_evidence(bstart=8, bend=33), r"characters \(9, 34\) are the bytes \(9, 34\), not \(8, 33\)"),
        (_evidence(end=1000), "ends outside"),
        (_evidence(start="9"), "whole number"),
        (_evidence(start=None, end=None), "needs start and end"),
        ([{**QUESTIONS[0], "question": 7}], "'question' must be a text, got 7"),
        ([{**QUESTIONS[0], "evidence": "here"}], "must be a list of objects"),
        ([QUESTIONS[0], QUESTIONS[0]], "questions.jsonl:2: question 'q1' is there twice"),
        ([QUESTIONS[3]], "no question with evidence"),
        ([["q1"]], "one object a line"),
    ],
)
def test_a_wrong_question_is_named(folder, questions, message):
    """Every mistake is an InputError with its file, line and value."""
    write_lines(folder / "questions.jsonl", questions)
    with pytest.raises(InputError, match=message):
        read_set(folder)


def test_wrong_files_are_named(folder, tmp_path):
    """So is a file that is missing, broken, doubled or of another kind."""
    with pytest.raises(InputError, match=r"has no docs\.jsonl"):
        read_set(tmp_path)
    write_lines(folder / "docs.jsonl", [DOCS[0], DOCS[0]])
    with pytest.raises(InputError, match=r"docs.jsonl:2: document 'boats.md' is there twice"):
        read_set(folder)
    (folder / "docs.jsonl").write_text("{not json\n")
    with pytest.raises(InputError, match=r"docs.jsonl:1 is not JSON"):
        read_set(folder)
    (folder / "docs.jsonl").write_bytes(b'{"doc_id": "\xff"}')
    with pytest.raises(InputError, match="byte 12 is not UTF-8"):
        read_set(folder)
    write_lines(folder / "docs.jsonl", DOCS)
    (folder / "questions.jsonl").unlink()
    with pytest.raises(InputError, match="can't be read"):
        read_set(folder)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the harness leaves a file open
def test_shared_sets_are_read_as_the_harness_reads_them(harness, shared):
    """Same documents and questions; every stored byte range is the stored character range."""
    for name in ("chroma", "qa_xquad_zh", "memory_locomo"):
        texts, questions = harness.load_qa(name)
        found = read_set(shared / "data" / name)
        assert {document.path: document.content.decode() for document in found.documents} == texts
        assert [question.id for question in found.questions] == [question["qid"] for question in questions]
        for ours, theirs in zip(found.questions, questions, strict=True):
            assert [(at.start, at.end) for at in ours.evidence] == [
                (x["bstart"], x["bend"]) for x in theirs["evidence"]
            ]
