"""Is this file, or this text, a secret?

By name where the name says it, else by what credentials look like: the token shapes that their issuers publish, and
the lines in which credentials are kept. One gate for every way into a store: files, streams, strings, captures.
"""

from __future__ import annotations

import re

from brimful.corpus.skips import SourceSettings
from brimful.errors import SecretError
from brimful.kernels import runs as kernels
from brimful.kernels.runs import Anchors

PREFIX_BYTES = 1_048_576
"""How much of a text is searched for credentials."""

_FOLDERS = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".oci", ".kube", ".docker", ".password-store", ".terraform.d"}
)
_TEMPLATE = r"(?:example|sample|template|tmpl|dist|defaults?|schema)"
_NAMES = re.compile(
    rf"""
    \.env(?:[.~_-](?!{_TEMPLATE}$)[^/]*)? | [^/]+\.env(?:\.(?!{_TEMPLATE}$)[^/]+)? | \.envrc
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[._~-][^/]*)?(?<!\.pub)
    | [^/]+\.(?:ppk|p12|pfx|jks|keystore|kdbx?|key|p8|asc\.key|ovpn|keytab|agekey|tfstate(?:\.[^/]+)?|kubeconfig)
    | [._]?netrc(?:\.(?:bak|old|orig|txt|gpg|local))? | \.?pgpass(?:\.conf)? | \.my(?:login)?\.cnf
    | \.pypirc | \.htpasswd | \.vault-token
    | [._]?npmrc | \.?git-credentials | \.dockercfg | \.dockerconfigjson | \.s3cfg | \.boto | \.databrickscfg
    | \.(?:msmtp|fetchmail|esmtp)rc | \.\w{{1,20}}_history | \.vault_pass(?:word)?(?:\.txt)? | \.secrets?
    | kubeconfig(?:[._-][^/]*)? | (?:admin|kubelet|super-admin)\.conf | credentials | shadow
    | (?:client_secrets?|service[-_]?account|gcp[-_]key|application_default_credentials)[^/]*\.json
    | (?:[^/]*[._-])?(?:credentials|secrets?)\.(?:json|ya?ml|toml|ini|txt|enc|properties|tfvars)
    """,
    re.VERBOSE | re.IGNORECASE,
)

_PLAIN_ENDS = frozenset(
    "c cc cpp css csv go h hpp htm html inc java js jsx md php pl py pyi rb rs rst sh svg ts tsx xml".split()
)
"""Names that end so are no secrets, but for some behind which anything may stand."""

_PEM = (
    rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\\nr\"'+,]{0,64}"
    rb"(?:[A-Z][\w-]{0,30}: [^\n]{0,200}\n\s{0,8}){0,8}[A-Za-z0-9+/=]{40}"
)
_ASSIGNED = rb"[\"']?\s{0,8}(?::=|=>|[:=])\s{0,8}[\"']?"

# (kind, what the text must hold before the pattern is tried, the pattern). Every repeat has an end, so that no text,
# however it is made, takes longer than its length; a plain search for an anchor is many times faster than a pattern.
_Rule = tuple[str, tuple[bytes, ...], bytes]
_BEHIND = {
    "AWS secret key": 1,
    "Mailchimp key": 32,
    "Mailgun key": 0,
    "Twilio key": 0,
    "login of a machine": 0,
    "password hash": 1,
}
"""How many bytes of a match stand before any of its anchors, where that is known and the pattern begins slowly."""
_INSIDE = {"Discord token": re.compile(rb"\.[\w-]{6}\.[\w-]{27}")}
"""What every match has inside, where that is found sooner than the whole."""

