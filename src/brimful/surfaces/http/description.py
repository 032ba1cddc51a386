"""What does the OpenAPI description say? What FastAPI knows, with problems as they are sent."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from brimful.surfaces.http.problems import MEDIA_TYPE


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of an application; the same one for the same routes."""
    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    for path in found["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    response["content"] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
    schemas = found["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{}, {"token": []}]
    return found
