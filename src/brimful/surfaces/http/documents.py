"""Which documents are there, what do they say, and how do texts come in? No path here ever touches a file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from brimful.corpus.documents import Document
from brimful.surfaces import records
from brimful.surfaces.http.answers import described
from brimful.surfaces.http.cursors import after_cursor, paged
from brimful.surfaces.http.house import House
from brimful.surfaces.schemas import (
    LONGEST_PATH,
    AddedBody,
    AddRequest,
    DocumentsBody,
    PassageBody,
    RemovedBody,
)
from brimful.text.spans import Span, check_span

_MOST_OFFSET = (1 << 53) - 1  # beyond it programs disagree about whole numbers

Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at once")]
Cursor = Annotated[str | None, Query(max_length=8_192, description="`next` of the page before")]
DocumentPath = Annotated[str, Query(min_length=1, max_length=LONGEST_PATH, description="As it is cited")]
Offset = Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="The first byte")]
EndOffset = Annotated[int | None, Query(ge=0, le=_MOST_OFFSET, description="The byte after the last")]
Around = Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="So many bytes more on both sides")]
DocumentPaths = Annotated[list[DocumentPath], Query(alias="path", min_length=1, max_length=1_000)]


def router(house: House) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/documents", tags=["documents"])

    @routes.get("", responses=described(DocumentsBody, tag=True))
    async def listed(request: Request, limit: Limit = 100, cursor: Cursor = None) -> Response:
        """The documents by path, a page at a time."""
        house.check_results(limit, most=house.settings.page_items)
        after = None if cursor is None else after_cursor(cursor, of="documents")
        return await house.tagged(
            request, lambda: paged(records.documents_record(house.engine, after=after, limit=limit), of="documents")
        )

    @routes.get("/text", responses=described(PassageBody, 404, tag=True))
    async def text(
        request: Request, path: DocumentPath, start: Offset = 0, end: EndOffset = None, around: Around = 0
    ) -> Response:
        """A document, or bytes of it, as text in JSON; of a long one what is sent at once, and where it goes on."""
        return await house.tagged(request, lambda: _passage(house, path, start, end, around=around))

    @routes.post("", responses=described(AddedBody, 400, 413, 415, 507))
    async def add(body: AddRequest) -> Response:
        """Store texts under paths of your own; a file of an added folder keeps its path. Visible when this answers."""
        return await house.answer(lambda: _add(house, body))

    @routes.delete("", responses=described(RemovedBody, 507))
    async def remove(paths: DocumentPaths) -> Response:
        """Forget documents; a file in an added folder comes back when the folder is added again."""
        return await house.answer(lambda: _remove(house, paths))

    return routes


def _passage(house: House, path: str, start: int, end: int | None, *, around: int) -> records.Record:
    engine = house.engine
    with engine.one_state():
        house.check_stored(path)
        document = engine.document(path)
        stop = len(document) if end is None else end
        check_span(start, stop, length=len(document), where=f" {path[:200]}")
        most = house.settings.passage_bytes
        record = records.passage_record(engine, document, Span(start, stop), most_bytes=most, around=around)
        return {**record, "root": engine.root}


def _add(house: House, body: AddRequest) -> records.Record:
    documents = [Document(each.path, each.text, time=each.time) for each in body.documents]
    return {"added": house.engine.add_documents(documents), "root": house.engine.root}


def _remove(house: House, paths: list[str]) -> records.Record:
    return {"removed": house.engine.remove(*dict.fromkeys(paths)), "root": house.engine.root}
