"""Is this file, or this text, a secret?

By its name, else by the token shapes that issuers publish and the lines in which credentials are kept. One gate for
every way into a store: files, streams, strings, captures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile, zip_longest
from typing import NamedTuple

from brimful.documents.skips import SourceSettings
from brimful.errors import SecretError
from brimful.native import runs as kernels
from brimful.native.runs import Anchors

PREFIX_BYTES = 1_048_576
"""A text is searched for credentials up to here."""

SECRET_FOLDERS = frozenset(
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

_ASSIGNED = rb"[\"']?\s{0,8}(?::=|=>|[:=])\s{0,8}[\"']?"
_PEM = (
    rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\\nr\"'+,]{0,64}"
    rb"(?:[A-Z][\w-]{0,30}: [^\n]{0,200}\n\s{0,8}){0,8}[A-Za-z0-9+/=]{40}"
)
_PEM_BYTES = 20_000
"""The longest private key, whose end is looked for."""

# Kind, bytes of a match before its anchor (None: the pattern is searched for), anchors of which every match has one,
# pattern. Every repeat has an end, so that no text takes longer than its length.
_WRITTEN: tuple[tuple[str, int | None, tuple[bytes, ...], bytes], ...] = (
    ("PuTTY key", 0, (b"PuTTY-User-Key-File-",), rb"PuTTY-User-Key-File-\d: "),
    ("private key", None, (b"PRIVATE KEY",), _PEM),
    (
        "private JSON Web Key",
        0,
        (b'"d"', b'"k"', b'"p"', b'"q"', b'"dp"', b'"dq"', b'"qi"'),
        rb"\"(?:[dk]\"\s{0,8}:\s{0,8}\"[\w-]{42}|(?:[pq]|d[pq]|qi)\"\s{0,8}:\s{0,8}\"[\w-]{80})",
    ),
    ("Google service account", None, (b"service_account",), rb"\"type\"\s{0,8}:\s{0,8}\"service_account\""),
    ("Kubernetes client key", 0, (b"client-key-data",), rb"client-key-data" + _ASSIGNED + rb"[A-Za-z0-9+/=]{60}"),
    ("npm token", 0, (b":_auth",), rb":_auth(?:Token)?\s{0,4}=\s{0,4}(?!\$)[\w+/=-]{16}"),
    ("Docker login", None, (b'"auths"',), rb"\"auth\"\s{0,8}:\s{0,8}\"[A-Za-z0-9+/]{16,400}={0,2}\""),
    ("login of a machine", 0, (b"machine ",), rb"machine \S{1,99}\s{1,8}login \S{1,99}\s{1,8}password [^\s<$]{1,99}"),
    ("password hash", 1, (b":$",), rb"\w:\$(?:apr1\$|6\$|2[yb]\$\d\d\$)[\w./$]{22}"),
    (
        "AWS secret key",
        1,
        (b"ecret", b"ECRET"),
        rb"(?:[Ss]ecret|SECRET)_?(?:[Aa]ccess|ACCESS)?_?(?:[Kk]ey|KEY)"
        + _ASSIGNED
        + rb"(?=[A-Za-z0-9/+]{0,39}[0-9/+])(?![A-Za-z0-9/+]{30}EXAMPLEKEY)[A-Za-z0-9/+]{40}(?![\w+/=-])",
    ),
    (
        "password in an address",
        0,
        (b"://",),
        (rb"://(?:[\w.%+-]{1,64}:|:(?=[^@\s]{12}))(?![a-z]{1,15}@|[A-Z_]{1,64}@|\d{1,15}@)[\w.%+!*~^&=-]{8,64}@"
        rb"(?!localhost|127\.|\[|0\.0|(?:[\w-]{1,60}\.){0,4}(?:example|test|invalid|local)\b)[\w-]{1,60}\.[\w.-]{2,80}"),
    ),
    (
        "JSON Web Token",
        0,
        (b"eyJ", b"ewog", b"ewoJ"),
        rb"(?<![\w+/=-])e(?:yJ|wo[gJ])[\w-]{10,2000}\.(?!eyJzdWIiOiIxMjM0NTY3ODkwI)[\w-]{0,4000}\.[\w-]{16}",
    ),
    ("OpenAI key", None, (b"T3BlbkFJ",), rb"sk-[\w-]{10,110}?T3BlbkFJ[\w-]{10}"),
    ("Slack token", 0, (b"xox",), rb"xox[abeoprs]-\d[\w-]{20}|xoxe\.xox[bp]-\d-[\w-]{60}"),
    ("Slack webhook", 0, (b"hooks.slack.com",), rb"hooks\.slack\.com/\w{8,9}/T\w{6,14}/[AB]\w{6,14}/[\w/]{20}"),
    ("Discord webhook", None, (b"/api/webhooks/",), rb"discord(?:app)?\.com/api/webhooks/\d{16,20}/[\w-]{60}"),
    ("Teams webhook", 0, (b".webhook.office.com",), rb"\.webhook\.office\.com/webhookb2/[0-9a-f-]{36}@"),
)  # fmt: skip
"""Credentials by the lines in which they are kept, and tokens of more than one form."""

_CLASSES = {"a": r"[A-Za-z0-9]", "b": r"[A-Za-z0-9+/]", "d": r"\d", "h": r"[0-9a-f]", "l": r"[a-z0-9]",
            "u": r"[A-Z0-9]", "w": r"[\w-]"}  # fmt: skip
_ISSUED = """
1Password: ops_eyJ{b200+} | Adobe: p8e-{l32} | age: AGE-SECRET-KEY-1{u58} | Airtable: pat{a14}.{h64} | Alibaba Cloud:
LTAI{a20} | Anthropic: sk-ant-{w40+} | Apify: apify_api_{a36} | Artifactory: AKCp{a60+} cmVmdGtu{a50+} | Atlassian:
ATATT3{w50+} ATCTT3{w50+} ATBB{a28} | AWS: AKIA{u16} ASIA{u16} ABIA{u16} ABSK{b100+} | Azure: AccountKey={b86}==
{w3}8Q~{w34} | Brevo: xkeysib-{h64}-{a16} | Buildkite: bkua_{h40} | Cerebras: csk-{l48} | CircleCI: CCIPAT_{a22}_{h40}
| Clojars: CLOJARS_{h60} | Cloudflare: v1.0-{h24}-{h140+} | Contentful: CFPAT-{w43} | crates.io: cio{a32} |
Databricks: dapi{h32} | DigitalOcean: dop_v1_{h64} doo_v1_{h64} dor_v1_{h64} | Docker: dckr_pat_{w27} dckr_oat_{w27} |
Doppler: dp.pt.{a40} dp.st.{w30+} dp.ct.{a40} dp.sa.{a40} | Dropbox: sl.{w130+} | Duffel: duffel_live_{w43} |
Dynatrace: dt0c01.{u24}.{u64} | E2B: e2b_{h40} | EasyPost: EZAK{a54} | ElevenLabs: sk_{h48} | Facebook: EAA{a100+} |
Figma: figd_{w40} figo_{w40} | Firecrawl: fc-{h32} | Fireworks: fw_{a22} | Fly.io: fo1_{w43} fm1_{b100+} fm2_{b100+} |
Frame.io: fio-u-{w64} | GitHub: ghp_{a36} gho_{a36} ghu_{a36} ghs_{a36} ghr_{a36} github_pat_{w60+} | GitLab:
glpat-{w20+} gldt-{w20+} glrt-{w20+} glptt-{w20+} glcbt-{w20+} glsoat-{w20+} glft-{w20+} glimt-{w20+} glagent-{w20+} |
Google: AIza{w35} GOCSPX-{w28} ya29.{w30+} 1//0{w40+} | Grafana: glsa_{w32}_{h8} glc_{b32+} | Groq: gsk_{a50+} |
Harness: pat.{w22}.{a24}.{a20} | HashiCorp: hvs.{w24+} hvb.{w24+} {a14}.atlasv1.{w60+} | Heroku: HRKU-{w36+} |
HubSpot: pat-na1-{h8}-{h4}-{h4}-{h4}-{h12} pat-eu1-{h8}-{h4}-{h4}-{h4}-{h12} | Hugging Face: hf_{a34} | Jina:
jina_{w60} | LangSmith: lsv2_pt_{h32}_{h10} lsv2_sk_{h32}_{h10} | Linear: lin_api_{a40} lin_oauth_{h64} | Mailchimp:
{h32}-us{d1+} | MailerSend: mlsn.{h64} | Mailgun: key-{h32} | Mapbox: sk.eyJ{w40+} | Neon: napi_{l60+} | Netlify:
nfp_{a36} | New Relic: NRAK-{u27} NRII-{w32} | Notion: ntn_{d11}{a35} secret_{a43} | npm: npm_{a36} | NuGet: oy2{l43}
| NVIDIA: nvapi-{w60} | OpenAI: sk-proj-{w40+} sk-svcacct-{w40+} sk-admin-{w40+} | OpenRouter: sk-or-{w40+} |
Perplexity: pplx-{a40+} | Pinecone: pcsk_{w60+} | PlanetScale: pscale_tkn_{w32+} pscale_pw_{w32+} pscale_oauth_{w32+}
| PostHog: phx_{a40+} | Postman: PMAK-{h24}-{h34} | Prefect: pnu_{a36} | Pulumi: pul-{h40} | PyPI: pypi-AgE{w50+} |
Razorpay: rzp_live_{a14} | ReadMe: rdme_{l70} | Render: rnd_{a28} | Replicate: r8_{a37} | Resend: re_{a8}_{a24} |
RubyGems: rubygems_{h48} | SendGrid: SG.{w22}.{w43} | Sentry: sntrys_{b60+} sntryu_{h64} | Shippo: shippo_live_{h40} |
Shopify: shpat_{h32} shpca_{h32} shppa_{h32} shpss_{h32} | Slack: xapp-{d1}-{w20+} | SonarQube: squ_{h40} sqp_{h40}
sqa_{h40} | Sourcegraph: sgp_{h40} sgp_{a16}_{h40} | Square: sq0atp-{w22} sq0csp-{w43} EAAA{w60} | Stripe:
sk_live_{a20+} rk_live_{a20+} whsec_{b24+} | Supabase: sbp_{h40} sb_secret_{w20+} | Tailscale: tskey-auth-{w20+}
tskey-api-{w20+} tskey-client-{w20+} | Tavily: tvly-{w20+} | Telegram: {d8}:AA{w33} | Together: tgp_v1_{w40+} |
Twilio: SK{h32} | Typeform: tfp_{w40+} | Vercel: vercel_blob_rw_{a16}_{a20+} | Weights & Biases: wandb_v1_{w40+} |
xAI: xai-{a78+} | Yandex: AQVN{w35}
"""
"""Issuers and their tokens: `{h32}` is 32 hexadecimal digits, `{h32+}` at least 32; the letters are `_CLASSES`."""
_SHORT_PREFIX = 4
ISSUERS = {
    " ".join(issuer.split()): shapes.split()
    for issuer, _, shapes in (part.partition(":") for part in _ISSUED.split("|"))
}
"""The forms of the tokens of each issuer."""
_RUN_BYTES = 20
_IN_TOKEN = bytes(chr(letter) in "-_.:~/+=%\\" or chr(letter).isalnum() for letter in range(128)) + bytes(128)
_DISCORD = (
    rb"\.(?:(?<=[MNO][\w-]{23}\.)|(?<=[MNO][\w-]{24}\.)|(?<=[MNO][\w-]{25}\.))"
    rb"[\w-]{6}\.[\w-]{27,38}(?![\w+/=-])"
)


class _Rule(NamedTuple):
    what: str
    before: int | None
    anchors: tuple[bytes, ...]
    pattern: re.Pattern[bytes]


def _issued(issuer: str, shape: str) -> _Rule:
    """The rule for one token of an issuer, found by its longest plain part."""
    parts = re.split(r"(\{\w\d+\+?\})", shape)
    anchor = max(parts[::2], key=len)
    pattern, lead = "", 0
    for literal, run in zip_longest(parts[::2], parts[1::2]):
        pattern += re.escape(literal)
        if run:
            pattern += f"{_CLASSES[run[1]]}{{{run[2:-1].rstrip('+')}}}"
    for part in takewhile(lambda part: part != anchor, parts):
        lead += int(part[2:-1]) if part.startswith("{") else len(part)
    if len(parts[0]) <= _SHORT_PREFIX:
        boundary = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))" if parts[0] else ""
        pattern = f"{boundary}{pattern}" + ("" if shape.endswith("+}") else "(?![A-Za-z0-9])")
    what = f"{issuer} token" if issuer != "age" else "age key"
    return _Rule(what, lead, (anchor.encode(),), re.compile(pattern.encode()))


_RULES = (
    tuple(_Rule(what, before, anchors, re.compile(pattern)) for what, before, anchors, pattern in _WRITTEN),
    (
        _Rule("Discord token", None, (b".",), re.compile(_DISCORD)),
        *(_issued(issuer, shape) for issuer, shapes in ISSUERS.items() for shape in shapes),
    ),
)
_ANCHORS = tuple(Anchors(anchor for rule in rules for anchor in rule.anchors) for rules in _RULES)
_EXAMPLE = re.compile(
    rb"example|sample|dummy|fake|changeme|placeholder|redacted|foobar|test|your|xxxx|\*\*\*|1234567|abcdefg|0123456|deadbeef"
    rb"|passw0?r?d|(.)\1{5}",
    re.IGNORECASE,
)
"""Parts of placeholders and published sample values, which random characters hardly ever have."""
_SHOWN = frozenset({"private key", "private JSON Web Key", "JSON Web Token"})
"""Anybody can make these, so documents about them show examples."""
_TOKEN = re.compile(rb"[\w.~+/=-]{0,10000}")
_MASK = b"[secret]"


def secret_name(name: str) -> bool:
    """Whether a file of this name is a secret; templates such as `.env.example` are not.

    >>> secret_name(".env.local"), secret_name(".env.example"), secret_name("id_rsa"), secret_name("id_rsa.pub")
    (True, False, True, False)
    """
    return _NAMES.fullmatch(name) is not None


def secret_in(content: bytes) -> str | None:
    """The first credential in a bounded prefix, named with its place; never the credential itself.

    >>> secret_in(b"key = AKIA" + b"Q7ZK2VW9" * 2)
    'AWS token at byte 6'
    >>> secret_in(b"AKIAIOSFODNN7EXAMPLE is Amazon's own example") is None
    True
    """
    what, start, _ = next(_credentials(content[:PREFIX_BYTES]), ("", 0, 0))
    return f"{what} at byte {start}" if what else None


def mask_examples(content: bytes, *, kind: str) -> tuple[bytes, str | None]:
    """A text with its example credentials masked, byte for byte, and the first credential that is not an example.

    Tokens with a placeholder in them are examples in any text; JSON Web Tokens and whole private keys in prose and
    code. A text that is mostly credentials is a secret.

    >>> mask_examples(b"The key is hf_" + b"example" * 4 + b"Abcdef, and the rest of the text is read.", kind="prose")
    (b'The key is [secret]*****************************, and the rest of the text is read.', None)
    """
    if secret_in(content) is None:
        return content, None
    masked, spans = bytearray(content), list(_credentials(content))
    for what, start, end in spans:
        is_example = _EXAMPLE.search(content, start, end) or (what in _SHOWN and kind in ("prose", "code"))
        if not end or not is_example:
            return content, f"{what} at byte {start}"
        masked[start:end] = b"\n".join(
            _MASK[: len(line)].ljust(len(line), b"*") for line in content[start:end].split(b"\n")
        )
    hidden = sum(end - start for _, start, end in spans)
    if 2 * hidden > len(content):
        return content, f"{spans[0][0]} at byte {spans[0][1]}"
    return bytes(masked), None


def _credentials(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Every credential with its kind, start and end; the end is 0 where it is not known."""
    runs = kernels.long_runs(content, _IN_TOKEN, least=_RUN_BYTES)  # a tenth of most texts
    for rules, anchors, searched in zip(_RULES, _ANCHORS, (content, runs), strict=True):
        present = anchors.within(searched)
        for rule in rules if present else ():
            if present.isdisjoint(rule.anchors) or next(_matches(rule, searched), None) is None:
                continue
            for token in _matches(rule, content):
                if not token[0].endswith(b"EXAMPLE"):
                    yield rule.what, token.start(), _end(rule.what, token, content)


