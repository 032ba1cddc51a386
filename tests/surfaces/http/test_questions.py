"""What is asked over HTTP: contexts, searches, explanations, receipts."""

import json
from dataclasses import replace

import pytest

from brimful import Budget
from brimful.receipts.receipt import Receipt
from brimful.settings import CFS, FORMATS, WindowSettings
from brimful.surfaces import records
from tests.surfaces.http.conftest import problem


@pytest.mark.parametrize("form", FORMATS)
def test_a_context_is_the_engines_own(client, engine, form):
    """The record is the one that every surface gives, to the byte of its text."""
    asked = {"question": "When did tea come to Europe?", "budget": 80, "format": form}
    expected = engine.context(asked["question"], budget=80, format=form)
    response = client.post("/v1/context", json=asked)
    assert response.status_code == 200
    assert response.json() == json.loads(records.as_json(records.answer_record(expected)))
    assert response.json()["text"].encode() == expected.text.encode()


def test_reserves_are_taken_from_the_budget(client):
    """A whole call's budget leaves what it reserves, and the account adds up."""
    budget = {"total": 500, "reserved_system": 100, "reserved_query": 50, "reserved_response": 250}
    record = client.post("/v1/context", json={"question": "tea", "budget": budget}).json()
    account = record["account"]
    assert record["budget"] == account["available"] == 100
    assert account["used"] + account["free"] == 100
    assert account["total"] == 500


def test_nothing_found_is_an_answer(client):
    """No hits give an empty text and a receipt, not an error."""
    record = client.post("/v1/context", json={"question": "zzqqxx"}).json()
    assert (record["text"], record["tokens"], record["windows"]) == ("", 0, [])
    assert record["account"]["free"] == 4_000


def test_prices_are_worked_out_on_request(client):
    """`prices` names the budgets at which what was left out enters, and so does an explanation."""
    asked = {"question": "tea zebra consciousness water", "budget": 30}
    plain = client.post("/v1/context", json=asked).json()
    assert plain["omitted"]
    assert all("enters_at" not in each for each in plain["omitted"])
    priced = client.post("/v1/context", json={**asked, "prices": True}).json()
    assert [each["enters_at"] for each in priced["omitted"] if each["enters_at"]]
    explained = client.post("/v1/explain", json=asked).json()
    assert explained["omitted"] == priced["omitted"]
    assert explained["census"]["zebra"] == 1


def test_a_search_has_the_places_with_their_text(client, engine):
    """Hits as every surface gives them, with the question and the state."""
    record = client.post("/v1/search", json={"question": "medicine", "limit": 1}).json()
    with engine.corpus() as corpus:
        found = records.found_record(corpus, corpus.search("medicine", limit=1))
    assert record == json.loads(json.dumps({"question": "medicine", **found, "root": engine.root}))


def test_a_receipt_is_kept_and_verifies(client, engine):
    """The receipt that a context names can be fetched, is the engine's own, and is verified until the text changes."""
    made = client.post("/v1/context", json={"question": "kettle", "budget": 60}).json()
    response = client.get(f"/v1/receipts/{made['receipt']}")
    assert response.text == engine.context("kettle", budget=60).receipt.to_json()
    body = {"receipt": response.json(), "text": made["text"]}
    assert client.post("/v1/verify", json=body).json()["verified"] is True
    changed = client.post("/v1/verify", json={**body, "text": made["text"].replace("water", "wine")}).json()
    assert changed["verified"] is False
    assert changed["findings"]
    forged = {**response.json(), "tokens": 1}
    assert "was changed" in problem(client.post("/v1/verify", json={"receipt": forged}), 422, "input.format")


def resealed(receipt, **changed):
    """A receipt that somebody changed, with its id made anew."""
    made = replace(Receipt.from_json(json.dumps(receipt)), **changed)
    return json.loads(replace(made, id=made.hashed()).to_json())


