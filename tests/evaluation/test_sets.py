"""Evaluation sets are read strictly: what is measured on is what was meant."""

import json

import pytest

from brimful.errors import ChoiceError, InputError
from brimful.evaluation.sets import Evidence, read_set, split_of, write_set
from tests.evaluation.conftest import DOCS, QUESTIONS, write_lines


def test_evidence_is_bytes_whichever_way_it_is_given(folder):
    """Characters, bytes or both name the same range; questions without evidence are left out."""
    found = read_set(folder)
    assert (found.name, found.layout) == ("small", "qa")
    assert [question.id for question in found.questions] == ["q1", "q2", "q3"]
    assert [question.evidence for question in found.questions] == [
        (Evidence("boats.md", 9, 34),),
        (Evidence("tee.md", 19, 54),),
        (Evidence("cha.md", 0, 21),),
    ]
    assert found.by_path["tee.md"].text(19, 54) == "Über vier Grad bleibt er flüssig."


def test_scope_is_kept_only_where_it_is_asked_for(folder):
    """Pooled questions are asked of all documents, `own` ones of those they name."""
    assert [question.scope for question in read_set(folder).questions] == [None, None, None]
    assert [question.scope for question in read_set(folder, scope="own").questions] == [("boats.md",), None, None]


def test_a_split_is_the_parity_of_a_hash(folder):
    """Both halves together are the set, and each question's half is that of its id."""
    write_lines(folder / "questions.jsonl", [{**QUESTIONS[0], "qid": f"q{number}"} for number in range(40)])
    halves = {split: {question.id for question in read_set(folder, split=split).questions} for split in SPLITS}
    assert halves["dev"] | halves["holdout"] == halves["all"]
    assert not halves["dev"] & halves["holdout"]
    assert all(split_of(name) == "dev" for name in halves["dev"])
    assert len(halves["dev"]) in range(10, 31)


SPLITS = ("all", "dev", "holdout")


def test_other_wordings_replace_the_questions(folder, tmp_path):
    """A file of misspelt questions changes texts, keeps evidence, and leaves out what it does not name."""
    write_lines(tmp_path / "typos.jsonl", [{"qid": "q2", "question": "Wan bleibt Tee flüsig?"}])
    (question,) = read_set(folder, questions=tmp_path / "typos.jsonl").questions
    assert (question.text, question.evidence) == ("Wan bleibt Tee flüsig?", (Evidence("tee.md", 19, 54),))


def test_ir_layout_reads_documents_and_grades(ir_folder):
    """Title and text are one document; grades of zero and queries without a relevant document do not count."""
    found = read_set(ir_folder)
    assert found.layout == "ir"
    assert found.by_path["a"].content == b"Ferries\nThey leave at nine."
    assert found.by_path["b"].content == b"Tea is hot."
    assert [(question.id, question.relevant) for question in found.questions] == [("1", (("b", 2), ("a", 1)))]


def test_what_is_written_is_read_back(folder, tmp_path):
    """A set survives being written, byte for byte the second time."""
    found = read_set(folder, scope="own")
    write_set(found, tmp_path / "one" / "small")
    write_set(read_set(tmp_path / "one" / "small", scope="own"), tmp_path / "two" / "small")
    assert read_set(tmp_path / "two" / "small", scope="own") == found
    for name in ("docs.jsonl", "questions.jsonl"):
        assert (tmp_path / "one/small" / name).read_bytes() == (tmp_path / "two/small" / name).read_bytes()
    line = json.loads((tmp_path / "one/small/questions.jsonl").read_text(encoding="utf-8").splitlines()[1])
    assert (line["evidence"][0]["start"], line["evidence"][0]["bstart"]) == (18, 19)


def test_ir_sets_are_not_written(ir_folder, tmp_path):
    """What has no evidence ranges can't be written as a qa set."""
    with pytest.raises(InputError, match="only 'qa' sets"):
        write_set(read_set(ir_folder), tmp_path / "out")


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
        ([{**QUESTIONS[0], "doc_ids": ["x"]}], "no document 'x'"),
        ([{**QUESTIONS[0], "doc_ids": []}], "'doc_ids' must be a list of documents or null"),
        ([QUESTIONS[0], QUESTIONS[0]], "questions.jsonl:2: question 'q1' stands there a second time"),
        ([QUESTIONS[3]], "no question with evidence"),
        ([["q1"]], "one object a line"),
    ],
)
def test_a_wrong_question_is_named(folder, questions, message):
    """Every mistake is an InputError with its file, line and value."""
    write_lines(folder / "questions.jsonl", questions)
    with pytest.raises(InputError, match=message):
        read_set(folder)


def test_wrong_files_are_named(folder, ir_folder, tmp_path):
    """So is a file that is missing, broken, doubled or of another kind."""
    with pytest.raises(InputError, match="neither docs"):
        read_set(tmp_path)
    with pytest.raises(ChoiceError, match="unknown split 'test'"):
        read_set(folder, split="test")
    write_lines(folder / "docs.jsonl", [DOCS[0], DOCS[0]])
    with pytest.raises(InputError, match=r"docs.jsonl:2: document 'boats.md' stands there a second time"):
        read_set(folder)
    (folder / "docs.jsonl").write_text("{not json\n")
    with pytest.raises(InputError, match=r"docs.jsonl:1 is not JSON"):
        read_set(folder)
    (folder / "docs.jsonl").write_bytes(b'{"doc_id": "\xff"}')
    with pytest.raises(InputError, match="byte 12 is not UTF-8"):
        read_set(folder)
    (ir_folder / "qrels.tsv").write_text("1 b 2\n")
    with pytest.raises(InputError, match="between tabs"):
        read_set(ir_folder)
    (ir_folder / "qrels.tsv").write_text("1\tz\t2\n")
    with pytest.raises(InputError, match=r"qrels.tsv:1: no document 'z'"):
        read_set(ir_folder)
    (ir_folder / "qrels.tsv").unlink()
    with pytest.raises(InputError, match="can't be read"):
        read_set(ir_folder)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the harness leaves a file open
def test_shared_sets_are_read_as_the_harness_reads_them(harness, shared):
    """Same documents, questions and splits; every stored byte range is the stored character range."""
    for name in ("chroma", "qa_xquad_zh", "memory_locomo"):
        texts, questions = harness.load_qa(name)
        found = read_set(shared / "data" / name, scope="own")
        assert {document.path: document.content.decode() for document in found.documents} == texts
        assert [question.id for question in found.questions] == [question["qid"] for question in questions]
        for ours, theirs in zip(found.questions, questions, strict=True):
            assert [(at.start, at.end) for at in ours.evidence] == [
                (x["bstart"], x["bend"]) for x in theirs["evidence"]
            ]
            assert split_of(ours.id) == harness.split_of(ours.id)
    corpus, queries, grades = harness.load_ir("ir_cranfield")
    found = read_set(shared / "data" / "ir_cranfield")
    assert {document.path: document.content.decode() for document in found.documents} == corpus
    assert {question.id: question.text for question in found.questions} == queries
    assert all(dict(question.relevant) == grades[question.id] for question in found.questions)