def _matches(rule: _Rule, content: bytes) -> Iterator[re.Match[bytes]]:
    if rule.before is None:
        yield from rule.pattern.finditer(content)
        return
    for anchor in rule.anchors:
        place = content.find(anchor, rule.before)
        while place >= 0:
            token = rule.pattern.match(content, place - rule.before)
            if token:
                yield token
            place = content.find(anchor, token.end() if token else place + 1)


def _end(what: str, token: re.Match[bytes], content: bytes) -> int:
    if what != "private key":
        tail = _TOKEN.match(content, token.end())
        return tail.end() if tail else token.end()
    end = content.find(b"-----END ", token.end(), token.end() + _PEM_BYTES)
    return content.find(b"-----", end + 9, end + 80) + 5 if end >= 0 else 0


def _secret_of(path: str, content: bytes) -> str | None:
    """Why a text of this name is a secret: by a folder of its path, by its name, or by its content.

    >>> _secret_of("home/.aws/config", b""), _secret_of("id_rsa", b""), _secret_of("tea.md", b"Tea at four.")
    ('in a folder for credentials', 'its name is that of a secret', None)
    """
    *folders, name = path.split("/")
    if not SECRET_FOLDERS.isdisjoint(folders):
        return "in a folder for credentials"
    return "its name is that of a secret" if secret_name(name) else secret_in(content)


def check_secret(path: str, content: bytes, settings: SourceSettings) -> None:
    """Refuse a text that is a secret, unless the caller allowed it."""
    reason = None if settings.allows("secret") else _secret_of(path, content)
    if reason is not None:
        raise SecretError(
            f"{path!r:.200} is not stored: {reason}; take the credential out, or store it with allow=('secret',)"
        )