def test_a_receipt_is_replayed(client):
    """Asked again, every field is compared: also what no source can show."""
    made = client.post("/v1/context", json={"question": "kettle", "budget": 60, "fill": "relevant"}).json()
    receipt = client.get(f"/v1/receipts/{made['receipt']}").json()
    plain = client.post("/v1/verify", json={"receipt": receipt}).json()
    again = client.post("/v1/verify", json={"receipt": receipt, "replay": True}).json()
    assert (plain["verified"], again["verified"], again["findings"]) == (True, True, [])
    assert len(again["not_checked"]) < len(plain["not_checked"])
    assert any("asked again" in each for each in again["compared"])
    forged = resealed(receipt, truncated=not receipt["truncated"])
    told = client.post("/v1/verify", json={"receipt": forged, "replay": True}).json()
    assert told["verified"] is False
    assert "replay" in {each["kind"] for each in told["findings"]}


def test_a_receipt_asks_no_more_than_a_request(client, limited):
    """A replay keeps the bounds of a request: the question's length, the budget, each choice; no provider is asked."""
    made = client.post("/v1/context", json={"question": "kettle", "budget": 60}).json()
    receipt = client.get(f"/v1/receipts/{made['receipt']}").json()
    ask = receipt["settings"]["ask"]

    def sent(to, **changed):
        return to.post("/v1/verify", json={"receipt": resealed(receipt, **changed), "replay": True})

    large = resealed(receipt, settings=receipt["settings"] | {"ask": ask | {"top_k": 10**9}})
    said = problem(client.post("/v1/verify", json={"receipt": large, "replay": True}), 422, "input")
    assert "top_k" in said
    paid = sent(
        client, settings=receipt["settings"] | {"ask": ask | {"densify": "openai:gpt@http://evil.example"}}
    ).json()
    assert any("is not asked because a receipt says so" in each["message"] for each in paid["findings"])
    with limited(question_characters=3) as short:
        assert "shorten it" in problem(sent(short), 413, "input.too_long")
    with limited(budget_tokens=50) as small:
        assert "ask for less" in problem(sent(small), 422, "input.budget")


def test_old_receipts_make_room(limited):
    """A server keeps so many; one that it let go of is not found, and says what to do."""
    with limited(receipts=2) as client:
        ids = [client.post("/v1/context", json={"question": word}).json()["receipt"] for word in ("tea", "hard", "red")]
        assert [client.get(f"/v1/receipts/{each}").status_code for each in ids] == [404, 200, 200]
        detail = problem(client.get(f"/v1/receipts/{ids[0]}"), 404, "request.not_found")
    assert "ask for its context again" in detail


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [
        ({"question": "tea", "bugdet": 5}, "request.invalid", "did you mean 'budget'"),
        ({"question": "tea", "format": "plian"}, "request.invalid", "did you mean 'plain'"),
        ({"question": "tea", "budget": 0}, "request.invalid", "greater than or equal to 1"),
        ({"question": "tea", "budget": "many"}, "request.invalid", "valid integer"),
        ({"question": "tea", "budget": True}, "request.invalid", "valid integer"),
        ({"question": "tea", "budget": {"total": 600}}, "input.budget", "leaves nothing after 800 reserved"),
        ({"question": "tea", "budget": {"total": 900, "reserved": 1}}, "request.invalid", "unknown field 'reserved'"),
        ({"question": "tea", "model": "gpt-4p"}, "input.model", "did you mean 'gpt-4'"),
        ({"question": 7}, "request.invalid", "valid string"),
        ({"question": "tea", "path": ["x"] * 65}, "request.invalid", "at most 64"),
        ({"question": "tea", "phrase": "x" * 1_001}, "request.invalid", "at most 1000"),
        ({"question": "tea", "without": [""]}, "request.invalid", "at least 1"),
        ({"question": "tea", "path": [7]}, "request.invalid", "valid string"),
        ({"question": "tea", "kind": "cod"}, "input.choice", "did you mean 'code'"),
        ({"question": "tea", "after": "tomorrow"}, "input.setting", "after is 'tomorrow'"),
        ({"question": "tea", "repair": "no"}, "request.invalid", "valid boolean"),
        ({"budget": 7}, "request.invalid", "body.question: Field required"),
        ([], "request.invalid", "body"),
    ],
)
def test_a_wrong_value_is_named_with_its_remedy(client, sent, code, said):
    """One problem with a stable code, where it is, and what was meant."""
    assert said in problem(client.post("/v1/context", json=sent), 422, code)


