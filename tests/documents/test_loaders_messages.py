"""What do e-mails and chats say?"""

import json

import pytest

from brimful.documents.loaders import Loaded, load
from brimful.documents.skips import Skipped

MAIL = b"""Subject: =?utf-8?q?Caf=C3=A9?= at four
From: Ann <ann@example.org>
To: Bob <bob@example.org>
Date: Wed, 01 May 2024 12:00:00 +0200
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: multipart/alternative; boundary=C

--C
Content-Type: text/html

<p>not this</p>
--C
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

D=E9j=E0 vu=
 again
--C--
--B
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: base64

PGgxPlRlYTwvaDE+PHA+SG90PC9wPg==
--B
Content-Type: application/pdf
Content-Disposition: attachment; filename="menu.pdf"

xx
--B--
"""


def documents(path: str, raw: bytes | object) -> list[Loaded]:
    """All documents of a file; bytes, or what JSON makes of a value."""
    items = load(path, raw if isinstance(raw, bytes) else json.dumps(raw).encode())
    assert all(isinstance(item, Loaded) for item in items), items
    return [item for item in items if isinstance(item, Loaded)]


def test_an_email_is_its_headers_and_its_text() -> None:
    """Encoded words, quoted-printable and base64 are decoded, HTML becomes Markdown, attachments are named."""
    (mail,) = documents("a.eml", MAIL)
    assert mail.content.decode() == (
        "Subject: Café at four\nFrom: Ann <ann@example.org>\nTo: Bob <bob@example.org>\n"
        "Date: Wed, 01 May 2024 12:00:00 +0200\n\nDéjà vu again\n\n# Tea\n\nHot\n\n"
        "[attachment: menu.pdf, application/pdf]\n"
    )
    assert (mail.title, mail.time, mail.rule) == ("Café at four", 1714557600, "eml")
    assert mail.source_map is not None
    assert mail.source_map.labels[:2] == ("headers", "part 1 (Ann, 2024-05-01)")


def test_an_attached_text_is_read() -> None:
    """A patch or a log that is attached to a mail is named, and says what it says."""
    parts = (
        MAIL.replace(b"application/pdf", b"text/x-patch")
        .replace(b"menu.pdf", b"tea.patch")
        .replace(b"xx", b"+Tea at five")
    )
    (mail,) = documents("a.eml", parts)
    assert mail.content.endswith(b"[attachment: tea.patch, text/x-patch]\n+Tea at five\n")


@pytest.mark.parametrize("fold", [b" a=b;", b"\n a=b;"])
def test_a_mail_with_thousands_of_parameters_is_a_skip(fold: bytes) -> None:
    """Parameters are not read beyond what any mail has, wherever their part stands; other mails are read on."""
    header = b"Content-Type: text/plain;" + fold * 128_000
    for mail in (header + b"\n\nTea", MAIL.replace(b"Content-Type: application/pdf", header)):
        (item,) = load("a.eml", mail)
        assert isinstance(item, Skipped)
        assert (item.reason, "a header of" in item.detail) == ("too_large", True)
    assert len(documents("a.mbox", b"From a\n" + MAIL + b"\nFrom b\n" + MAIL)) == 2


def test_a_mailbox_gives_one_document_per_message() -> None:
    """Messages are numbered from 1 and dated; a quoted From line is unquoted and splits nothing."""
    mailbox = (
        b"From a@b Wed May  1 10:00:00 2024\nSubject: one\nDate: Wed, 1 May 2024 10:00:00 +0000\n\n"
        b"Text\nFrom here it goes on\n>From quoted\n\n"
        b"From c@d Thu May  2 10:00:00 2024\r\nSubject: two\r\n\r\nOther\r\n"
    )
    one, two = documents("sub/in.mbox", mailbox)
    assert (one.path, two.path) == ("sub/in.mbox#0001", "sub/in.mbox#0002")
    assert (one.time, two.time) == (1714557600, None)
    assert one.content.endswith(b"Text\nFrom here it goes on\nFrom quoted\n")
    assert (two.title, two.content) == ("two", b"Subject: two\n\nOther\n")
    (item,) = load("a.mbox", b"no mailbox")
    assert isinstance(item, Skipped)
    assert item.reason == "malformed"


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: =?x-none?b?!!!?=\nDate: nonsense\nContent-Type: text/plain; charset=none\n\n\xff\xfe\xfd",
        b"Subject: x\nDate: Wed, 99 May 99999 99:99:99 +9999\nContent-Transfer-Encoding: base64\n\n!!!!",
        b"Content-Type: multipart/mixed; boundary=\n\n--\n",
        b"Content-Type: text/plain; charset*=x''%ff\nContent-Disposition: attachment; filename*=y'%\n\nz",
        b"Subject: \xff\xfe\nFrom: \xe9\n\nx",
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(300)),
    ],
)
def test_a_broken_email_does_not_raise(raw: bytes) -> None:
    """Unknown charsets, impossible dates, bad base64 and parts within parts without end are survived."""
    (item,) = load("a.eml", raw)
    assert isinstance(item, Loaded | Skipped)


