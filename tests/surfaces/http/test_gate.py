"""Over HTTP a credential is refused as a file would be."""

from tests.surfaces.http.conftest import problem

KEY = "key = AKIA" + "Q7ZK2VW9RT4LX8BN"


def test_a_credential_is_refused_with_all_that_came_along(client, engine):
    """Status 422 with its own code; nothing of the request is stored, and the answer shows no credential."""
    texts = [{"path": "plain.md", "text": "Tea at four."}, {"path": "notes.md", "text": KEY}]
    answer = client.post("/v1/documents", json={"documents": texts})
    assert "AWS token" in problem(answer, 422, "input.secret")
    assert KEY[6:] not in answer.text
    assert engine.length("plain.md") is None


def test_a_capture_of_a_credential_is_refused(client, engine):
    """It is neither written down nor condensed."""
    answer = client.post("/v1/captures", json={"text": f"Tea at four. {KEY}", "name": "tea"})
    assert answer.status_code == 422, answer.text
    assert "tea" not in [each.name for each in engine.captures()]
