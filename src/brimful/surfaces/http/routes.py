"""The routes of documents, digests and questions. No path here ever touches a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import ValidationError
from starlette.responses import Response

from brimful import limits
from brimful.assembly.citing import check_answer as checked_against
from brimful.assembly.explain import PRICED
from brimful.assembly.pack import parse
from brimful.budget import Budget
from brimful.documents.documents import Document
from brimful.errors import DocumentError, InputError, SettingError
from brimful.receipts.receipt import Receipt
from brimful.results import ShownPassage
from brimful.settings import Ask, DensifySettings, FieldSettings, condensing
from brimful.surfaces import records, schemas
from brimful.surfaces.guard import RefusedRequest
from brimful.surfaces.http.service import Service, described, tagged_json
from brimful.text.spans import Span, check_span

_MOST_OFFSET = (1 << 53) - 1  # beyond it programs disagree about whole numbers

Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at once")]
Cursor = Annotated[str | None, Query(max_length=8_192, description="`next` of the page before")]
_DocumentPath = Annotated[str, Query(min_length=1, max_length=schemas.LONGEST_PATH, description="As it is cited")]
_Offset = Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="The first byte")]
_EndOffset = Annotated[int | None, Query(ge=0, le=_MOST_OFFSET, description="The byte after the last")]
Around = Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="Bytes to add on both sides")]
_DocumentPaths = Annotated[list[_DocumentPath], Query(alias="path", min_length=1, max_length=limits.REMOVED_PATHS)]


def document_routes(service: Service) -> APIRouter:
    """Routes of documents."""
    routes, engine = APIRouter(prefix="/v1/documents", tags=["documents"]), service.engine

    @routes.get("", responses=described(schemas.DocumentsBody, tag=True))
    async def listed(request: Request, limit: Limit = 100, cursor: Cursor = None) -> Response:
        """The documents by path, a page at a time."""
        return await service.page(request, records.documents_record, limit, cursor)

    @routes.get("/text", responses=described(schemas.PassageBody, 404, tag=True))
    async def text(
        request: Request, path: _DocumentPath, start: _Offset = 0, end: _EndOffset = None, around: Around = 0
    ) -> Response:
        """A document, or bytes of it, as text in JSON; of a long one what is sent at once, and where it goes on."""

        def passage() -> records.Record:
            with engine.corpus() as corpus:
                document = service.document(path)
                stop = len(document) if end is None else end
                check_span(start, stop, length=len(document), where=f" {path[:200]}")
                most_bytes = service.settings.passage_bytes
                record = records.passage_record(
                    corpus, document, Span(start, stop), most_bytes=most_bytes, around=around
                )
                return {**record, "root": corpus.root}

        return await service.tagged(request, passage)

    @routes.post("", responses=described(dict[str, int | str], 400, 413, 415, 507))
    @service.answers
    def add(body: schemas.AddRequest) -> records.Record:
        """Store texts under paths of your own; a file of an added folder keeps its path. Visible when this answers."""
        documents = [Document(item.path, item.text, time=item.time) for item in body.documents]
        return {"added": engine.add_documents(documents), "root": engine.root}

    @routes.delete("", responses=described(dict[str, int | str], 507))
    @service.answers
    def remove(paths: _DocumentPaths) -> records.Record:
        """Forget documents; a file in an added folder comes back when the folder is added again."""
        return {"removed": engine.remove(*dict.fromkeys(paths)), "root": engine.root}

    return routes


_CaptureName = Annotated[str, Query(min_length=1, max_length=schemas.LONGEST_PATH, description="As it was captured")]


def digest_routes(service: Service) -> APIRouter:
    """Routes that condense."""
    routes = APIRouter(prefix="/v1", tags=["digests"])

    @routes.post("/densify", responses=described(schemas.DigestBody, 400, 404, 413, 415, 501, 502))
    async def densify(body: schemas.DensifyRequest) -> Response:
        """Condense a text."""
        service.check_model(body.model)
        return await service.run(lambda cancel: _digest(service, body, cancel))

    @routes.post("/captures", responses=described(schemas.CaptureBody, 400, 413, 415, 501, 502, 507))
    async def capture(body: schemas.CaptureRequest) -> Response:
        """Store a text whole as `capture:name`, condense it, and store the digest; a failure is its status."""
        service.check_model(body.model)
        return await service.run(lambda cancel: _captured(service, body, cancel))

    @routes.get("/captures", responses=described(schemas.CapturesBody, tag=True))
    async def captures(request: Request, limit: Limit = 100, cursor: Cursor = None) -> Response:
        """The captures by name, a page at a time."""
        return await service.page(request, records.captures_record, limit, cursor)

    @routes.get("/captures/one", responses=described(schemas.CaptureBody, 404, tag=True))
    async def one(request: Request, name: _CaptureName) -> Response:
        """One capture."""
        return await service.tagged(request, lambda: _one(service, name))

    @routes.post("/captures/retry", responses=described(schemas.CaptureBody, 400, 404, 413, 415, 501, 502, 507))
    async def retry(body: schemas.RetryRequest) -> Response:
        """Try a failed or pending capture again, which pays only for what is missing; a done one stays as it is."""
        return await service.run(lambda cancel: _retried(service, body, cancel))

    return routes


def _settings(service: Service, chosen: schemas.Choices, target_tokens: int | None = None) -> DensifySettings:
    """The choices of a request, within the server's time for condensing."""
    settings = condensing(chosen, target_tokens=target_tokens)
    seconds = service.settings.densify_seconds
    return replace(settings, deadline_seconds=min(settings.deadline_seconds or seconds, seconds))


