"""A small corpus of every kind of text, and some hundreds of questions made from it."""

import random
import re
from datetime import UTC, datetime
from pathlib import Path

from brimful import Document

ROOT = Path(__file__).parents[2]
CJK = [
    "茶馆在四点开门。龙井茶要用八十度的水冲泡，第一泡倒掉。",
    "天气预报说明天有雨，记得带伞。会议改到下午三点，在二楼的会议室。",
    "お茶は四時に出されます。急須は棚の上にあります。会議室の予約は前日までに。",
    "차는 네 시에 나옵니다. 회의실은 이층에 있습니다. 예약은 하루 전에 하세요.",
]
PLACES = "Lisbon Ceylon Assam Kyoto Zürich Málaga Tromsø Łódź".split()
PEOPLE = "Ada Grace Linus Margaret Dennis Barbara".split()


def documents():
    """Prose, notes with dates, code, data and other scripts; the same every time."""
    rnd = random.Random(18)
    for path in ("internals/store.md", "query.md", "security.md", "internals/terms.md"):
        yield Document(f"docs/{path}", (ROOT / "docs" / path).read_text(encoding="utf-8"))
    for path in ("store/merkle.py", "store/format.py", "budget.py", "index/segments.py"):
        yield Document(f"src/{path}", (ROOT / "src/brimful" / path).read_text(encoding="utf-8"))
    for number in range(24):
        who, place, other = rnd.choice(PEOPLE), rnd.choice(PLACES), rnd.choice(PLACES)
        lines = [f"# Order {number} from {place}\n"]
        for part in range(rnd.randrange(2, 9)):
            lines.append(
                f"{who} bought {rnd.randrange(90)} chests of tea in {other} on day {part}; they weigh {part}kg."
            )
            lines.append(rnd.choice(["The kettle is descaled weekly.", "Nobody paid the invoice.", "Pour slowly."]))
        time = int(datetime(2024, 1 + number % 12, 1 + number, tzinfo=UTC).timestamp())
        yield Document(f"orders/{number:02d}-{place.lower()}.md", "\n\n".join(lines), time=time)
    for number, text in enumerate(CJK):
        yield Document(f"notes/{number}.txt", f"{text}\n" * (number + 1))
    rows = "\n".join(f"{n},{rnd.choice(PLACES)},{rnd.randrange(900)},{rnd.choice(PEOPLE)}" for n in range(60))
    yield Document("data/stock.csv", f"id,place,chests,buyer\n{rows}\n")
    log = "\n".join(f"2024-05-{1 + n // 3:02d} 10:{n:02d}:00 ERROR disk{n} failed: I/O timeout" for n in range(40))
    yield Document("data/disk.log", log)
    yield Document("orders/copy.md", "# Order 3 again\n\nNobody paid the invoice.\n\nPour slowly.")


def questions(texts, *, seed, most):
    """Questions with their choices: plain, typos, prefixes, phrases, other scripts, code, filters, nothing found."""
    rnd = random.Random(seed)
    words = sorted({word for text in texts for word in re.findall(r"[A-Za-zÀ-ž]{4,}", text)})
    names = sorted({word for text in texts for word in re.findall(r"\b[a-z]+_[a-z_]+\b", text)})
    lines = sorted({line.strip() for text in texts for line in text.splitlines() if 20 < len(line) < 90})
    makers = [
        lambda: (f"What about {rnd.choice(words)} and {rnd.choice(words)}?", {}),
        lambda: (" ".join(rnd.sample(words, 3)), {}),
        lambda: (typo(rnd, rnd.choice(words)), {}),
        lambda: (f"{typo(rnd, rnd.choice(words))} {typo(rnd, rnd.choice(words))} where", {}),
        lambda: (rnd.choice(words)[: rnd.randrange(2, 5)], {}),
        lambda: (f"{rnd.choice(words)[:4]}* -{rnd.choice(words)}", {"operators": True}),
        lambda: (f'"{" ".join(rnd.choice(lines).split()[:3])}" {rnd.choice(words)}', {"operators": True}),
        lambda: (rnd.choice(lines), {}),
        lambda: (rnd.choice(CJK)[rnd.randrange(8) :][: rnd.randrange(2, 9)], {}),
        lambda: (f"{rnd.choice(names)} {rnd.choice(words)}", {"kind": "code"}),
        lambda: (f"def {rnd.choice(names)}(", {}),
        lambda: (f"who bought tea in {rnd.choice(PLACES)}", {"path": "orders"}),
        lambda: ("chests of tea", {"after": f"2024-{rnd.randrange(1, 7):02d}-01", "before": "2024-09-01"}),
        lambda: (rnd.choice(words), {"not_path": "docs", "without": rnd.choice(words)}),
        lambda: ("invoice", {"phrase": "paid the invoice"}),
        lambda: ("qqqwwwzzz xxjjkk", {}),
        lambda: ("", {}),
        lambda: ("ERROR disk failed 2024-05-03", {"kind": "data"}),
    ]
    for number in range(most):
        question, choices = makers[number % len(makers)]()
        yield question, {"budget": rnd.choice((120, 500, 2_000)), **choices}


def typo(rnd, word):
    """A word with two letters changed places, one lost or one doubled."""
    at = rnd.randrange(1, len(word) - 1)
    return rnd.choice(
        [
            word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
        ]
    )
