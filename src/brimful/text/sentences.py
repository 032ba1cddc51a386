"""Where does a sentence end, and does the next one lean on it?"""

from __future__ import annotations

from brimful.patterns import compiled

_CLOSERS = rb"(?:[\"')\]*_`]|\xe2\x80[\x99\x9c\x9d\xba]|\xc2[\xab\xbb]|\[\d{1,4}\]){0,8}+"
_GAP = rb"(?:[ \t\r\n]*\n|(?:[ \t\r]|\xc2\xa0|\xe3\x80\x80|\xe2\x80\xaf)++)"
# Signs that end a sentence when blank space follows: . ! ? … ؟ ۔ ։ ።
_NARROW = compiled(
    rb"(?:\.|!|\?|\xe2\x80\xa6|\xd8\x9f|\xdb\x94|\xd6\x89|\xe1\x8d\xa2)"  # one by one: the engine then skips fast
    rb"(?<![.!?][.!?])(?:[.!?]|\xe2\x80\xa6|\xd8\x9f|\xdb\x94|\xd6\x89|\xe1\x8d\xa2){0,64}+" + _CLOSERS + _GAP,
)
_NARROW_ASCII = compiled(rb"[.!?](?<![.!?][.!?])[.!?]{0,64}+" + _CLOSERS + _GAP)
# Signs that need no blank space: 。！？．｡ । ॥ ។ ။ — but not a full-width decimal point,
# nor a quotation that its sentence goes on after.
_WIDE = compiled(
    rb"(?:\xe3\x80\x82|\xef\xbc(?:[\x81\x9f]|\x8e(?!\xef\xbc[\x90-\x99]))|\xef\xbd\xa1|\xe0\xa5[\xa4\xa5]"
    rb"|\xe1\x9f\x94|\xe1\x81\x8b)++"
    rb"(?:\xe3\x80[\x8d\x8f\x91\x8b\x89]|\xef\xbc\x89|\xef\xbd\xa3|\xe2\x80[\x99\x9d]|[\"')\]])*+"
    rb"(?!\xe3\x81\xa8|\xe3\x81\xa3\xe3\x81\xa6|\xe3\x80\x81|\xef\xbc\x8c)(?:" + _GAP + rb")?"
)
_WIDE_SIGNS = (
    b"\xe3\x80\x82", b"\xef\xbc\x81", b"\xef\xbc\x9f", b"\xef\xbc\x8e", b"\xef\xbd\xa1",
    b"\xe0\xa5\xa4", b"\xe0\xa5\xa5", b"\xe1\x9f\x94", b"\xe1\x81\x8b",
)  # fmt: skip


def _words(text: str) -> frozenset[bytes]:
    return frozenset(word.encode() for word in text.split())


