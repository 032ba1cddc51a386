"""What does a program ask? A context, the places that matter, why, and whether a receipt holds."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import ValidationError
from starlette.responses import Response

from brimful import limits
from brimful.assembly.citing import check_answer
from brimful.assembly.explain import PRICED
from brimful.assembly.pack import parse
from brimful.budget import Budget
from brimful.errors import InputError, SettingError
from brimful.receipts.receipt import Receipt
from brimful.results import ShownPassage
from brimful.settings import Ask, FieldSettings
from brimful.surfaces import records
from brimful.surfaces.http.service import RefusedRequest, Service, described, tagged_bytes
from brimful.surfaces.schemas import (
    AnswerRequest,
    BudgetBody,
    CheckedBody,
    CiteRequest,
    ContextBody,
    ContextRequest,
    ExplanationBody,
    FoundBody,
    MapBody,
    MapRequest,
    ReceiptBody,
    SearchRequest,
    VerifiedBody,
    VerifyRequest,
)

_OUTSIDE = {"question", "prices", "set"}
_BESIDE = {"question", "limit"}
_ReceiptId = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="As a context names it")]


def router(service: Service) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["questions"])

    @routes.post("/context", responses=described(ContextBody, 400, 413, 415, 501, 502))
    async def context(body: ContextRequest) -> Response:
        """Fill a budget with what the corpus says about a question; no hits give an empty text."""
        return await _asked(service, body, _context)

    @routes.post("/explain", responses=described(ExplanationBody, 400, 413, 415, 501, 502))
    async def explain(body: ContextRequest) -> Response:
        """How a question was understood, why each window is in, and at which budget the next ones enter."""
        return await _asked(service, body, _explanation)

    @routes.post("/search", responses=described(FoundBody, 400, 413, 415))
    async def search(body: SearchRequest) -> Response:
        """The places that matter most for a question, with their text."""
        return await service.answer(lambda: _found(service, body))

    @routes.post("/verify", responses=described(VerifiedBody, 400, 413, 415))
    async def verify(body: VerifyRequest) -> Response:
        """What is no longer as a receipt cites it; nothing means that all is."""
        return await service.answer(lambda: _verified(service, body))

    @routes.post("/map", responses=described(MapBody, 400, 413, 415))
    async def show_map(body: MapRequest) -> Response:
        """What the corpus holds within a budget: files with their headings and definitions."""
        return await service.answer(lambda: _mapped(service, body))

    @routes.post("/cite", responses=described(ShownPassage, 400, 413, 415))
    async def cite(body: CiteRequest) -> Response:
        """The bytes that a citation names."""
        return await service.answer(lambda: _cited(service, body))

    @routes.post("/check-answer", responses=described(CheckedBody, 400, 413, 415))
    async def check_answer(body: AnswerRequest) -> Response:
        """Which quotations of an answer stand in the context that it was made from, and which citations it shows."""
        return await service.answer(lambda: _checked(service, body))

    @routes.get("/receipts/{id}", responses=described(ReceiptBody, 404, tag=True))
    async def receipt(request: Request, id: _ReceiptId) -> Response:  # noqa: A002
        """The receipt of a context that this server made; the last ones are kept."""
        found = service.receipts.get(id)
        if found is None:
            raise RefusedRequest("request.not_found", f"receipt {id} is not kept here; ask for its context again")
        content = found.to_json().encode()
        return tagged_bytes(request, content, media_type="application/json", root=found.state_root)

    return routes


async def _asked(
    service: Service,
    body: ContextRequest,
    made: Callable[[Service, ContextRequest, threading.Event | None], records.Record],
) -> Response:
    """An answer; one that a provider condenses a part of keeps no worker from other questions."""
    named = getattr(body, "densify")  # noqa: B009  (one of the choices)
    if named is None or named.startswith("extractive:"):
        return await service.answer(lambda: made(service, body, None))
    return await service.run(lambda cancel: made(service, body, cancel))


def _ask(service: Service, body: ContextRequest) -> Ask:
    """What a request asks, within what this server allows."""
    service.check_question(body.question)
    if "densify" in body.set:
        raise SettingError("densify is a field of the request itself; name the model there")
    chosen = body.model_dump(exclude=_OUTSIDE, exclude_unset=True)
    if isinstance(body.budget, BudgetBody):
        chosen["budget"] = Budget(**body.budget.model_dump())
    ask = Ask.of(body.question, chosen, body.set)
    service.check_budget(ask.budget.total)
    if ask.settings.densify is not None:
        service.check_model(ask.settings.densify)
    return ask


def _context(service: Service, body: ContextRequest, cancel: threading.Event | None) -> records.Record:
    made = service.engine.context(_ask(service, body), cancel=cancel)
    _keep(service, made.receipt)
    service.metrics.count("contexts")
    service.metrics.count("context_tokens", made.tokens)
    if body.prices:
        made = service.engine.prices(made)
    return records.answer_record(service.engine, made, prices=PRICED if body.prices else 0)


def _explanation(service: Service, body: ContextRequest, cancel: threading.Event | None) -> records.Record:
    made = service.engine.explain(_ask(service, body), cancel=cancel)
    _keep(service, made.context.receipt)
    return records.explanation_record(service.engine, made)


def _keep(service: Service, receipt: Receipt | None) -> None:
    assert receipt is not None  # the engine gives every context one
    service.receipts.keep(receipt)


def _found(service: Service, body: SearchRequest) -> records.Record:
    service.check_question(body.question)
    service.check_results(body.limit, most=service.settings.results)
    chosen = body.model_dump(exclude=_BESIDE)
    with service.engine.one_state(partial=chosen["partial"]):
        field = FieldSettings(priors=chosen.pop("priors"))
        found = service.engine.search(body.question, limit=body.limit, field=field, **chosen)
        record = records.found_record(service.engine, found)
        return {"question": body.question, **record, "root": service.engine.root}


def _verified(service: Service, body: VerifyRequest) -> records.Record:
    receipt = Receipt.from_json(json.dumps(body.receipt, ensure_ascii=False))
    if body.replay and receipt.question is not None:
        _ask(service, _asked_in(body.receipt))
    findings = service.engine.verify(receipt, text=body.text, replay=body.replay)
    return records.findings_record(receipt, findings, against="store")


def _asked_in(receipt: Mapping[str, Any]) -> ContextRequest:
    """The request that a receipt's question would be: whoever sends a receipt may ask no more than by a request."""
    chosen = receipt["settings"].get("ask")
    asked = dict(chosen) if isinstance(chosen, dict) else {}
    if not str(asked.get("densify")).startswith("extractive:"):
        asked.pop("densify", None)  # the engine asks no provider because a receipt says so
    asked = {name: value for name, value in asked.items() if name in ContextRequest.model_fields}
    try:
        return ContextRequest(**asked | {"question": receipt["question"], "budget": receipt["budget"]["total"]})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"the receipt's question can't be asked again here: {where}: {first['msg']}") from error


def _mapped(service: Service, body: MapRequest) -> records.Record:
    service.check_budget(body.budget)
    if body.question is not None:
        service.check_question(body.question)
    with service.engine.one_state(partial=body.partial):
        drawn = service.engine.map(budget=body.budget, question=body.question, model=body.model, path=body.path)
        return {**records.map_record(drawn), "root": service.engine.root}


def _cited(service: Service, body: CiteRequest) -> records.Record:
    with service.engine.one_state(partial=body.partial):
        cited = service.engine.cite(body.place)
        assert cited.document is not None
        return records.passage_record(service.engine, cited.document, cited.span, most_bytes=limits.PASSAGE_BYTES)


def _checked(service: Service, body: AnswerRequest) -> records.Record:
    if body.context is not None:
        return records.checked_record(check_answer(body.answer, parse(body.context, format=body.format)))
    receipt = Receipt.from_json(json.dumps(body.receipt, ensure_ascii=False))
    return records.checked_record(service.engine.check_answer(body.answer, receipt))
