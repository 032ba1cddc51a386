"""Which names and texts are taken for secrets, by kind; and which are not."""

import re
from pathlib import Path

import pytest

from brimful.documents import secrets
from brimful.documents.loaders import Loaded, load
from brimful.documents.secrets import secret_in, secret_name
from brimful.documents.skips import SourceSettings

LETTERS = {
    "a": "q7Zk2Vw9Rt4Lx8Bn3Mc6Hd1Jf5Gs0Py",  # letters and digits
    "l": "qZkVwRtLxBnMcHdJfGsPyTnWoSpAeUiK",  # letters
    "h": "9f3c0a7be51d8462",  # hexadecimal
    "d": "8472910365",
    "u": "Q7ZK2VW9RT4LX8BN3MC6HD1JF5GS0PY",  # capitals and digits
    "b": "q7Zk2Vw9/Rt4Lx8Bn+3Mc6Hd1Jf5Gs0P",  # base64
}


def made(shape: str) -> str:
    """A token of a published shape: `{a36}` stands for 36 letters and digits. None is written in this file."""

    def run(found: re.Match[str]) -> str:
        letters, length = LETTERS[found[1]], int(found[2])
        return (letters * (length // len(letters) + 1))[:length]

    return re.sub(r"\{([alhdub])(\d+)\}", run, shape)


TOKENS = """
//registry.npmjs.org/:_authToken={h8}-{h4}-{h4}-{h4}-{h12} 1//0{a40} ABIA{u16} ABSK{a100} AccountKey={a86}==
AccountKey={b86}==;EndpointSuffix=core.windows.net AGE-SECRET-KEY-1{u58} AIza{a35} AKCp{a69} AKIA{u16}
ann:$apr1${a8}${a22} apify_api_{a36} AQVN{a35} ASIA{u16} ATATT3{a60} ATBB{a28} ATCTT3{a50} bkua_{h40}
CCIPAT_{a22}_{h40} CFPAT-{a43} cio{a32} CLOJARS_{h60} cmVmdGtu{a50} csk-{h48} dapi{h32} dckr_oat_{a27} dckr_pat_{a27}
doo_v1_{h64} dop_v1_{h64} dor_v1_{h64} dp.ct.{a40} dp.pt.{a43} dp.sa.{a40} dp.st.{a30} dt0c01.{u24}.{u64}
duffel_live_{a43} e2b_{h40} EAAA{a60} EAA{a100} ewogICJh{a33}.ewogICJz{a60}.{a43} eyJ{a33}..{a16}.{a60}.{a22}
eyJ{a33}.eyJ{a60}.{a43} EZAK{a54} fc-{h32} figd_{a40} figo_{a40} fio-u-{a64} fm1_{a100} fm2_{a100} fo1_{a43} fw_{a22}
gho_{a36} ghp_{a36} ghr_{a36} ghs_{a36} ghu_{a36} github_pat_{a22}_{a59} github_pat_{a60} glagent-{a20} glc_{a32}
glcbt-{a20} gldt-{a20} glft-{a20} glimt-{a20} glpat-{a20} glptt-{a20} glrt-{a20} glsa_{a32}_{h8} glsoat-{a20}
GOCSPX-{a28} gsk_{a52} hf_{a34} hf_{l34} HRKU-{a36} HRKU-{h8}-{h4}-{h4}-{h4}-{h12}
https://ann:{l12}@git.internal.org/tea https://discord.com/api/webhooks/{d18}/{a68}
https://hooks.slack.com/services/T{u8}/B{u8}/{a24} https://tea.org/?key=%20r8_{a37} hvb.{a24} hvs.{a90} jina_{a60}
key-{h32} lin_api_{a40} lin_oauth_{h64} lsv2_pt_{h32}_{h10} lsv2_sk_{h32}_{h10} LTAI{a20} mlsn.{h64} M{l23}.{a6}.{a27}
napi_{h60} nfp_{a36} npm_{a36} NRAK-{u27} NRII-{a32} ntn_{d11}{a35} nvapi-{a60} ops_eyJ{a200} oy2{h43} p8e-{h32}
pat-eu1-{h8}-{h4}-{h4}-{h4}-{h12} pat-na1-{h8}-{h4}-{h4}-{h4}-{h12} pat.{a22}.{a24}.{a20} pat{a14}.{h64} pcsk_{a60}
phx_{a40} PMAK-{h24}-{h34} pnu_{a36} postgres://ann:{a12}@db.internal.org:5432/tea pplx-{a40} pscale_oauth_{a32}
pscale_pw_{a32} pscale_tkn_{a43} pul-{h40} pypi-AgEIcHlwaS5vcmc{a60} pypi-AgE{a50} r8_{a37} rdme_{h70} re_{a8}_{a24}
redis://:{a16}@cache.internal.org:6379/0 rk_live_{a24} rnd_{a28} rubygems_{h48} rzp_live_{a14} sb_secret_{a20}
sbp_{h40} secret_{a43} SG.{a22}.{a43} sgp_{a16}_{h40} sgp_{h40} shippo_live_{h40} shpat_{h32} shpca_{h32} shppa_{h32}
shpss_{h32} sk-admin-{a40} sk-ant-api03-{a93}AA sk-ant-{a40} sk-or-{a40} sk-proj-{a48} sk-svcacct-{a40}
sk-{a20}T3BlbkFJ{a20} sk.eyJ{a40} sk_live_{a24} sk_{h48} SK{h32} sl.{a130} sntrys_{a60} sntryu_{h64} sq0atp-{a22}
sq0csp-{a43} sqa_{h40} sqp_{h40} squ_{h40} tfp_{a40} tgp_v1_{a40} tskey-api-{a20} tskey-auth-{a20} tskey-client-{a20}
tvly-{a20} v1.0-{h24}-{h140} vercel_blob_rw_{a16}_{a20} wandb_v1_{a40} whsec_{a24} xai-{a80} xapp-1-{u11}-{d13}-{h64}
xapp-{d1}-{a20} xkeysib-{h64}-{a16} xoxb-{d12}-{d12}-{a24} ya29.{a30} {a14}.atlasv1.{a64} {a3}8Q~{a34} {d10}:AA{a33}
{h32}-us12 {h32}-us{d1}
""".split()
"""The forms that issuers and scanners publish; `{h32}` is 32 of the letters above."""
LINES = (
    "aws_secret_access_key = {b40}",
    "export AWS_SECRET_ACCESS_KEY='{b40}'",
    '{"SecretAccessKey": "{b40}"}',
    'secretAccessKey: "{b40}",',
    "client = {a3}8Q~{a34}",
    '{"auths": {"registry.org": {"auth": "{a40}"}}}',
    '{"type": "service_account", "private_key_id": "{h40}"}',
    "    client-key-data: {b120}",
    "machine registry.org login ann password {a12}",
    "-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b64}\n",
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n{b64}\n",
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{u32}\n\n{b64}\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n{b64}\n",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b64}\n",
    '"private_key": "-----BEGIN PRIVATE KEY-----\\n{b64}\\n"',
    "PuTTY-User-Key-File-2: ssh-rsa\n",
    '{"log": "tea\\nhf_{l34}"}',
)


@pytest.mark.parametrize("shape", [*TOKENS, *LINES])
def test_a_token_of_every_published_kind_is_found(shape):
    """Among other text, in the middle of a file: the file is left out with the kind and place, never the token."""
    token = made(shape)
    text = f"# Notes\n\nTea at four, by hand.\n\n{token}\n\nMore notes follow.\n"
    found = secret_in(text.encode())
    assert found is not None
    assert token not in found
    (skip,) = load("notes.txt", text.encode())
    assert skip.reason == "secret"
    (loaded,) = load("notes.txt", text.encode(), settings=SourceSettings(allow=("secret",)))
    assert isinstance(loaded, Loaded)


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
        "SECRET_KEY = get_secret_key_from_the_environment_of_this_process()",
        "postgres://user:password@localhost:5432/db",
        "postgres://user:passw0rd99@db.example/tea",
        "https://user:pass@host.org/",
        "//registry.npmjs.org/:_authToken=${NPM_TOKEN}",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\n" + LETTERS["b"] * 4,
        "-----BEGIN CERTIFICATE-----\n" + LETTERS["b"] * 4,
        "sha256:" + LETTERS["h"] * 4,
        "integrity sha512-" + LETTERS["b"] * 2 + "==",
        "the commit 9f3c0a7be51d84629f3c0a7be51d84629f3c0a7b was reverted",
        "uuid 9f3c0a7b-e51d-8462-9f3c-0a7be51d8462",
        "machine learning, and how to login; a password is asked for",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4ifQ.SflKxwRJSMeKKF2QT4fwpMeJf3",
        "sk_test_" + LETTERS["a"][:24],
    ],
)
def test_examples_hashes_and_placeholders_are_no_secrets(text):
    """What documents show in place of a credential, and what merely looks like chance, is read."""
    assert secret_in(text.encode()) is None


