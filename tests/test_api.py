"""The public face: which names there are, and that they stay."""

import pkgutil

import pytest

import brimful
from brimful import errors

PUBLIC = [
    "Ask",
    "AsyncEngine",
    "BrimfulError",
    "Budget",
    "BudgetError",
    "ChoiceError",
    "Cluster",
    "Context",
    "Document",
    "DocumentError",
    "Engine",
    "FormatError",
    "Hit",
    "InputError",
    "MissingPartError",
    "ScoreError",
    "SettingError",
    "SpanError",
    "UnknownModelError",
    "Window",
    "WindowSettings",
    "dedupe",
    "inflate",
    "open",
    "open_async",
    "pack",
    "parse",
    "rebuild",
    "render",
    "tokens_for",
]
CODES = {
    "cancelled",
    "error",
    "input",
    "input.budget",
    "input.choice",
    "input.model",
    "input.document",
    "input.format",
    "input.score",
    "input.secret",
    "input.setting",
    "input.span",
    "input.too_long",
    "endpoint",
    "missing",
    "missing.kernels",
    "provider",
    "provider.auth",
    "provider.overflow",
    "provider.quota",
    "provider.refused",
    "provider.shrink",
    "provider.unavailable",
    "provider.wait",
    "store",
    "store.access",
    "store.busy",
    "store.corrupt",
    "store.full",
    "store.rules",
    "store.unreachable",
    "store.version",
}


def test_exported_names_are_locked():
    """A name enters or leaves the public API only on purpose."""
    assert sorted(brimful.__all__) == PUBLIC
    assert all(hasattr(brimful, name) for name in PUBLIC)


def test_the_names_of_densify_are_locked():
    """The public names of the package beside the core."""
    from brimful import densify

    assert sorted(densify.__all__) == [
        *("CitedSentence", "Completion", "DensifySettings", "Digest", "Failure", "Gap", "Memory", "Model", "Progress"),
        *("SEED", "Stop", "Timeouts", "bound_parallel", "classify", "densify", "fit_digest", "model_for"),
    ]
    assert all(hasattr(densify, name) for name in densify.__all__)


def test_every_error_has_a_stable_code_of_its_own():
    """One code a class, all under one root, all in the drawn tree."""
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    classes = [value for value in found if not issubclass(value, Warning)]
    assert {cls.code for cls in classes} == CODES
    assert len(classes) == len(CODES)
    assert all(issubclass(cls, errors.BrimfulError) for cls in classes)
    assert all(cls.__name__ in (errors.__doc__ or "") for cls in classes)


def test_the_package_is_typed():
    """Type checkers read our annotations."""
    assert pkgutil.get_data("brimful", "py.typed") is not None


@pytest.mark.parametrize("module", ["argparse", "splintr"])
def test_heavy_parts_are_imported_when_needed(module):
    """`import brimful` loads no vocabulary, no vectors and no parser of commands."""
    import subprocess
    import sys

    program = f"import sys, brimful; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