_PHRASES: tuple[_Rule, ...] = (
    ("PuTTY key", (b"PuTTY-User-Key-File-",), rb"PuTTY-User-Key-File-\d: "),
    ("private key", (b"PRIVATE KEY",), _PEM),
    ("Google service account", (b"service_account",), rb"\"type\"\s{0,8}:\s{0,8}\"service_account\""),
    ("Kubernetes client key", (b"client-key-data",), rb"client-key-data" + _ASSIGNED + rb"[A-Za-z0-9+/=]{60}"),
    ("npm token", (b"_auth",), rb":_auth(?:Token)?\s{0,4}=\s{0,4}(?!\$)[\w+/=-]{16}"),
    ("Docker login", (b'"auths"',), rb"\"auth\"\s{0,8}:\s{0,8}\"[A-Za-z0-9+/]{16,400}={0,2}\""),
    (
        "login of a machine",
        (b"machine ",),
        rb"machine \S{1,200}\s{1,8}login \S{1,200}\s{1,8}password [^\s<$]",
    ),
    ("password hash", (b":$",), rb"\w:\$(?:apr1\$|6\$|2[yb]\$\d\d\$)[\w./$]{22}"),
    (
        "AWS secret key",
        (b"ecret", b"ECRET"),
        rb"(?:[Ss]ecret|SECRET)_?(?:[Aa]ccess|ACCESS)?_?(?:[Kk]ey|KEY)"
        + _ASSIGNED
        + rb"(?=[A-Za-z0-9/+]{0,39}[0-9/+])(?![A-Za-z0-9/+]{30}EXAMPLEKEY)[A-Za-z0-9/+]{40}(?![\w+/=-])",
    ),
    (
        "password in an address",
        (b"://",),
        (
        rb"://[\w.%+-]{1,64}:"
        rb"(?=[^\s:@/]{0,64}\d)(?=[^\s:@/]{0,64}[A-Za-z])[\w.%+!*~^&=-]{8,64}@"
        rb"(?!localhost|127\.|\[|0\.0|(?:[\w-]{1,60}\.){0,4}(?:example|test|invalid|local)\b)[\w-]{1,60}\.[\w.-]{2,80}"
        ),
    ),
)  # fmt: skip
"""Lines in which credentials are kept."""
_SHAPES: tuple[_Rule, ...] = (
    ("age key", (b"AGE-SECRET-KEY-1",), rb"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("AWS access key", (b"AKIA", b"ASIA", b"ABIA"), rb"(?:AKIA|ASIA|ABIA)(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}\b"),
    ("Google key", (b"AIza",), rb"AIza[\w-]{35}"),
    ("Google client secret", (b"GOCSPX-",), rb"GOCSPX-[\w-]{28}"),
    ("Azure account key", (b"AccountKey=",), rb"AccountKey=[A-Za-z0-9+/]{86}=="),
    ("Azure client secret", (b"8Q~",), rb"[\w~.-]{3}8Q~[\w~.-]{34}"),
    ("GitHub token", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), rb"gh[pousr]_[A-Za-z0-9]{36}"),
    ("GitHub token", (b"github_pat_",), rb"github_pat_\w{60}"),
    ("GitLab token", (b"glpat-", b"gldt-", b"glrt-", b"glptt-", b"glcbt-"), rb"gl(?:pat|dt|rt|ptt|cbt)-[\w-]{20}"),
    ("Slack token", (b"xox", b"xapp-"), rb"xox[abeoprs]-\d[\w-]{20}|xapp-\d-[A-Z0-9]{8,14}-\d{8,16}-[0-9a-f]{40}"),
    ("Slack webhook", (b"hooks.slack.com",), rb"hooks\.slack\.com/services/T\w{6,14}/B\w{6,14}/\w{20}"),
    ("Discord webhook", (b"/api/webhooks/",), rb"discord(?:app)?\.com/api/webhooks/\d{16,20}/[\w-]{60}"),
    ("Discord token", (b".",), rb"\b[MNO][A-Za-z\d_-]{23,25}\.[\w-]{6}\.[\w-]{27,38}" + rb"(?![\w+/=-])"),
    ("Telegram token", (b":AA",), rb"\b\d{8,10}:AA[\w-]{33}" + rb"(?![\w+/=-])"),
    ("Stripe key", (b"_live_",), rb"[rs]k_live_[A-Za-z0-9]{20}"),
    ("Square token", (b"sq0",), rb"sq0(?:atp-[\w-]{22}|csp-[\w-]{43})"),
    ("Shopify token", (b"shpat_", b"shpca_", b"shppa_", b"shpss_"), rb"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("OpenAI key", (b"T3BlbkFJ",), rb"sk-[\w-]{10,110}?T3BlbkFJ[\w-]{10}"),
    ("API key", (b"sk-",), rb"sk-(?:proj|ant|or|svcacct)-[\w-]{40}"),
    ("Groq key", (b"gsk_",), rb"\bgsk_[A-Za-z0-9]{50}"),
    ("xAI key", (b"xai-",), rb"\bxai-[A-Za-z0-9]{78}"),
    ("Hugging Face token", (b"hf_",), rb"\bhf_[A-Za-z]{34}\b"),
    ("npm token", (b"npm_",), rb"npm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", (b"pypi-AgE",), rb"pypi-AgE[\w-]{50}"),
    ("RubyGems key", (b"rubygems_",), rb"rubygems_[0-9a-f]{48}"),
    ("Docker token", (b"dckr_pat_",), rb"dckr_pat_[\w-]{27}"),
    ("SendGrid key", (b"SG.",), rb"SG\.[\w-]{22}\.[\w-]{43}"),
    ("Mailgun key", (b"key-",), rb"\bkey-[0-9a-f]{32}\b"),
    ("Mailchimp key", (b"-us",), rb"\b[0-9a-f]{32}-us\d{1,2}\b"),
    ("Twilio key", (b"SK",), rb"\bSK[0-9a-f]{32}\b"),
    ("DigitalOcean token", (b"_v1_",), rb"do[opr]_v1_[0-9a-f]{64}"),
    ("Databricks token", (b"dapi",), rb"\bdapi[0-9a-f]{32}\b"),
    ("Heroku key", (b"HRKU-",), rb"HRKU-[\w-]{36}"),
    ("HashiCorp Vault token", (b"hvs.", b"hvb."), rb"\bhv[sb]\.[\w-]{24}"),
    ("Terraform token", (b".atlasv1.",), rb"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60}"),
    ("Grafana token", (b"glsa_", b"glc_"), rb"glsa_\w{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32}"),
    ("Sentry token", (b"sntrys_", b"sntryu_"), rb"sntrys_[\w+/=]{60}|sntryu_[0-9a-f]{64}"),
    ("New Relic key", (b"NRAK-",), rb"NRAK-[A-Z0-9]{27}"),
    ("Linear key", (b"lin_api_",), rb"lin_api_[A-Za-z0-9]{40}"),
    ("Notion token", (b"ntn_",), rb"\bntn_\d{11}[A-Za-z0-9]{35}"),
    ("Postman key", (b"PMAK-",), rb"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("Pulumi token", (b"pul-",), rb"\bpul-[0-9a-f]{40}\b"),
    ("PlanetScale token", (b"pscale_",), rb"pscale_(?:tkn|pw|oauth)_[\w.-]{32}"),
    ("Doppler token", (b"dp.",), rb"\bdp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.-]{40}"),
    ("Dynatrace token", (b"dt0c01.",), rb"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("Atlassian token", (b"ATATT3",), rb"ATATT3[\w=-]{50}"),
    ("Artifactory token", (b"AKCp", b"cmVmdGtu"), rb"\b(?:AKCp[A-Za-z0-9]{60}|cmVmdGtu[A-Za-z0-9]{50})"),
    (
        "JSON Web Token",
        (b"eyJ",),
        rb"eyJ(?<![\w+/=-]eyJ)[\w-]{10,2000}\.eyJ(?!zdWIiOiIxMjM0NTY3ODkwI)[\w-]{10,4000}\.[\w-]{20}",
    ),
)  # fmt: skip
"""Tokens as their issuers make them: each is, or begins with, a long run of `_TOKEN_LETTERS`."""


def _compiled(rules: tuple[_Rule, ...]) -> tuple[tuple[str, tuple[bytes, ...], re.Pattern[bytes]], ...]:
    return tuple((what, anchors, re.compile(pattern)) for what, anchors, pattern in rules)


_PATTERNS = (_compiled(_PHRASES), _compiled(_SHAPES))
_ANCHORS = tuple(Anchors(anchor for _, anchors, _ in rules for anchor in anchors) for rules in (_PHRASES, _SHAPES))
_RUN_BYTES = 20
_TOKEN_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:~/+="
_IN_TOKEN = bytes(letter in _TOKEN_LETTERS for letter in range(256))


def secret_folder(name: str) -> bool:
    """Whether a folder of this name keeps credentials, so that nothing in it is read."""
    return name in _FOLDERS


def secret_name(name: str) -> bool:
    """Whether a file of this name is taken for a secret; templates such as `.env.example` are not.

    >>> secret_name(".env.local"), secret_name(".env.example"), secret_name("id_rsa"), secret_name("id_rsa.pub")
    (True, False, True, False)
    """
    plain = name.lower()
    if plain[plain.rfind(".") + 1 :] in _PLAIN_ENDS and name.isascii():  # as most are, in a tenth of the time
        if "env" in plain or "id_" in plain or "tfstate" in plain or "kubeconfig" in plain:
            return _NAMES.fullmatch(name) is not None  # anything may stand behind these
        return False
    return _NAMES.fullmatch(name) is not None


def secret_in(content: bytes) -> str | None:
    """The first credential in a bounded prefix, named with its place; never the credential itself.

    >>> secret_in(b"key = AKIA" + b"Q" * 16)
    'AWS access key at byte 6'
    >>> secret_in(b"AKIAIOSFODNN7EXAMPLE is Amazon's own example") is None
    True
    """
    head = content[:PREFIX_BYTES]
    runs = kernels.long_runs(head, _IN_TOKEN, least=_RUN_BYTES)  # a tenth of most texts, so that many rules cost little
    for rules, looked_for, searched in zip(_PATTERNS, _ANCHORS, (head, runs), strict=True):
        there = looked_for.within(searched)
        for what, anchors, pattern in rules if there else ():
            if there.isdisjoint(anchors) or _first(what, anchors, pattern, searched) is None:
                continue
            if (at := _first(what, anchors, pattern, head)) is not None:
                return f"{what} at byte {at}"
    return None


def _first(what: str, anchors: tuple[bytes, ...], pattern: re.Pattern[bytes], text: bytes) -> int | None:
    """Where the first credential of a kind begins."""
    behind, inside = _BEHIND.get(what), _INSIDE.get(what)
    if inside is not None and not inside.search(text):
        return None
    if behind is None:
        found = pattern.search(text)
        return found.start() if found else None
    places = []
    for anchor in anchors:
        at = text.find(anchor, behind)
        while at >= 0 and not pattern.match(text, at - behind):
            at = text.find(anchor, at + 1)
        places += [at - behind] if at >= 0 else []
    return min(places, default=None)


def secret_of(path: str, content: bytes) -> str | None:
    """Why a text of this name is a secret: by a folder of its path, by its own name, or by what it holds.

    >>> secret_of("home/.aws/config", b""), secret_of("id_rsa", b""), secret_of("tea.md", b"Tea at four.")
    ('in a folder for credentials', 'its name is that of a secret', None)
    """
    *folders, name = path.split("/")
    if any(map(secret_folder, folders)):
        return "in a folder for credentials"
    return "its name is that of a secret" if secret_name(name) else secret_in(content)


def check_secret(path: str, content: bytes, settings: SourceSettings) -> None:
    """Refuse a text that is a secret, unless the caller allowed it: the one gate for what comes without a file."""
    if not settings.allows("secret") and (found := secret_of(path, content)) is not None:
        raise SecretError(
            f"{path!r:.200} is not stored: {found}; take the credential out, or store it with allow=('secret',)"
        )