# Always followed by what they belong to.
_NEVER = _words(
    "mr mrs ms mx dr prof st ste rev hon gen col lt sgt capt cmdr maj gov sen rep messrs mme mlle sra dra "
    "vs cf e.g i.e eg ie viz approx ca resp incl bzw vgl evtl ggf sog hr fr frl dipl ing inkl exkl zzgl "
    "z.b d.h u.a s.o s.u v.a i.d.r u.u o.ä z.t z.zt m.e i.a b.z.w p.ej av ed eds hrsg geb gest mt ft "
    "univ dept asst assoc op cit ibid loc str abb tab anm"
)
# Followed by a number they belong to; before anything else they may be the last word.
_BEFORE_NUMBER = _words(
    "no nos nr fig figs vol vols pp p ch chap sec sect eq eqs ref refs art abs bd s núm n pág page § "
    "jan feb mar apr jun jul aug sep sept oct okt nov dec dez mon tue wed thu fri sat sun"
)
# Often the last word of a sentence: the next word decides.
_EITHER = _words("etc usw usf uvm inc ltd co corp bros jr sr al ph.d m.d b.a m.a ff a.d b.c a.m p.m u.s u.k u.n")
# Words that open a sentence, and hardly ever continue a name.
_OPENERS = _words(
    "The A An This That These Those It He She They We You I In On At As If When While After Before But And Or "
    "So For To From With By His Her Their Its Our My There Here However Although Because Since Such Both Each "
    "Some Many Most Not No What Who Where Why How Der Die Das Ein Eine Er Sie Es Wir Ich Und Aber Doch Auch Im "
    "Dann Da Dort Hier Nun Then Thus Later "
    "Am Bei Mit Nach Von Zu Für Auf Als Wenn Diese Dieser Dieses Dabei Danach Seit Le La Les Un Une Il Elle Ils "
    "Elles Nous Vous Mais Et Dans En Pour Ce Cette Ces El Los Las Una Ella Ellos Pero Y Con Por Para Este Esta"
)
_ORDINAL_NOUNS = _words(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember Jahrhundert "
    "Jahrhunderts Auflage Klasse Platz Kapitel Weltkrieg Weltkriegs Bundesliga Tag Mal Runde Stock Etage Liga "
    "Geburtstag Lebensjahr Armee Division Republik Internationale Semester Woche Teil Staffel Spieltag Ausgabe"
)
_ORDINAL_BEFORE = _words("am der die das dem den des im vom zum zur beim seit bis ab jeden jeder jede ihren seinen")
_CAPITALS, _SMALL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz"
_CASE_SAMPLE = 16_384
_ROMAN = compiled(rb"[IVXLC]{1,6}$")
_NEXT_WORD = compiled(rb"(?:[\"'(\[]|\xe2\x80[\x98\x9c\x9e]|\xc2[\xab\xbb])*([A-Za-z\x80-\xff]+)")


def sentence_starts(content: bytes) -> list[int]:
    """Positions where a sentence starts after another; blank space belongs to the one before.

    At a line's start the indentation goes with the new sentence.

    >>> sentence_starts(b"Dr. Ada paid 3.50 e.g. for tea. It was U.S. tea. Fine.")
    [32, 49]
    """
    length = len(content)
    starts: list[int] = []
    plain, cased = content.isascii(), _is_cased(content)
    for found in (_NARROW_ASCII if plain else _NARROW).finditer(content):
        position, at = found.end(), found.start()
        if position >= length:
            break
        following = content[position]
        if following in b" \t":
            stripped = content[position : position + 64].lstrip()
            following = stripped[0] if stripped else 32
        if (97 <= following <= 122 and cased) or following in b",;:":
            continue
        if following >= 0xC3 and cased and _is_lower(content, position):
            continue
        if content[at] == 46 and _goes_on(content, at, position):
            continue
        starts.append(position)
    if not plain and any(sign in content for sign in _WIDE_SIGNS):
        wide = [found.end() for found in _WIDE.finditer(content)]
        starts = sorted({*starts, *(position for position in wide if position < length)})
    return starts


def _is_cased(content: bytes) -> bool:
    """Do capitals mean anything here? Not in a text that has next to none."""
    sample = content[:_CASE_SAMPLE]
    letters = len(sample) - len(sample.translate(None, _CAPITALS + _SMALL))
    return not sample.isascii() or (len(sample) - len(sample.translate(None, _CAPITALS))) * 100 >= letters


def _is_lower(content: bytes, position: int) -> bool:
    return content[position : position + 4].decode(errors="ignore")[:1].islower()


def _goes_on(content: bytes, stop: int, position: int) -> bool:
    """Does the full stop at `stop` belong to an abbreviation, an initial or an ordinal?"""
    if content[stop + 1] == 46:
        return False
    before = content[max(stop - 24, 0) : stop]
    parts = before.split()
    if not parts or before[-1] in b" \t\r\n":
        return False
    word = parts[-1].lstrip(b"([\"'")
    if len(word) > 8 or not word:
        return False
    if word.isdigit():
        return _is_ordinal(content, word, before=parts, position=position)
    lower = word.lower()
    if lower in _NEVER or (len(word) == 1 and word.islower()):
        return True
    if len(word) == 1 and len(parts) > 1 and parts[-2] in (b"z.", b"d.", b"u.", b"i.", b"o.", b"v.", b"s."):
        return True
    if lower in _BEFORE_NUMBER:
        return content[position] in b"0123456789"
    if lower in _EITHER or len(word) == 1 or b"." in word or _ROMAN.match(word):
        return not _opens(content, position)
    return False