def _digest(service: Service, body: schemas.DensifyRequest, cancel: threading.Event) -> records.Record:
    source = service.document(body.path) if body.path is not None else Document("text", body.text or "")
    settings = _settings(service, body.set, body.target_tokens)
    return records.digest_record(service.engine.densify(source, model=body.model, settings=settings, cancel=cancel))


def _captured(service: Service, body: schemas.CaptureRequest, cancel: threading.Event) -> records.Record:
    settings = _settings(service, body.set)
    capture = service.engine.capture(body.text, name=body.name, model=body.model, settings=settings, cancel=cancel)
    return records.capture_record(capture)


def _one(service: Service, name: str) -> records.Record:
    try:
        return records.capture_record(service.engine.one_capture(name))
    except DocumentError as error:
        raise RefusedRequest("request.not_found", str(error)) from error


def _retried(service: Service, body: schemas.RetryRequest, cancel: threading.Event) -> records.Record:
    service.check_model(body.model or str(_one(service, body.name)["model"]))
    settings = _settings(service, body.set)
    capture = service.engine.retry_capture(body.name, model=body.model, settings=settings, cancel=cancel)
    return records.capture_record(capture)


_OUTSIDE = {"question", "prices", "set"}
_ReceiptId = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="As a context names it")]


def question_routes(service: Service) -> APIRouter:
    """Routes that ask."""
    routes, engine = APIRouter(prefix="/v1", tags=["questions"]), service.engine

    @routes.post("/context", responses=described(schemas.ContextBody, 400, 413, 415, 501, 502))
    async def context(body: schemas.ContextRequest) -> Response:
        """Fill a budget with what the corpus says about a question; no hits give an empty text."""
        return await _asked(service, body, _context)

    @routes.post("/explain", responses=described(schemas.ExplanationBody, 400, 413, 415, 501, 502))
    async def explain(body: schemas.ContextRequest) -> Response:
        """How a question was understood, why each window is in, and at which budget the next ones enter."""
        return await _asked(service, body, _explanation)

    @routes.post("/search", responses=described(schemas.FoundBody, 400, 413, 415))
    @service.answers
    def search(body: schemas.SearchRequest) -> records.Record:
        """The places that matter most for a question, with their text."""
        service.check_question(body.question)
        service.check_results(body.limit, limit_of_server=service.settings.results)
        chosen = body.model_dump()
        with engine.corpus() as corpus:
            hits = corpus.search(field=FieldSettings(priors=chosen.pop("priors")), **chosen)
            return {"question": body.question, **records.found_record(corpus, hits), "root": corpus.root}

    @routes.post("/verify", responses=described(schemas.VerifiedBody, 400, 413, 415))
    @service.answers
    def verify(body: schemas.VerifyRequest) -> records.Record:
        """Check a receipt against the store; no findings mean that all of it holds."""
        receipt = _receipt_in(body.receipt)
        if body.replay and receipt.question is not None:
            _ask(service, _asked_in(body.receipt))
        findings = engine.verify(receipt, text=body.text, replay=body.replay)
        return records.findings_record(receipt, findings, against="store")

    @routes.post("/map", responses=described(schemas.MapBody, 400, 413, 415))
    @service.answers
    def show_map(body: schemas.MapRequest) -> records.Record:
        """Files with their headings and definitions, within a budget."""
        service.check_budget(body.budget)
        service.check_question(body.question or "")
        with engine.corpus() as corpus:
            corpus_map = corpus.map(**body.model_dump())
            return {**records.map_record(corpus_map), "root": corpus.root}

    @routes.post("/cite", responses=described(ShownPassage, 400, 413, 415))
    @service.answers
    def cite(body: schemas.CiteRequest) -> records.Record:
        """The bytes that a citation names."""
        with engine.corpus() as corpus:
            return records.cited_passage(corpus, corpus.cite(body.place), most_bytes=limits.PASSAGE_BYTES)

    @routes.post("/check-answer", responses=described(schemas.CheckedBody, 400, 413, 415))
    @service.answers
    def check_answer(body: schemas.AnswerRequest) -> records.Record:
        """Verdicts on the quotations and citations of an answer."""
        if body.context is not None:
            return records.checked_record(checked_against(body.answer, parse(body.context, format=body.format)))
        assert body.receipt is not None  # one of the two is given
        return records.checked_record(engine.check_answer(body.answer, _receipt_in(body.receipt)))

    @routes.get("/receipts/{id}", responses=described(dict[str, object], 404, tag=True))
    async def receipt(request: Request, id: _ReceiptId) -> Response:  # noqa: A002
        """The receipt of a context that this server made; the last ones are kept."""
        stored = service.receipts.get(id)
        if stored is None:
            raise RefusedRequest("request.not_found", f"receipt {id} is not kept here; ask for its context again")
        return tagged_json(request, stored.to_json().encode(), root=stored.state_root)

    return routes