JWT = made("eyJ{a33}.eyJ{a60}.{a43}")
KEY = made("-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b64}\n-----END RSA PRIVATE KEY-----")
TEXT = "Tokens are signed, and a key signs them.\n" * 12
COMMENTS = "# Tokens are signed, and a key signs them.\n" * 12


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.rst", f"{TEXT}\n    >>> jwt.encode(payload, key)\n    {JWT}\n"),
        ("tests/test_jwt.py", f'{COMMENTS}KEY = """{KEY}"""\n'),
        ("usage.md", f"{TEXT}\n{KEY}\n\n{JWT} and {JWT}\n"),
        ("app.yaml", f"{COMMENTS}token: {made('gsk_{a20}example{a25}')}\n"),
        ("page.html", f"<h1>Tokens</h1><p>{TEXT}</p><pre>{JWT}</pre>"),
    ],
)
def test_examples_are_masked_and_the_rest_is_read(path, text):
    """Tokens that documentation and tests show: each keeps its length and lines, and the rule says so."""
    (loaded,) = load(path, text.encode())
    (plain,) = load(path, text.encode(), settings=SourceSettings(allow=("secret",)))
    assert isinstance(loaded, Loaded)
    assert isinstance(plain, Loaded)
    assert (loaded.rule, loaded.is_verbatim) == (f"masked:{plain.rule}", False)
    assert secret_in(loaded.content) is None
    assert b"[secret]****" in loaded.content
    assert all(new in b"[secret]*" for old, new in zip(plain.content, loaded.content, strict=True) if old != new)
    assert loaded.content.count(b"\n") == plain.content.count(b"\n")
    assert LETTERS["b"].encode() not in loaded.content


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("key.txt", KEY),
        ("jwk.json", '{"kty": "EC", "d": "' + LETTERS["a"] + LETTERS["h"] + '"}'),
        ("tokens.txt", f"a: {JWT}\nb: {JWT}\n"),
        ("app.yaml", f"{COMMENTS}token: {JWT}\n"),
        ("notes.md", f"{TEXT}{KEY[:-30]}"),
        ("notes.md", f"{TEXT}{JWT} {made('ghp_{a36}')}"),
    ],
)
def test_what_is_no_example_leaves_the_file_out(path, text):
    """A key file, a configuration, a key without an end, and an issuer's token among examples."""
    (skip,) = load(path, text.encode())
    assert skip.reason == "secret"


