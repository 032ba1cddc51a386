"""How does a program reach the engine over HTTP? `create_app` for a server of one's own, `serve` for ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimful.surfaces.http.serving import ServeSettings, serve

if TYPE_CHECKING:
    from fastapi import FastAPI

    from brimful.engine import Engine

__all__ = ["ServeSettings", "create_app", "serve"]


def create_app(engine: Engine, settings: ServeSettings | None = None) -> FastAPI:
    """The application over an open engine, which stays the caller's to close."""
    from brimful.surfaces.http.app import create_app as create

    return create(engine, settings)