def test_the_server_limits_what_is_asked(limited):
    """Budget, question and results have limits of the server's own."""
    with limited(budget_tokens=100, question_characters=10, results=3) as client:
        too_much = {"question": "tea", "budget": 101}
        assert "limit of 100" in problem(client.post("/v1/context", json=too_much), 422, "input.budget")
        with_reserves = {"question": "tea", "budget": {"total": 200, "reserved_response": 150}}
        problem(client.post("/v1/context", json=with_reserves), 422, "input.budget")
        too_long = {"question": "tea " * 5}
        assert "shorten it" in problem(client.post("/v1/search", json=too_long), 413, "input.too_long")
        too_many = {"question": "tea", "limit": 4}
        assert "3 at most" in problem(client.post("/v1/search", json=too_many), 422, "input.setting")
        assert client.get("/v1/status").json()["limits"]["budget_tokens"] == 100


def test_the_largest_budget_is_a_budget(client, engine):
    """A budget far above the corpus holds all of it, and costs no more than it says."""
    record = client.post("/v1/context", json={"question": "tea", "budget": 1_000_000}).json()
    assert record["tokens"] == engine.context("tea", budget=Budget(1_000_000, 0, 0, 0)).tokens


@pytest.mark.parametrize(
    "filters",
    [
        {"path": "src/"},
        {"path": ["src/", "tea*"], "kind": ["prose", "code"]},
        {"not_path": ["src/"], "without": "zebra"},
        {"phrase": "sold as medicine"},
        {"after": "2000", "before": "2001"},
        {"operators": False, "repair": False},
    ],
)
def test_filters_narrow_every_question(client, engine, filters):
    """A context, an explanation and a search are the engine's own with the same arguments."""
    question = "tea came path:tea"
    expected = records.answer_record(engine.context(question, **filters))
    assert client.post("/v1/context", json={"question": question, **filters}).json() == json.loads(json.dumps(expected))
    explained = client.post("/v1/explain", json={"question": question, **filters}).json()
    assert explained == json.loads(json.dumps(records.explanation_record(engine.explain(question, **filters))))
    with engine.corpus() as corpus:
        found = records.found_record(corpus, corpus.search(question, **filters))
    answer = client.post("/v1/search", json={"question": question, **filters}).json()
    assert answer == json.loads(json.dumps({"question": question, **found, "root": engine.root}))


def test_an_empty_answer_says_why(client):
    """Which words no document has, and that something is near; `anyway` shows it."""
    asked = {"question": "parental leave of the medicine"}
    about = client.post("/v1/context", json=asked).json()["relevance"]
    assert (about["reason"], about["nearest"]) == ("no document has: parental, leave", True)
    near = client.post("/v1/context", json={**asked, "anyway": True}).json()
    assert near["windows"]
    assert near["relevance"]["missing"] == ["parental", "leave"]
    assert client.post("/v1/search", json=asked).json()["missing"] == ["parental", "leave"]


def test_any_choice_by_name(client, engine):
    """`set` takes every field of the settings, those of windows and field too, and profiles; others are refused."""
    asked = {"question": "When did tea come to Europe?", "budget": 80}
    chosen = client.post("/v1/context", json={**asked, "set": {"profile": "cfs", "windows.snap": False}}).json()
    windows = WindowSettings(snap=False)
    expected = engine.context(asked["question"], budget=80, settings=replace(CFS, windows=windows))
    assert chosen["text"] == expected.text
    assert chosen["receipt"] == expected.receipt.id
    refused = client.post("/v1/context", json={**asked, "set": {"ordr": "best"}})
    assert problem(refused, 422, "input.choice").startswith("unknown setting 'ordr'")


def test_reserves_are_set_by_name(client, engine):
    """As in the budget itself, and taken from it; `status` describes every choice."""
    asked = {"question": "When did tea come to Europe?", "budget": 900, "order": "best"}
    named = client.post("/v1/context", json={**asked, "set": {"reserved_response": 500}}).json()
    kept = {"total": 900, "reserved_system": 0, "reserved_query": 0, "reserved_response": 500}
    assert named == client.post("/v1/context", json={**asked, "budget": kept}).json()
    assert named["account"]["reserved_response"] == 500
    controls = {each["name"]: each for each in client.get("/v1/status").json()["controls"]}
    assert controls["order"]["values"] == ["relevance", "best", "ends"]
    assert controls["order"]["common"] is True
    refused = client.post("/v1/context", json={**asked, "set": {"reserved_response": 900}})
    assert "leaves nothing" in problem(refused, 422, "input.budget")
