"""What a document is made of, by rules over its bytes: headings, definitions, passages, records, places to cut."""

from brimful.outline.kinds import Kind, kind_of
from brimful.outline.outlines import Outline, outline
from brimful.outline.structures import Structure, structure

__all__ = ["Kind", "Outline", "Structure", "kind_of", "outline", "structure"]
