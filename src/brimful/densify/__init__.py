"""Condenses texts larger than a model accepts through it, without paying twice.

from brimful.densify.densify import densify
digest = densify(text, "anthropic:claude-sonnet-4-5", memory="digests.db")
"""

from brimful.densify.calls import Completion, Model, bound_parallel
from brimful.densify.densify import densify
from brimful.densify.digest import CitedSentence, Digest, Gap
from brimful.densify.extractive import fit_digest
from brimful.densify.failures import Failure, classify
from brimful.densify.memory import Memory
from brimful.densify.models import model_for
from brimful.densify.plan import SEED
from brimful.densify.run import Progress
from brimful.settings import DensifySettings
from brimful.transport import Stop, Timeouts

__all__ = [
    "SEED",
    "CitedSentence",
    "Completion",
    "DensifySettings",
    "Digest",
    "Failure",
    "Gap",
    "Memory",
    "Model",
    "Progress",
    "Stop",
    "Timeouts",
    "bound_parallel",
    "classify",
    "densify",
    "fit_digest",
    "model_for",
]
