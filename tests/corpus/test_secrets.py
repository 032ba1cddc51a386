"""Which names and texts are taken for secrets, by kind; and which are not."""

import re
from pathlib import Path

import pytest

from brimful.corpus import secrets
from brimful.corpus.loaders import Loaded, load
from brimful.corpus.secrets import secret_in, secret_name
from brimful.corpus.skips import SourceSettings

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


# The kinds of token that maintained scanners publish rules for, each by its issuer's own form.
SHAPES = {
    "AWS access key": "AKIA{u16}",
    "AWS session key": "ASIA{u16}",
    "AWS secret key, as a setting": "aws_secret_access_key = {b40}",
    "AWS secret key, in the environment": "export AWS_SECRET_ACCESS_KEY='{b40}'",
    "AWS secret key, in JSON": '{"SecretAccessKey": "{b40}"}',
    "AWS secret key, in code": 'secretAccessKey: "{b40}",',
    "age key": "AGE-SECRET-KEY-1{u58}",
    "Atlassian token": "ATATT3{a60}",
    "Artifactory token": "AKCp{a69}",
    "Azure storage key": "AccountKey={b86}==;EndpointSuffix=core.windows.net",
    "Azure client secret": "client = {a3}8Q~{a34}",
    "Databricks token": "dapi{h32}",
    "DigitalOcean token": "dop_v1_{h64}",
    "Discord token": "M{l23}.{a6}.{a27}",
    "Discord webhook": "https://discord.com/api/webhooks/{d18}/{a68}",
    "Docker token": "dckr_pat_{a27}",
    "Docker login": '{"auths": {"registry.org": {"auth": "{a40}"}}}',
    "Doppler token": "dp.pt.{a43}",
    "Dynatrace token": "dt0c01.{u24}.{u64}",
    "GitHub token": "ghp_{a36}",
    "GitHub application token": "ghs_{a36}",
    "GitHub fine-grained token": "github_pat_{a22}_{a59}",
    "GitLab token": "glpat-{a20}",
    "GitLab runner token": "glrt-{a20}",
    "Google key": "AIza{a35}",
    "Google client secret": "GOCSPX-{a28}",
    "Google service account": '{"type": "service_account", "private_key_id": "{h40}"}',
    "Grafana token": "glsa_{a32}_{h8}",
    "Groq key": "gsk_{a52}",
    "HashiCorp Vault token": "hvs.{a90}",
    "Heroku key": "HRKU-{h8}-{h4}-{h4}-{h4}-{h12}",
    "Hugging Face token": "hf_{l34}",
    "JSON Web Token": "eyJ{a33}.eyJ{a60}.{a43}",
    "Kubernetes client key": "    client-key-data: {b120}",
    "Linear key": "lin_api_{a40}",
    "login of a machine": "machine registry.org login ann password {a12}",
    "Mailchimp key": "{h32}-us12",
    "Mailgun key": "key-{h32}",
    "New Relic key": "NRAK-{u27}",
    "Notion token": "ntn_{d11}{a35}",
    "npm token": "npm_{a36}",
    "npm login": "//registry.npmjs.org/:_authToken={h8}-{h4}-{h4}-{h4}-{h12}",
    "OpenAI key": "sk-{a20}T3BlbkFJ{a20}",
    "OpenAI project key": "sk-proj-{a48}",
    "Anthropic key": "sk-ant-api03-{a93}AA",
    "password in an address": "postgres://ann:{a12}@db.internal.org:5432/tea",
    "password hash": "ann:$apr1${a8}${a22}",
    "PlanetScale token": "pscale_tkn_{a43}",
    "Postman key": "PMAK-{h24}-{h34}",
    "Pulumi token": "pul-{h40}",
    "PyPI token": "pypi-AgEIcHlwaS5vcmc{a60}",
    "RubyGems key": "rubygems_{h48}",
    "SendGrid key": "SG.{a22}.{a43}",
    "Sentry token": "sntryu_{h64}",
    "Shopify token": "shpat_{h32}",
    "Slack token": "xoxb-{d12}-{d12}-{a24}",
    "Slack application token": "xapp-1-{u11}-{d13}-{h64}",
    "Slack webhook": "https://hooks.slack.com/services/T{u8}/B{u8}/{a24}",
    "Square token": "sq0atp-{a22}",
    "Stripe key": "sk_live_{a24}",
    "Stripe restricted key": "rk_live_{a24}",
    "Telegram token": "{d10}:AA{a33}",
    "Terraform token": "{a14}.atlasv1.{a64}",
    "Twilio key": "SK{h32}",
    "xAI key": "xai-{a80}",
    "RSA key": "-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b64}\n",
    "encrypted key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\n{b64}\n",
    "old encrypted key": (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{u32}\n\n{b64}\n"
    ),
    "OpenSSH key": "-----BEGIN OPENSSH PRIVATE KEY-----\n{b64}\n",
    "PGP key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b64}\n",
    "key in JSON": '"private_key": "-----BEGIN PRIVATE KEY-----\\n{b64}\\n"',
    "PuTTY key": "PuTTY-User-Key-File-2: ssh-rsa\n",
    "JSON Web Token with line breaks in its header": "ewogICJh{a33}.ewogICJz{a60}.{a43}",
    "encrypted JSON Web Token": "eyJ{a33}..{a16}.{a60}.{a22}",
    "password without a user": "redis://:{a16}@cache.internal.org:6379/0",
    "password without digits": "https://ann:{l12}@git.internal.org/tea",
    "token in an escape": '{"log": "tea\\nhf_{l34}"}',
    "token in an encoded address": "https://tea.org/?key=%20r8_{a37}",
}


def published(shape: str) -> str:
    """An issuer's form in the letters of this file."""
    letters = {"w": "a", "b": "a", "l": "h", "a": "a", "d": "d", "h": "h", "u": "u"}
    return re.sub(r"\{(\w)(\d+)\+?\}", lambda run: f"{{{letters[run[1]]}{run[2]}}}", shape)


SHAPES |= {f"{issuer}: {shape}": published(shape) for issuer, of in secrets.ISSUERS.items() for shape in of}


@pytest.mark.parametrize("kind", sorted(SHAPES))
def test_a_token_of_every_published_kind_is_found(kind):
    """Among other text, in the middle of a file: the file is left out with the kind and place, never the token."""
    token = made(SHAPES[kind])
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