def node(role: str, text: str, parent: str | None, *, time: float | None = None, **metadata: bool) -> dict[str, object]:
    """A message of a ChatGPT export."""
    message = {
        "author": {"role": role},
        "create_time": time,
        "content": {"content_type": "text", "parts": [text]},
        "metadata": metadata,
    }
    return {"message": message, "parent": parent, "children": []}


def test_a_chatgpt_export_gives_one_document_per_conversation() -> None:
    """The branch that was open last is read in order; empty and hidden messages are left out."""
    mapping = {
        "root": {"message": None, "parent": None, "children": ["s"]},
        "s": node("system", "hidden", "root", is_visually_hidden_from_conversation=True),
        "q": node("user", "What is tea?", "s", time=1714557600.5),
        "old": node("assistant", "An old answer", "q"),
        "new": node("assistant", "A drink.", "q", time=1714557660.0),
    }
    chat = {"title": "On tea", "create_time": 1714557600.5, "mapping": mapping, "current_node": "new"}
    loop = {
        "title": "Loop",
        "mapping": {"a": node("user", "round", "b"), "b": node("user", "and", "a")},
        "current_node": "a",
    }
    first, second = documents("conversations.json", [chat, loop])
    assert first.path == "conversations.json#0001"
    assert first.content.decode() == (
        "# On tea\n\nUser (2024-05-01T10:00:00Z): What is tea?\n\nAssistant (2024-05-01T10:01:00Z): A drink.\n\n"
    )
    assert (first.title, first.time, first.rule) == ("On tea", 1714557660, "chatgpt:utf-8")
    assert first.source_map is not None
    assert first.source_map.labels == ("title", "message 1", "message 2")
    assert first.source_map.times == (None, 1714557600, 1714557660)
    assert second.content.decode() == "# Loop\n\nUser: and\n\nUser: round\n\n"


def test_a_claude_export_keeps_its_attachments() -> None:
    """Senders, times and the text of attached files are kept."""
    message = {
        "sender": "human",
        "text": "See this",
        "created_at": "2024-05-01T10:00:00.123456Z",
        "attachments": [{"file_name": "tea.txt", "extracted_content": "Leaves"}],
    }
    answer = {"sender": "assistant", "text": "", "content": [{"type": "text", "text": "Seen."}], "created_at": None}
    (chat,) = documents("conversations.json", [{"uuid": "u", "name": "Tea", "chat_messages": [message, answer]}])
    assert chat.content.decode() == (
        "# Tea\n\nUser (2024-05-01T10:00:00Z): See this\n\n"
        "User, attachment tea.txt (2024-05-01T10:00:00Z): Leaves\n\nAssistant: Seen.\n\n"
    )
    assert chat.rule == "claude:utf-8"


@pytest.mark.parametrize("wrap", [lambda messages: messages, lambda messages: {"messages": messages}])
def test_plain_role_and_content_lists_are_chats(wrap: object) -> None:
    """A list of messages, or an object that holds one, is one conversation; parts of content are joined."""
    messages = [
        {"role": "user", "content": "Hi", "timestamp": 1714557600},
        {"role": "assistant", "content": [{"type": "text", "text": "Ho"}, {"type": "image_url"}]},
    ]
    (chat,) = documents("a.json", wrap(messages))  # type: ignore[operator]
    assert chat.content.decode() == "User (2024-05-01T10:00:00Z): Hi\n\nAssistant: Ho\n\n"
    assert chat.path == "a.json#0001"


@pytest.mark.parametrize("wrap", [lambda chat: chat, lambda chat: {"about": "", "chats": {"list": [chat]}}])
def test_a_telegram_export_keeps_what_people_wrote(wrap: object) -> None:
    """Messages of one chat or of all; a link is part of its sentence, and who joined is no message."""
    messages = [
        {"type": "service", "action": "join_group_by_link", "text": "", "date_unixtime": "1714557500"},
        {
            "type": "message",
            "from": "Ann",
            "date_unixtime": "1714557600",
            "text": ["See ", {"type": "link", "text": "a.b"}],
        },
    ]
    (chat,) = documents("result.json", wrap({"name": "Tea club", "messages": messages}))  # type: ignore[operator]
    assert chat.content.decode() == "# Tea club\n\nAnn (2024-05-01T10:00:00Z): See a.b\n\n"
    assert (chat.rule, chat.time) == ("telegram:utf-8", 1714557600)


