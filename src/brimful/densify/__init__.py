"""How is a text that is larger than a model accepts condensed through it, without paying twice?

from brimful.densify.densify import densify
digest = densify(text, "anthropic:claude-sonnet-4-5", memory="digests.db")
"""

from brimful.densify.calls import bound_parallel
from brimful.densify.cite import CitedSentence
from brimful.densify.classify import Failure, classify
from brimful.densify.densify import densify
from brimful.densify.digest import Digest, Gap
from brimful.densify.fit import fit_digest
from brimful.densify.memory import Memory
from brimful.densify.model import Completion, Model, Stop
from brimful.densify.models import model_for
from brimful.densify.plan import SEED, DensifySettings
from brimful.densify.running import Progress
from brimful.densify.transport import Timeouts

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
