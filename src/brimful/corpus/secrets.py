"""Is this file a secret?"""

from __future__ import annotations

import re

PREFIX_BYTES = 1_048_576
"""How much of a text is searched for credentials."""

_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"})
_NAMES = re.compile(
    r"""
    \.env(?:\.(?!(?:example|sample|template|dist|defaults?|schema)$)[^/]+)? | [^/]+\.env | \.envrc
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_[\w.-]+)?(?<!\.pub)
    | [^/]+\.(?:ppk|p12|pfx|jks|keystore|kdbx|kdb|key|p8|asc\.key|ovpn)
    | [._]netrc | \.pgpass | \.my\.cnf | \.pypirc | \.htpasswd | \.git-credentials | \.dockercfg | \.vault-token
    | \.s3cfg | \.boto | kubeconfig | credentials | shadow
    | (?:client_secrets?|service[-_]account)[^/]*\.json
    | (?:credentials|secrets?)\.(?:json|ya?ml|toml|ini|txt|enc|properties)
    """,
    re.VERBOSE | re.IGNORECASE,
)

_PEM = (
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\\nr\"'+,]*"
    rb"(?:[A-Z][\w-]*: [^\n]*\n\s*)*[A-Za-z0-9+/=]{40}"
)
# What the text must hold before its pattern is tried: a plain search is many times faster than the pattern.
_PATTERNS: tuple[tuple[str, tuple[bytes, ...], re.Pattern[bytes]], ...] = tuple(
    (what, anchors, re.compile(pattern))
    for what, anchors, pattern in (
        (
            "private key",
            (b"PRIVATE KEY",),
            _PEM,
        ),
        ("PuTTY key", (b"PuTTY-User-Key-File-",), rb"PuTTY-User-Key-File-\d: "),
        ("AWS access key", (b"AKIA", b"ASIA"), rb"(?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}\b"),
        ("GitHub token", (), rb"gh[pousr]_[A-Za-z0-9]{36}"),  # patterns that begin with two letters are as fast
        ("GitHub token", (b"github_pat_",), rb"github_pat_\w{60}"),
        ("GitLab token", (b"glpat-",), rb"glpat-[\w-]{20}"),
        ("Slack token", (), rb"xox[abeoprs]-\d[\w-]{20}"),
        ("Google key", (b"AIza",), rb"AIza[\w-]{35}"),
        ("Stripe key", (b"_live_",), rb"[rs]k_live_[A-Za-z0-9]{20}"),
        ("OpenAI key", (b"T3BlbkFJ",), rb"sk-[\w-]{10,}T3BlbkFJ[\w-]{10}"),
        ("API key", (), rb"sk-(?:proj|ant|or)-[\w-]{40}"),
        ("Hugging Face token", (b"hf_",), rb"hf_[A-Za-z]{34}\b"),
        ("npm token", (b"npm_",), rb"npm_[A-Za-z0-9]{36}\b"),
        ("PyPI token", (b"pypi-AgEI",), rb"pypi-AgEI[\w-]{50}"),
        ("SendGrid key", (b"SG.",), rb"SG\.[\w-]{22}\.[\w-]{43}"),
        ("Azure account key", (b"AccountKey=",), rb"AccountKey=[A-Za-z0-9+/]{86}=="),
    )
)


def secret_folder(name: str) -> bool:
    """Whether a folder of this name keeps credentials, so that nothing in it is read."""
    return name in _FOLDERS


def secret_name(name: str) -> bool:
    """Whether a file of this name is taken for a secret; templates such as `.env.example` are not.

    >>> secret_name(".env.local"), secret_name(".env.example"), secret_name("id_rsa"), secret_name("id_rsa.pub")
    (True, False, True, False)
    """
    return _NAMES.fullmatch(name) is not None


def secret_in(content: bytes) -> str | None:
    """The first credential in a bounded prefix, named with its place; never the credential itself.

    >>> secret_in(b"key = AKIA" + b"Q" * 16)
    'AWS access key at byte 6'
    >>> secret_in(b"AKIAIOSFODNN7EXAMPLE is Amazon's own example") is None
    True
    """
    head = content[:PREFIX_BYTES]
    for what, anchors, pattern in _PATTERNS:
        if anchors and not any(anchor in head for anchor in anchors):
            continue
        if found := pattern.search(head):
            return f"{what} at byte {found.start()}"
    return None