def test_every_issuer_is_named_in_the_docs():
    """docs/security.md says whose tokens are known, and no others."""
    text = (Path(__file__).parents[2] / "docs/security.md").read_text()
    listed = re.search(r"Issuers whose tokens are known: (.*?)\.\n\n", text, re.DOTALL)
    assert listed is not None
    assert re.sub(r"\s+", " ", listed[1]).split(", ") == sorted(secrets.ISSUERS, key=str.lower)


@pytest.mark.parametrize(
    "name",
    (
        ".env .env.local .env.production .env~ .env.bak prod.env app.env.production .envrc id_rsa id_rsa.bak "
        "id_ed25519_work id_ecdsa_sk id_rsa.old netrc .netrc _netrc netrc.bak .npmrc npmrc .pypirc .pgpass pgpass.conf "
        "kubeconfig kubeconfig.yaml kubeconfig-prod prod.kubeconfig admin.conf kubelet.conf terraform.tfstate "
        "terraform.tfstate.backup prod.tfstate credentials credentials.json aws-credentials.json secrets.yaml "
        "prod.secrets.yml secret.txt client_secret_42.json service-account.json service_account_prod.json "
        "gcp-key.json application_default_credentials.json tls.key server.p12 store.jks vault.kdbx home.ovpn "
        ".git-credentials .dockerconfigjson .htpasswd .vault-token .vault_pass.txt .bash_history .databrickscfg "
        "krb5.keytab .my.cnf .mylogin.cnf .s3cfg AuthKey.p8 secrets.tfvars"
    ).split(),
)
def test_names_that_keep_credentials(name):
    """A file of such a name is left out whatever it holds, in any case of letters."""
    assert secret_name(name)
    assert secret_name(name.upper())


@pytest.mark.parametrize(
    "name",
    (
        ".env.example .env.sample env.py environment.yml settings.env.example id_rsa.pub id_ed25519_work.pub netrc.py "
        "test_netrc.py secrets.py secret_santa.md credentials.md "
        "admin.py nginx.conf app.conf main.tf variables.tf tokens.json package.json keys.md monkey.txt shadow.css "
        "history.md service_account.md keyboard.json"
    ).split(),
)
def test_names_of_code_and_templates_are_no_secrets(name):
    """Templates, public keys and sources that only speak of credentials are read."""
    assert not secret_name(name)
