/* How many tokens has a text? Byte pairs of a vocabulary, within the pieces that its pattern cuts.
 */

#include "shared.h"

enum { UNKNOWN, UPPER, LOWER, LETTER, MARK, NUMBER, SPACE, BREAK, SIGN };
enum { MOST_PIECE = 512, TOGETHER = 32, PAGE_BITS = 7, LAST_CODE = 0x10FFFF };
static const int64_t UNTOLD = -1;

/* The next bytes of a string that has so many left, at most eight, as a number, the first one lowest. */
static inline uint64_t word_of(const uint8_t *text, int64_t left)
{
    if (left >= 8)
        return word_at(text);
    uint64_t word = 0;
    for (int64_t byte = 0; byte < left; byte++)
        word |= (uint64_t)text[byte] << 8 * byte;
    return word;
}

static inline uint64_t hash_of(const uint8_t *text, int64_t size)
{
    const uint64_t multiplier = 0x9E3779B97F4A7C15u;
    uint64_t hash = (uint64_t)size * multiplier;
    for (; size > 0; text += 8, size -= 8) {
        hash = (hash ^ word_of(text, size)) * multiplier;
        hash ^= hash >> 29;
    }
    return hash * multiplier;
}

static inline int is_same(const uint8_t *text, const uint8_t *other, int64_t size)
{
    for (; size >= 8; text += 8, other += 8, size -= 8)
        if (word_at(text) != word_at(other))
            return 0;
    return word_of(text, size) == word_of(other, size);
}

/* Put the tokens into the table, which is all zeros. Returns how many: fewer than `count` where one is there twice, is
 * empty, or the table is more than half full. */
int64_t index_tokens(const uint8_t *bytes, const int32_t *offsets, int64_t count, uint64_t *slots, int64_t bits)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (int64_t token = 0; token < count; token++) {
        int64_t size = offsets[token + 1] - offsets[token];
        uint64_t hash = hash_of(bytes + offsets[token], size), at = hash >> (64 - bits);
        if (size < 1 || (uint64_t)token * 2 > mask)
            return token;
        for (; slots[at]; at = (at + 1) & mask) {
            int64_t other = (int64_t)(slots[at] & 0xFFFFFFFF) - 1;
            if (offsets[other + 1] - offsets[other] == size &&
                !memcmp(bytes + offsets[other], bytes + offsets[token], (size_t)size))
                return token;
        }
        slots[at] = (hash << 32 & 0xFFFFFFFF00000000u) | (uint64_t)(token + 1);
    }
    return count;
}

/* The number of the token that these bytes are, whose hash is given, or -1. */
static inline int64_t token_with(const vocabulary *words, const uint8_t *text, int64_t size, uint64_t hash)
{
    if (size > words->longest)
        return -1;
    uint64_t mask = ((uint64_t)1 << words->bits) - 1, tag = hash << 32;
    for (uint64_t at = hash >> (64 - words->bits); words->slots[at]; at = (at + 1) & mask) {
        if ((words->slots[at] & 0xFFFFFFFF00000000u) != tag)
            continue;
        int64_t token = (int64_t)(words->slots[at] & 0xFFFFFFFF) - 1;
        if (words->offsets[token + 1] - words->offsets[token] == size &&
            is_same(words->bytes + words->offsets[token], text, size))
            return token;
    }
    return -1;
}

static int64_t token_of(const vocabulary *words, const uint8_t *text, int64_t size)
{
    return size > words->longest ? -1 : token_with(words, text, size, hash_of(text, size));
}

/* Where the lowest of some numbers stands, the first of equals; -1 where all are INT32_MAX, which is none. */
static inline int64_t least_of(const int32_t *numbers, int64_t count)
{
    int64_t best = -1;
    int32_t least = INT32_MAX;
    for (int64_t at = 0; at < count; at++)
        if (numbers[at] < least) {
            least = numbers[at];
            best = at;
        }
    return best;
}

/* The tokens of a piece that is none by itself: the pair with the lowest number is joined, the first of equals, until
 * none is left. */
