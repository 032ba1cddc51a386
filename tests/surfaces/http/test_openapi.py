"""The description is what is served, and what is served is as described, whatever is sent."""

import json
import os
from pathlib import Path

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode, checks
from scripts.openapi import description

from brimful.errors import OUTCOMES
from tests.surfaces.http.conftest import filled, listening

PLACE = Path(__file__).parents[3] / "docs" / "openapi.json"
EXAMPLES = int(os.environ.get("BRIMFUL_SCHEMA_EXAMPLES", "12"))


OPERATIONS = [
    (path, method, mode)
    for path, operations in json.loads(PLACE.read_text(encoding="utf-8"))["paths"].items()
    for method, operation in operations.items()
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or "parameters" in operation or "requestBody" in operation
]
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """The description of a server whose store may become anything, and a session with it."""
    with (
        filled(tmp_path_factory.mktemp("fuzzed")) as engine,
        listening(engine) as address,
        requests.Session() as session,
    ):
        yield schemathesis.openapi.from_url(f"{address}/openapi.json"), session


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_whatever_is_sent_is_answered_as_described(described, path, method, mode):
    """No failure of the server; no status, type, header or shape that is not described; no invalid value accepted."""
    schema, session = described

    @settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(schema[path][method].as_strategy(generation_mode=mode))
    def answered(case):
        case.call_and_validate(checks=CHECKS, session=session)

    answered()


def test_the_committed_description_is_the_served_one():
    """docs/openapi.json is what `make openapi` writes."""
    assert PLACE.read_text(encoding="utf-8") == description()


def test_every_problem_is_described():
    """Each route names the statuses that any request can get, and every problem has the one shape."""
    found = json.loads(PLACE.read_text(encoding="utf-8"))
    known = {each.status for each in OUTCOMES.values()}
    for path in found["paths"].values():
        for operation in path.values():
            assert {"401", "403", "421", "422", "500", "503", "504"} <= set(operation["responses"])
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert int(status) in known
                    plain = ["text/plain"] if status in ("400", "503") else []  # of uvicorn, above all routes
                    assert list(response["content"]) == ["application/problem+json", *plain]
