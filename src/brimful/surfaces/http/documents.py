"""Which documents are there, how do texts come in, and what does a program condense?"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict, replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from brimful import limits
from brimful.corpus.documents import Document
from brimful.densify.run import Progress
from brimful.errors import BrimfulError, DocumentError
from brimful.settings import DensifySettings, condensing
from brimful.surfaces import records
from brimful.surfaces.http.service import RefusedRequest, Service, described, problem_record
from brimful.surfaces.schemas import (
    LONGEST_PATH,
    PARTIAL,
    AddedBody,
    AddRequest,
    CaptureBody,
    CaptureRequest,
    CapturesBody,
    Choices,
    DensifyRequest,
    DigestBody,
    DocumentsBody,
    PassageBody,
    RemovedBody,
    RetryRequest,
)
from brimful.text.spans import Span, check_span

# ---- documents: Which documents are there, what do they say, and how do texts come in? No path here ever touches a
# file.

_MOST_OFFSET = (1 << 53) - 1  # beyond it programs disagree about whole numbers

Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at once")]
Cursor = Annotated[str | None, Query(max_length=8_192, description="`next` of the page before")]
_DocumentPath = Annotated[str, Query(min_length=1, max_length=LONGEST_PATH, description="As it is cited")]
_Offset = Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="The first byte")]
_EndOffset = Annotated[int | None, Query(ge=0, le=_MOST_OFFSET, description="The byte after the last")]
Around = Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="So many bytes more on both sides")]
Partial = Annotated[bool, Query(description=PARTIAL)]
_DocumentPaths = Annotated[list[_DocumentPath], Query(alias="path", min_length=1, max_length=limits.REMOVED_PATHS)]


def document_routes(service: Service) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/documents", tags=["documents"])

    @routes.get("", responses=described(DocumentsBody, tag=True))
    async def listed(
        request: Request, limit: Limit = 100, cursor: Cursor = None, *, partial: Partial = False
    ) -> Response:
        """The documents by path, a page at a time."""
        return await service.page(request, records.documents_record, limit, cursor, of="documents", partial=partial)

    @routes.get("/text", responses=described(PassageBody, 404, tag=True))
    async def text(
        request: Request,
        path: _DocumentPath,
        start: _Offset = 0,
        end: _EndOffset = None,
        around: Around = 0,
        *,
        partial: Partial = False,
    ) -> Response:
        """A document, or bytes of it, as text in JSON; of a long one what is sent at once, and where it goes on."""
        return await service.tagged(
            request, lambda: _passage(service, path, start, end, around=around, partial=partial)
        )

    @routes.post("", responses=described(AddedBody, 400, 413, 415, 507))
    async def add(body: AddRequest) -> Response:
        """Store texts under paths of your own; a file of an added folder keeps its path. Visible when this answers."""
        return await service.answer(lambda: _add(service, body))

    @routes.delete("", responses=described(RemovedBody, 507))
    async def remove(paths: _DocumentPaths) -> Response:
        """Forget documents; a file in an added folder comes back when the folder is added again."""
        return await service.answer(lambda: _remove(service, paths))

    return routes


def _passage(service: Service, path: str, start: int, end: int | None, *, around: int, partial: bool) -> records.Record:
    engine = service.engine
    with engine.one_state(partial=partial):
        service.check_stored(path)
        document = engine.document(path)
        stop = len(document) if end is None else end
        check_span(start, stop, length=len(document), where=f" {path[:200]}")
        most = service.settings.passage_bytes
        record = records.passage_record(engine, document, Span(start, stop), most_bytes=most, around=around)
        return {**record, "root": engine.root}


def _add(service: Service, body: AddRequest) -> records.Record:
    documents = [Document(each.path, each.text, time=each.time) for each in body.documents]
    return {"added": service.engine.add_documents(documents), "root": service.engine.root}


def _remove(service: Service, paths: list[str]) -> records.Record:
    return {"removed": service.engine.remove(*dict.fromkeys(paths)), "root": service.engine.root}


# ---- digests: What does a program condense? A text once, with its progress as events, or to keep.

_EVENTS = "text/event-stream"
_QUIET_SECONDS = 15.0
_CaptureName = Annotated[str, Query(min_length=1, max_length=LONGEST_PATH, description="As it was captured")]


def digest_routes(service: Service) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["digests"])
    digest = described(DigestBody, 400, 404, 413, 415, 501, 502)
    digest[200]["content"] = {_EVENTS: {"schema": {"type": "string"}}}

    @routes.post("/densify", responses=digest)
    async def densify(request: Request, body: DensifyRequest) -> Response:
        """Condense a text; who accepts `text/event-stream` gets `progress` events, then `digest` or `problem`."""
        service.check_model(body.model)
        if _EVENTS in request.headers.get("accept", ""):
            return StreamingResponse(_events(service, body), media_type=_EVENTS)
        return await service.run(lambda cancel: _digest(service, body, cancel=cancel))

    @routes.post("/captures", responses=described(CaptureBody, 400, 413, 415, 501, 502, 507))
    async def capture(body: CaptureRequest) -> Response:
        """Store a text whole as `capture:name`, condense it, store the digest beside it; a failure is its status."""
        service.check_model(body.model)
        return await service.run(lambda cancel: _captured(service, body, cancel))

    @routes.get("/captures", responses=described(CapturesBody, tag=True))
    async def captures(request: Request, limit: Limit = 100, cursor: Cursor = None) -> Response:
        """The captures by name, a page at a time."""
        return await service.page(request, records.captures_record, limit, cursor, of="captures")

    @routes.get("/captures/one", responses=described(CaptureBody, 404, tag=True))
    async def one(request: Request, name: _CaptureName) -> Response:
        """One capture."""
        return await service.tagged(request, lambda: _one(service, name))

    @routes.post("/captures/retry", responses=described(CaptureBody, 400, 404, 413, 415, 501, 502, 507))
    async def retry(body: RetryRequest) -> Response:
        """Try a failed or pending capture again, which pays only for what is missing; a done one stays as it is."""
        return await service.run(lambda cancel: _retried(service, body, cancel))

    return routes


def _settings(service: Service, chosen: Choices, target_tokens: int | None = None) -> DensifySettings:
    """What a request chooses, within the time that this server has for it."""
    found = condensing(chosen, target_tokens=target_tokens)
    most = service.settings.densify_seconds
    return replace(found, deadline_seconds=min(found.deadline_seconds or most, most))


def _digest(
    service: Service,
    body: DensifyRequest,
    *,
    cancel: threading.Event,
    progress: Callable[[Progress], None] | None = None,
) -> records.Record:
    if body.path is not None and service.engine.length(body.path) is None:
        raise RefusedRequest(
            "request.not_found", f"{body.path[:200]!r} is not in the store; paths are as they are cited"
        )
    source = service.engine.document(body.path) if body.path is not None else Document("text", body.text or "")
    made = service.engine.densify(
        source,
        model=body.model,
        settings=_settings(service, body.set, body.target_tokens),
        progress=progress,
        cancel=cancel,
    )
    return records.digest_record(made)


async def _events(service: Service, body: DensifyRequest) -> AsyncIterator[str]:
    """Progress as it is made, a sign of life where there is none, and how it ended."""
    loop, cancel = asyncio.get_running_loop(), threading.Event()
    events: asyncio.Queue[Progress] = asyncio.Queue()

    def tell(progress: Progress) -> None:
        loop.call_soon_threadsafe(events.put_nowait, progress)

    work = asyncio.ensure_future(service.runs.run(lambda: _digest(service, body, cancel=cancel, progress=tell)))
    try:
        while not (work.done() and events.empty()):
            waiting = asyncio.ensure_future(events.get())
            await asyncio.wait({waiting, work}, timeout=_QUIET_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                yield _event("progress", asdict(waiting.result()))
                continue
            waiting.cancel()
            if not work.done():
                yield ": still at work\n\n"
        try:
            yield _event("digest", await work)
        except BrimfulError as error:
            yield _event("problem", problem_record(error.code, str(error)))
        except RefusedRequest as error:
            yield _event("problem", problem_record(error.code, error.detail))
    finally:
        cancel.set()
        work.cancel()


def _event(name: str, record: Mapping[str, object]) -> str:
    return f"event: {name}\ndata: {json.dumps(record)}\n\n"


def _captured(service: Service, body: CaptureRequest, cancel: threading.Event) -> records.Record:
    settings = _settings(service, body.set)
    made = service.engine.capture(body.text, name=body.name, model=body.model, settings=settings, cancel=cancel)
    return records.capture_record(made)


def _one(service: Service, name: str) -> records.Record:
    try:
        return records.capture_record(service.engine.one_capture(name))
    except DocumentError as error:
        raise RefusedRequest("request.not_found", str(error)) from error


def _retried(service: Service, body: RetryRequest, cancel: threading.Event) -> records.Record:
    service.check_model(body.model or str(_one(service, body.name)["model"]))
    settings = _settings(service, body.set)
    made = service.engine.retry_capture(body.name, model=body.model, settings=settings, cancel=cancel)
    return records.capture_record(made)