static int64_t count_pairs(const vocabulary *words, const uint8_t *piece, int64_t size)
{
    if (size > MOST_PIECE)
        return UNTOLD;
    int16_t starts[MOST_PIECE + 1];
    int32_t pairs[MOST_PIECE]; /* the number of what part i and the next one make together */
    const int32_t none = INT32_MAX;
    int64_t count = size;
    for (int64_t at = 0; at <= size; at++)
        starts[at] = (int16_t)at;
    for (int64_t at = 0; at + 1 < size; at++) {
        int64_t token = token_of(words, piece + at, 2);
        pairs[at] = token < 0 ? none : (int32_t)token;
    }
    for (;;) {
        int64_t best = least_of(pairs, count - 1);
        if (best < 0)
            return count;
        /* Part best takes in the next one. */
        for (int64_t at = best + 1; at < count; at++)
            starts[at] = starts[at + 1];
        for (int64_t at = best + 1; at + 2 < count; at++)
            pairs[at] = pairs[at + 1];
        count--;
        for (int64_t at = best ? best - 1 : 0; at <= best && at + 1 < count; at++) {
            int64_t token = token_of(words, piece + starts[at], starts[at + 2] - starts[at]);
            pairs[at] = token < 0 ? none : (int32_t)token;
        }
    }
}

typedef struct {
    int64_t end; /* behind the character */
    int kind;
} Character;

/* The character that begins here; UNKNOWN at the end of the text, and where it is no whole character. */
static inline Character character_at(const vocabulary *words, const uint8_t *text, int64_t size, int64_t at)
{
    Character found = {at, UNKNOWN};
    if (at >= size)
        return found;
    uint32_t code = text[at];
    if (code < 0x80) {
        found.end = at + 1;
        found.kind = words->kinds[(uint32_t)words->pages[0] << PAGE_BITS | code];
        return found;
    }
    int more = code >= 0xF0 ? 3 : code >= 0xE0 ? 2 : code >= 0xC0 ? 1 : -1;
    if (more < 0 || at + more >= size)
        return found;
    code &= 0x3F >> more;
    for (int step = 1; step <= more; step++)
        code = code << 6 | (text[at + step] & 0x3F);
    if (code > LAST_CODE)
        return found;
    found.end = at + 1 + more;
    found.kind = words->kinds[(uint32_t)words->pages[code >> PAGE_BITS] << PAGE_BITS | (code & ((1 << PAGE_BITS) - 1))];
    return found;
}

static inline int is_letter(int kind)
{
    return kind >= UPPER && kind <= LETTER;
}

/* What is neither a letter nor a number nor white space. */
static inline int is_sign(int kind)
{
    return kind == SIGN || kind == MARK;
}

