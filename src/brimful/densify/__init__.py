"""How is a text that is larger than a model accepts condensed through it, without paying twice?"""

from brimful.densify.classify import Failure, classify

__all__ = ["Failure", "classify"]
