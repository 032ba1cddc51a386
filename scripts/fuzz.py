"""Feed every way in with bent input, from a seed, for some minutes; what is found is kept in tests/fuzz/found.

    python scripts/fuzz.py [--seconds 20] [--seed 1] [--target loaders …]

Seconds are for each target. The same seed bends the same input in the same order. Kept finds are replayed by
`tests/fuzz/test_found.py` for ever.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.fuzz.targets import TARGETS, seeds  # noqa: E402  (found by the line above)

FOUND = ROOT / "tests" / "fuzz" / "found"
SLOW_SECONDS = 10
MOST_BYTES = 20_000
MOST_MEMORY = 6 << 30
NASTY = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", "\u2028".encode(), "\u202e".encode(), "ſ".encode(), b"\\ud800", b"\r\n"),
    *(b"9" * 400, b"9" * 5_000, b"-1", b"1e999", b"NaN", b"null", b"true", b"0", b'""', b"[]", b"{}", b"[" * 300),
    *(
        b"{" * 300,
        b'{"a":' * 100,
        b"<" * 300,
        b"(" * 300,
        b" " * 2_000,
        b"\n" * 2_000,
        b"# needle\n" * 200,
        b"a" * 5_000,
    ),
    *(
        b"[DOC: x]",
        b"...",
        b"```",
        b"</document>",
        b"data: ",
        b"%PDF-",
        b"PK\x03\x04",
        b"\x1f\x8b",
        b"=?utf-8?b?",
        b"]]>",
    ),
)


class Slow(BaseException):
    """It took too long."""


def bent(rng: random.Random, pool: list[bytes]) -> bytes:
    """One of the pool, changed in a few places."""
    made = bytearray(rng.choice(pool))
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at, to = sorted((rng.randint(0, len(made)), rng.randint(0, len(made))))
        kind = rng.randrange(7)
        if kind == 0 and made:
            made[min(at, len(made) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            made[at:at] = rng.choice(NASTY)
        elif kind == 2:
            del made[at : min(to, at + rng.choice((1, 4, 64)))]
        elif kind == 3:
            made[at:at] = made[at:to][:500] * rng.choice((1, 2, 20))
        elif kind == 4:
            other = rng.choice(pool)
            made[at:to] = other[rng.randint(0, len(other)) :]
        elif kind == 5:
            made[at : at + 1] = rng.randbytes(rng.choice((1, 2, 16)))
        else:
            made[at : min(to, at + 12)] = rng.choice(NASTY)
    return bytes(made[:MOST_BYTES])


def tried(target: Callable[[bytes], None], raw: bytes) -> str | None:
    """What went wrong, None if nothing did."""

    def late(_number: int, _frame: object) -> None:
        raise Slow

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SLOW_SECONDS)
    try:
        target(raw)
    except Slow:
        return f"more than {SLOW_SECONDS} s of processor time"
    except Exception:  # noqa: BLE001  (any exception is what is looked for)
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def fuzz(name: str, *, seed: int, seconds: float) -> tuple[int, dict[str, bytes]]:
    """How many inputs were tried, and the first input of each way to fail."""
    rng = random.Random(f"{seed}:{name}")
    kept = [path.read_bytes() for path in sorted((FOUND / name).glob("*"))]
    pool = [*seeds()[name], *kept]
    until, count = time.monotonic() + seconds, 0
    found: dict[str, bytes] = {}
    while time.monotonic() < until:
        raw = bent(rng, pool)
        count += 1
        problem = tried(TARGETS[name], raw)
        if problem is None:
            if count % 50 == 0 and len(pool) < 500:
                pool.append(raw)  # bent further later
            continue
        key = (
            problem.strip().splitlines()[-1][:80]
            + "".join(line.strip() for line in problem.splitlines() if "src/brimful" in line)[-200:]
        )
        if key not in found:
            found[key] = raw
            print(f"{name}: {problem[-1_500:]}", flush=True)
    return count, found


def main() -> int:
    """Fuzz, keep what was found, say how much was tried."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=sorted(TARGETS), action="append")
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))  # what drowns is a find, too
    logging.disable(logging.CRITICAL)
    total = 0
    for name in chosen.target or sorted(TARGETS):
        count, found = fuzz(name, seed=chosen.seed, seconds=chosen.seconds)
        total += len(found)
        for raw in found.values():
            (FOUND / name).mkdir(parents=True, exist_ok=True)
            (FOUND / name / hashlib.sha256(raw).hexdigest()[:16]).write_bytes(raw)
        print(f"{name}: {count} inputs, {len(found)} ways to fail", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