/* Behind the contraction that begins here, or where it would; -1 for an apostrophe and a long s, which is an s in some. */
static int64_t past_contraction(const uint8_t *text, int64_t size, int64_t at)
{
    if (at + 1 >= size || text[at] != '\'')
        return at;
    uint8_t first = text[at + 1] | 32, second = at + 2 < size ? text[at + 2] | 32 : 0;
    if (text[at + 1] == 0xC5 && at + 2 < size && text[at + 2] == 0xBF)
        return -1;
    if (text[at + 1] >= 0x80)
        return at;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return at + 2;
    if (at + 2 < size && text[at + 2] < 0x80 &&
        ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')))
        return at + 3;
    return at;
}

/* Letters of o200k's words from here on: upper-case ones, then lower-case ones, of which one is wanted (`lower`), or of
 * the former; what has no case is both. Returns their end, or `start` where there are none. */
static int64_t past_letters(const vocabulary *words, const uint8_t *text, int64_t size, int64_t start, int lower)
{
    int64_t end = start, both = start;
    Character next = character_at(words, text, size, end);
    while (next.kind == UPPER || next.kind == LETTER || next.kind == MARK) {
        end = next.end;
        both = next.kind == UPPER ? both : end;
        next = character_at(words, text, size, end);
    }
    int64_t upper = end;
    while (next.kind == LOWER || next.kind == LETTER || next.kind == MARK) {
        end = next.end;
        next = character_at(words, text, size, end);
    }
    if (lower)
        return end > upper ? end : both;
    return upper > start ? end : start;
}

/* Behind a word of o200k, one character of something else before it included; `at` where none begins. */
static int64_t past_cased_word(const vocabulary *words, const uint8_t *text, int64_t size, int64_t at, Character first)
{
    int is_prefix = first.kind == SPACE || is_sign(first.kind);
    Character next = is_prefix ? character_at(words, text, size, first.end) : first;
    if (!is_letter(next.kind) && next.kind != MARK && first.kind != MARK)
        return at;
    for (int lower = 1; lower >= 0; lower--) {
        if (is_prefix) {
            int64_t end = past_letters(words, text, size, first.end, lower);
            if (end > first.end)
                return past_contraction(text, size, end);
        }
        int64_t end = past_letters(words, text, size, at, lower);
        if (end > at)
            return past_contraction(text, size, end);
    }
    return at;
}

/* The same of cl100k. */
static int64_t past_word(const vocabulary *words, const uint8_t *text, int64_t size, int64_t at, Character first)
{
    Character next = first;
    if (first.kind == SPACE || is_sign(first.kind))
        next = character_at(words, text, size, first.end);
    if (!is_letter(next.kind))
        return at;
    int64_t end = at;
    while (is_letter(next.kind)) {
        end = next.end;
        next = character_at(words, text, size, end);
    }
    return end;
}

static int64_t past_space(const vocabulary *words, const uint8_t *text, int64_t size, int64_t at, int is_cased)
{
    int64_t end = at, last = at, newline = -1;
    Character next = character_at(words, text, size, end);
    while (next.kind == SPACE || next.kind == BREAK) {
        last = end;
        end = next.end;
        newline = next.kind == BREAK ? end : newline;
        next = character_at(words, text, size, end);
    }
    if (end == size && !is_cased)
        return end;
    if (newline >= 0)
        return newline;
    return end == size || last == at ? end : last;
}

/* Behind a word of ASCII letters, capitals first, with one blank or sign before it, where whatever follows ends it by
 * both patterns, as most pieces are; `at` where there is none. */
static inline int64_t past_plain_word(const uint8_t *ascii, const uint8_t *text, int64_t size, int64_t at)
{
    int64_t begin = at, end;
    if (text[at] < 0x80 && (ascii[text[at]] == SPACE || ascii[text[at]] == SIGN) && text[at] != '\'')
        begin++;
    for (end = begin; end < size && text[end] < 0x80 && ascii[text[end]] == UPPER;)
        end++;
    while (end < size && text[end] < 0x80 && ascii[text[end]] == LOWER)
        end++;
    if (end == begin)
        return at;
    if (end < size && (text[end] >= 0x80 || text[end] == '\'' || is_letter(ascii[text[end]]) || ascii[text[end]] == MARK))
        return at;
    return end;
}

/* Behind the piece that begins here; -1 where something is met that is not told. */
static int64_t past_piece(const vocabulary *words, const uint8_t *text, int64_t size, int64_t at, int is_cased)
{
    Character first = character_at(words, text, size, at);
    if (first.kind == UNKNOWN)
        return UNTOLD;
    if (!is_cased) {
        int64_t end = past_contraction(text, size, at);
        if (end != at)
            return end;
    }
    int64_t end = is_cased ? past_cased_word(words, text, size, at, first) : past_word(words, text, size, at, first);
    if (end != at)
        return end;
    if (first.kind == NUMBER) {
        Character next = first;
        for (int digits = 0; digits < 3 && next.kind == NUMBER; digits++) {
            end = next.end;
            next = character_at(words, text, size, end);
        }
        return end;
    }
    Character sign = text[at] == ' ' ? character_at(words, text, size, first.end) : first;
    if (!is_sign(sign.kind))
        return past_space(words, text, size, at, is_cased);
    while (is_sign(sign.kind)) {
        end = sign.end;
        sign = character_at(words, text, size, end);
    }
    while (end < size && (text[end] == '\r' || text[end] == '\n' || (is_cased && text[end] == '/')))
        end++;
    return end;
}

/* ---- short pieces, which come again and again: what each counts is remembered, since to look it up waits for memory.
 *
 * An entry is one word, so that threads may write what others read: up to seven bytes of text, their number above
 * them, and their tokens. */

enum { SHORT_BYTES = 7, SHORT_BITS = 15, TOKENS_AT = 56, SIZE_AT = 59 };

static inline uint64_t short_key(const uint8_t *piece, int64_t length, int64_t left)
{
    return masked(word_of(piece, left < 8 ? length : 8), length) | (uint64_t)length << SIZE_AT;
}

static inline uint64_t *short_entry(uint64_t *shorts, uint64_t key)
{
    return shorts + (key * 0x9E3779B97F4A7C15u >> (64 - SHORT_BITS));
}

/* The tokens of a text that is UTF-8, by the pattern of o200k (`is_cased`) or of cl100k; -1 where a character is of a
 * kind that is not known, or a piece is very long. */
int64_t count_tokens(const vocabulary *words, const uint8_t *text, int64_t size)
{
    int is_cased = (int)words->is_cased;
    uint64_t *shorts = words->shorts;
    const uint8_t *ascii = words->kinds + ((uint32_t)words->pages[0] << PAGE_BITS);
    int64_t total = 0;
    for (int64_t at = 0; at < size;) {
        /* Pieces are looked up together: each look waits for memory, and theirs are asked for before they are needed. */
        int64_t starts[TOGETHER], ends[TOGETHER], pieces = 0;
        uint64_t hashes[TOGETHER];
        while (pieces < TOGETHER && at < size) {
            int64_t end = past_plain_word(ascii, text, size, at);
            if (end == at)
                end = past_piece(words, text, size, at, is_cased);
            if (end <= at)
                return UNTOLD;
            int64_t start = at, length = end - at;
            at = end;
            if (length == 1) {
                total++;
                continue;
            }
            if (length <= SHORT_BYTES) {
                uint64_t key = short_key(text + start, length, size - start);
                uint64_t known = __atomic_load_n(short_entry(shorts, key), __ATOMIC_RELAXED);
                if (((known ^ key) & ~((uint64_t)7 << TOKENS_AT)) == 0) {
                    total += (int64_t)(known >> TOKENS_AT & 7);
                    continue;
                }
            }
            hashes[pieces] = hash_of(text + start, length < words->longest ? length : words->longest);
            __builtin_prefetch(words->slots + (hashes[pieces] >> (64 - words->bits)));
            starts[pieces] = start;
            ends[pieces++] = end;
        }
        for (int64_t piece = 0; piece < pieces; piece++) {
            uint64_t slot = words->slots[hashes[piece] >> (64 - words->bits)] & 0xFFFFFFFF;
            __builtin_prefetch(words->offsets + slot); /* the one behind, mostly in the same line */
        }
        for (int64_t piece = 0; piece < pieces; piece++) {
            uint64_t slot = words->slots[hashes[piece] >> (64 - words->bits)] & 0xFFFFFFFF;
            __builtin_prefetch(words->bytes + words->offsets[slot ? slot - 1 : 0]);
        }
        for (int64_t piece = 0; piece < pieces; piece++) {
            const uint8_t *begin = text + starts[piece];
            int64_t length = ends[piece] - starts[piece];
            int64_t tokens = token_with(words, begin, length, hashes[piece]) >= 0 ? 1 : count_pairs(words, begin, length);
            if (tokens < 0)
                return UNTOLD;
            if (length <= SHORT_BYTES) {
                uint64_t key = short_key(begin, length, size - starts[piece]);
                __atomic_store_n(short_entry(shorts, key), key | (uint64_t)tokens << TOKENS_AT, __ATOMIC_RELAXED);
            }
            total += tokens;
        }
    }
    return total;
}

/* The number of the token that a text is, or -1. */
int64_t find_token(const vocabulary *words, const uint8_t *text, int64_t size)
{
    return size ? token_of(words, text, size) : -1;
}