def _opens(content: bytes, position: int) -> bool:
    found = _NEXT_WORD.match(content, position, position + 24)
    return found is None or found[1] in _OPENERS or found[1].title() in _OPENERS


def _is_ordinal(content: bytes, number: bytes, *, before: list[bytes], position: int) -> bool:
    """German ordinals ("am 3. Mai"), and the numbers of a list at a line's start."""
    if len(number) > 2:
        return False
    found = _NEXT_WORD.match(content, position, position + 24)
    if found is not None and found[1] in _ORDINAL_NOUNS:
        return True
    if len(before) > 1:
        return before[-2].lower() in _ORDINAL_BEFORE and found is not None and found[1] not in _OPENERS
    line = content.rfind(b"\n", 0, position - 1) + 1
    return content[line:position].strip()[:-1] == number


_BACKWARD = _words(
    "he she it they him them this these that those such his her hers their theirs its both neither "
    "er sie es ihm ihn ihnen ihr ihre ihrer ihren sein seine seiner seinem seinen "
    "dies diese dieser dieses diesem diesen jene jener jenes solche solcher solches dessen deren dabei dadurch "
    "dafür damit danach daraus darin darauf darüber davon dazu "
    "il elle ils elles ce cet cette ces cela ceci ça celui celle ceux celles leur leurs lui sa ses "
    "él ella ello ellos ellas este esta esto estos estas ese esa eso esos esas aquel aquella aquello "
    "su sus esto dicho dicha dichos dichas "
    "egli ella essi esse questo questa questi queste quello quella "
    "ele eles elas isso isto aquilo esse essa"
)
_BACKWARD_CJK = (
    "他",
    "她",
    "它",
    "牠",
    "这",
    "這",
    "那",
    "此",
    "其",
    "彼",
    "それ",
    "これ",
    "その",
    "この",
    "そこ",
    "あれ",
    "그",
    "이것",
)
_ELISIONS = (
    "c'",
    "c’",
    "it's",
    "it’s",
    "he's",
    "he’s",
    "she's",
    "she’s",
    "that's",
    "that’s",
    "they're",
    "they’re",
)
# Openings whose pronoun stands for nothing, and fixed phrases.
_EMPTY = compiled(
    r"(?:es gibt|es gab|il y a|il faut|such as|that said|that is to say|her majesty|his majesty"
    r"|this (?:paper|article|document|chapter|section|book|page|file|guide|report|study)\b|both .{1,40} and\b)"
)
_LATTER = compiled(r"the (?:latter|former)\b")
_FIRST = compiled(r"[\W\d_]*([^\W\d_]+(?:['’][^\W\d_]+|['’])?)")


def refers_back(content: bytes, start: int) -> bool:
    """Does the sentence at `start` open with a word whose meaning stands before it?

    >>> refers_back(b"Ada wrote notes. They became famous.", 17)
    True
    >>> refers_back(b"Ada wrote notes. They became famous.", 0)
    False
    """
    opening = content[max(start, 0) : max(start, 0) + 96].decode(errors="ignore").casefold()
    found = _FIRST.match(opening)
    if found is None:
        return False
    rest = opening[found.start(1) :]
    if _EMPTY.match(rest):
        return False
    first = found[1]
    if first.startswith(_BACKWARD_CJK) or first in _ELISIONS or first.startswith(("c'", "c’")):
        return True
    return first.rstrip("'’").encode() in _BACKWARD or _LATTER.match(rest) is not None