def test_a_day_of_a_slack_channel_is_a_chat() -> None:
    """Writers have their names where the export has them; a join is left out."""
    messages = [
        {"type": "message", "subtype": "channel_join", "user": "U1", "text": "joined", "ts": "1714557590.000100"},
        {
            "type": "message",
            "user": "U1",
            "text": "Tea?",
            "ts": "1714557600.0002",
            "user_profile": {"real_name": "Ann"},
        },
        {"type": "message", "user": "U2", "text": "At four.", "ts": "1714557660.000300"},
    ]
    (chat,) = documents("general/2024-05-01.json", messages)
    assert chat.content.decode() == "Ann (2024-05-01T10:00:00Z): Tea?\n\nU2 (2024-05-01T10:01:00Z): At four.\n\n"
    assert chat.rule == "slack:utf-8"


@pytest.mark.parametrize(
    "raw",
    [
        b'[{"role": "admin", "name": "Ann"}]',
        b'[{"role": "user", "content": "Hi"}, {"other": 1}]',
        b'[{"type": "message", "ts": "1714557600.000200", "text": "Hi"}, {"other": 1}]',
        b'{"messages": [{"date_unixtime": "1714557600", "text": "Hi"}, 7, {"other": 1}]}',
        b'[{"role": "user", "content": "Hi"}',
        b'{"mapping": 3}',
        b'[{"mapping": {}}, 7]',
        b'{"role": ' + b"[" * 50_000,
        b'[{"role": "user", "content": ' + b"9" * 10_000 + b"}]",
    ],
)
def test_other_json_stays_as_it_is(raw: bytes) -> None:
    """JSON that only looks like a chat, or is broken, is stored byte for byte: nothing of it is lost."""
    (item,) = documents("a.json", raw)
    assert (item.content, item.is_verbatim, item.path) == (raw, True, "a.json")


def test_an_empty_conversation_is_listed() -> None:
    """A conversation without messages keeps its number and is a skip."""
    items = load("c.json", json.dumps([{"name": "x", "chat_messages": []}]).encode())
    assert items == [Skipped("c.json#0001", "empty", "a conversation without messages")]


@pytest.mark.parametrize("time", [int("9" * 400), -int("9" * 400), 1e999, float("nan"), [1], {"a": 1}, True, "9" * 400])
def test_a_time_that_is_none_costs_the_time_only(time: object) -> None:
    """A chat whose message has four hundred digits, a list or no number for a time is read without that time."""
    chat = [{"role": "user", "content": "Tea at four?", "timestamp": time}]
    (loaded,) = load("chat.json", json.dumps(chat).encode())
    assert isinstance(loaded, Loaded)
    assert loaded.content == b"User: Tea at four?\n\n"


@pytest.mark.parametrize("node", [[], {}, 7, None, ["a"], "nowhere"])
def test_a_current_node_that_is_none_is_looked_for(node: object) -> None:
    """A list, an object or a number as current node: the conversation's last leaf is read instead."""
    mapping = {"a": {"message": {"author": {"role": "user"}, "content": {"parts": ["Tea?"]}}, "children": []}}
    (loaded,) = load("chat.json", json.dumps([{"mapping": mapping, "current_node": node}]).encode())
    assert isinstance(loaded, Loaded)
    assert b"Tea?" in loaded.content


@pytest.mark.parametrize("field", ["mapping", "chat_messages", "messages", "role", "chats", "ts"])
@pytest.mark.parametrize("value", [[], {}, [[]], [{}], {"a": []}, {"a": {"message": []}}, int("9" * 400), None, "x"])
def test_no_shape_of_a_chat_makes_a_loader_raise(field: str, value: object) -> None:
    """Whatever stands in the fields of an export, it is loaded or left out."""
    for item in ({field: value, "content": value}, {field: value, "current_node": value, "title": value}):
        for whole in (item, [item], [{"role": "user", "content": "x", "time": value}, item]):
            assert load("chat.json", json.dumps(whole).encode())


def test_whatever_finding_the_format_raises_is_one_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure before any loader is chosen costs that file with its reason, never the folder."""

    def fails(*_: object) -> bool:
        raise OverflowError("too much")

    monkeypatch.setattr("brimful.documents.loaders._is_mailbox", fails)
    assert load("a.txt", b"tea") == [Skipped("a.txt", "malformed", "OverflowError: too much")]