async def _asked(
    service: Service,
    body: schemas.ContextRequest,
    work: Callable[[Service, schemas.ContextRequest, threading.Event | None], records.Record],
) -> Response:
    """The answer of a worker, or of the threads that wait for providers if one condenses a part of it."""
    model = getattr(body, "densify")  # noqa: B009  (one of the choices)
    if model is None or model.startswith("extractive:"):
        return await service.answer(lambda: work(service, body, None))
    return await service.run(lambda cancel: work(service, body, cancel))


def _ask(service: Service, body: schemas.ContextRequest) -> Ask:
    """The ask of a request, within the server's limits."""
    service.check_question(body.question)
    if "densify" in body.set:
        raise SettingError("densify is a field of the request itself; name the model there")
    chosen = body.model_dump(exclude=_OUTSIDE, exclude_unset=True)
    if isinstance(body.budget, schemas.BudgetBody):
        chosen["budget"] = Budget(**body.budget.model_dump())
    ask = Ask.of(body.question, chosen, body.set)
    service.check_budget(ask.budget.total)
    if ask.settings.densify is not None:
        service.check_model(ask.settings.densify)
    return ask


def _context(service: Service, body: schemas.ContextRequest, cancel: threading.Event | None) -> records.Record:
    context = service.engine.context(_ask(service, body), cancel=cancel)
    service.receipts.keep(context.receipt)
    service.metrics.count("contexts")
    service.metrics.count("context_tokens", context.tokens)
    if body.prices:
        context = service.engine.prices(context)
    return records.answer_record(context, prices=PRICED if body.prices else 0)


def _explanation(service: Service, body: schemas.ContextRequest, cancel: threading.Event | None) -> records.Record:
    explanation = service.engine.explain(_ask(service, body), cancel=cancel)
    service.receipts.keep(explanation.context.receipt)
    return records.explanation_record(explanation)


def _receipt_in(record: Mapping[str, Any]) -> Receipt:
    return Receipt.from_json(json.dumps(record, ensure_ascii=False))


def _asked_in(receipt: Mapping[str, Any]) -> schemas.ContextRequest:
    """A receipt's question as a request, so that its limits hold for receipts too."""
    chosen = receipt["settings"].get("ask")
    fields = dict(chosen) if isinstance(chosen, dict) else {}
    if not str(fields.get("densify")).startswith("extractive:"):
        fields.pop("densify", None)  # the engine asks no provider because a receipt says so
    fields = {name: value for name, value in fields.items() if name in schemas.ContextRequest.model_fields}
    try:
        return schemas.ContextRequest(
            **fields | {"question": receipt["question"], "budget": receipt["budget"]["total"]}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"the receipt's question can't be asked again here: {where}: {first['msg']}") from error
