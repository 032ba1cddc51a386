/* How many tokens has a text? Byte pairs of a vocabulary, within the pieces that its pattern cuts.
 *
 * A vocabulary lies one token after the other in `bytes`: token t is bytes[offsets[t]] to bytes[offsets[t + 1] - 1], and
 * the lower its number, the earlier its pair is joined. `slots` is a table of hashes over them, 1 << bits places of
 * which at least half are empty: 0, or the upper half of a hash over the number of the token and 1. What a character
 * is, a table in two steps says: kinds[pages[code >> 7] << 7 | (code & 127)]. */

#include "kernels.h"

enum { UNKNOWN, UPPER, LOWER, LETTER, MARK, NUMBER, SPACE, BREAK, SIGN };
enum { MOST_PIECE = 512, TOGETHER = 32, PAGE_BITS = 7, LAST_CODE = 0x10FFFF };
static const int64_t UNTOLD = -1;

typedef struct {
    const uint8_t *bytes;
    const int32_t *offsets;
    int64_t count, longest;
    const uint64_t *slots;
    int64_t bits;
    const uint16_t *pages;
    const uint8_t *kinds;
} Vocabulary;

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
EXPORT int64_t index_tokens(const uint8_t *bytes, const int32_t *offsets, int64_t count, uint64_t *slots, int64_t bits)
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
static inline int64_t token_with(const Vocabulary *words, const uint8_t *text, int64_t size, uint64_t hash)
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

static int64_t token_of(const Vocabulary *words, const uint8_t *text, int64_t size)
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
static int64_t count_pairs(const Vocabulary *words, const uint8_t *piece, int64_t size)
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
static inline Character character_at(const Vocabulary *words, const uint8_t *text, int64_t size, int64_t at)
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
static int64_t past_letters(const Vocabulary *words, const uint8_t *text, int64_t size, int64_t start, int lower)
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
static int64_t past_cased_word(const Vocabulary *words, const uint8_t *text, int64_t size, int64_t at, Character first)
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
static int64_t past_word(const Vocabulary *words, const uint8_t *text, int64_t size, int64_t at, Character first)
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

static int64_t past_space(const Vocabulary *words, const uint8_t *text, int64_t size, int64_t at, int is_cased)
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
static int64_t past_piece(const Vocabulary *words, const uint8_t *text, int64_t size, int64_t at, int is_cased)
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
static int64_t count_one(const Vocabulary *words, const uint8_t *text, int64_t size, int is_cased, uint64_t *shorts)
{
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

/* The tokens of a text. `shorts` has 1 << 15 places, which are all zeros before the first call and are given to no other
 * vocabulary. */
EXPORT int64_t count_tokens(const uint8_t *text, int64_t size, int64_t is_cased, const uint8_t *bytes,
                            const int32_t *offsets, int64_t count, int64_t longest, const uint64_t *slots, int64_t bits,
                            const uint16_t *pages, const uint8_t *kinds, uint64_t *shorts)
{
    const Vocabulary words = {bytes, offsets, count, longest, slots, bits, pages, kinds};
    return count_one(&words, text, size, (int)is_cased, shorts);
}

/* The same of many texts: text t is text[ends[t - 1]] to text[ends[t] - 1]. */
EXPORT void count_each(const uint8_t *text, const int64_t *ends, int64_t texts, int64_t *counts, int64_t is_cased,
                       const uint8_t *bytes, const int32_t *offsets, int64_t count, int64_t longest,
                       const uint64_t *slots, int64_t bits, const uint16_t *pages, const uint8_t *kinds, uint64_t *shorts)
{
    const Vocabulary words = {bytes, offsets, count, longest, slots, bits, pages, kinds};
    for (int64_t at = 0, start = 0; at < texts; start = ends[at++])
        counts[at] = count_one(&words, text + start, ends[at] - start, (int)is_cased, shorts);
}

/* The number of the token that a text is, or -1. */
EXPORT int64_t find_token(const uint8_t *text, int64_t size, const uint8_t *bytes, const int32_t *offsets, int64_t count,
                          int64_t longest, const uint64_t *slots, int64_t bits)
{
    const Vocabulary words = {bytes, offsets, count, longest, slots, bits, NULL, NULL};
    return size ? token_of(&words, text, size) : -1;
}

/* ---- The tokens of single words, by a vocabulary whose pairs are joined in the order of a list. */

enum { MOST_WORD = 256, ASKED = -2, LAST_ASCII = 127 };
static const uint8_t WORD_SIGN[] = {0xE2, 0x96, 0x81}; /* begins a token that begins a word, and stands for a blank */

/* A place of the table of pairs: both tokens, of sixteen bits each, over where in the list they stand, and 1; 0 where it
 * is free. */
static inline uint64_t pair_key(int32_t left, int32_t right)
{
    return (uint64_t)left << 48 | (uint64_t)right << 32;
}

static inline uint64_t place_of_pair(uint64_t key, int64_t bits)
{
    return (key ^ key >> 29) * 0x9E3779B97F4A7C15u >> (64 - bits);
}

/* Put a list of pairs of tokens into a table of 2^bits places, cleared and at least twice as many; `joined` gets what
 * each becomes. A line of the text is a pair, a blank between the two; the vocabulary has at most 65,536 tokens.
 * Returns how many lines were read: all, unless one is no pair of tokens, becomes none, or is there twice. */
EXPORT int64_t index_pairs(const uint8_t *text, int64_t size, const uint8_t *bytes, const int32_t *offsets, int64_t words,
                           int64_t longest, const uint64_t *slots, int64_t slot_bits, uint64_t *pairs, int64_t bits,
                           int32_t *joined)
{
    Vocabulary known = {bytes, offsets, words, longest, slots, slot_bits, NULL, NULL};
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    int64_t rank = 0;
    for (int64_t start = 0; start < size; rank++) {
        uint8_t both[2 * MOST_WORD];
        const uint8_t *line = text + start, *newline = memchr(line, '\n', (size_t)(size - start));
        int64_t length = newline ? newline - line : size - start;
        const uint8_t *blank = memchr(line, ' ', (size_t)length);
        int64_t first = blank ? blank - line : 0, second = length - first - 1;
        if (!first || second < 1 || length > 2 * MOST_WORD)
            return rank;
        memcpy(both, line, (size_t)first);
        memcpy(both + first, blank + 1, (size_t)second);
        int64_t left = token_of(&known, line, first), right = token_of(&known, blank + 1, second);
        int64_t token = token_of(&known, both, first + second);
        if (left < 0 || right < 0 || token < 0)
            return rank;
        uint64_t key = pair_key((int32_t)left, (int32_t)right), at = place_of_pair(key, bits);
        for (; pairs[at]; at = (at + 1) & mask)
            if (pairs[at] >> 32 == key >> 32)
                return rank;
        pairs[at] = key | (uint64_t)(rank + 1);
        joined[rank] = (int32_t)token;
        start += length + 1;
    }
    return rank;
}

typedef struct {
    const uint64_t *table;
    int64_t bits;
    const int32_t *joined; /* by place in the list: what a pair becomes */
} Pairs;

/* Where in the list a pair stands; far behind its end where it is not in it. */
static inline int32_t rank_of(const Pairs *pairs, const int32_t *tokens)
{
    uint64_t mask = ((uint64_t)1 << pairs->bits) - 1, key = pair_key(tokens[0], tokens[1]);
    for (uint64_t at = place_of_pair(key, pairs->bits); pairs->table[at]; at = (at + 1) & mask)
        if (pairs->table[at] >> 32 == key >> 32)
            return (int32_t)(pairs->table[at] & 0xFFFFFFFF) - 1;
    return INT32_MAX;
}

/* Join the pair that stands first in the list, the leftmost of equals, until none is left; returns how many of the
 * tokens, at least one, remain. `ranks` say where each token and the next one stand there, and behind the last INT32_MAX. */
static int64_t join_pairs(const Pairs *pairs, int32_t *tokens, int32_t *ranks, int64_t count)
{
    for (;;) {
        int64_t best = least_of(ranks, count - 1);
        if (best < 0)
            return count;
        tokens[best] = pairs->joined[ranks[best]];
        for (int64_t at = best + 1; at + 1 < count; at++) {
            tokens[at] = tokens[at + 1];
            ranks[at] = ranks[at + 1];
        }
        count--;
        if (best)
            ranks[best - 1] = rank_of(pairs, tokens + best - 1);
        ranks[best] = best + 1 < count ? rank_of(pairs, tokens + best) : INT32_MAX;
    }
}

enum { LETTERS = LAST_ASCII + 1 };

/* Where in the list the pair of two letters of ASCII stands, for every two; far behind its end where it is not in it. */
EXPORT void rank_letters(const uint8_t *bytes, const int32_t *offsets, int64_t words, int64_t longest,
                         const uint64_t *slots, int64_t slot_bits, const uint64_t *table, int64_t bits, int32_t *ranks)
{
    Pairs pairs = {table, bits, NULL};
    Vocabulary known = {bytes, offsets, words, longest, slots, slot_bits, NULL, NULL};
    int32_t letters[LETTERS];
    for (int code = 0; code < LETTERS; code++) {
        uint8_t letter = (uint8_t)code;
        letters[code] = (int32_t)token_of(&known, &letter, 1);
    }
    for (int left = 0; left < LETTERS; left++)
        for (int right = 0; right < LETTERS; right++) {
            int32_t both[2] = {letters[left], letters[right]};
            ranks[left * LETTERS + right] = both[0] < 0 || both[1] < 0 ? INT32_MAX : rank_of(&pairs, both);
        }
}

/* The tokens of words, none longer than 256 bytes, each with the sign of a word before it. `whole` says which token a
 * word is, -1 for none, or -2 where it is to be looked up, as it is and with an ASCII capital. Other words begin as
 * their characters, one that is no token as its bytes (`byte_tokens`). `letter_ranks` are those of rank_letters, or
 * none. `tokens` has room for three a byte and three a word, `ends` gets where those of each word end. Returns how many
 * there are. */
EXPORT int64_t word_tokens(const uint8_t *text, const int32_t *starts, const int32_t *lengths, int64_t count,
                           const int32_t *whole, const uint8_t *bytes, const int32_t *offsets, int64_t words,
                           int64_t longest, const uint64_t *slots, int64_t bits, const uint64_t *table,
                           int64_t pair_bits, const int32_t *joined, const int32_t *byte_tokens,
                           const int32_t *letter_ranks, int32_t *tokens, int32_t *ends)
{
    Pairs pairs = {table, pair_bits, joined};
    Vocabulary known = {bytes, offsets, words, longest, slots, bits, NULL, NULL};
    int32_t *out = tokens, letters[LETTERS];
    for (int code = 0; code < LETTERS; code++) {
        uint8_t letter = (uint8_t)code;
        letters[code] = (int32_t)token_of(&known, &letter, 1);
    }
    for (int64_t number = 0; number < count; number++) {
        uint8_t word[3 * MOST_WORD + 3];
        int64_t size = 3;
        memcpy(word, WORD_SIGN, 3);
        for (int64_t at = starts[number]; at < starts[number] + lengths[number]; at++) {
            if (text[at] == ' ') {
                memcpy(word + size, WORD_SIGN, 3);
                size += 3;
            } else {
                word[size++] = text[at];
            }
        }
        int64_t token = whole[number];
        if (token == ASKED) {
            token = token_of(&known, word, size);
            if (token < 0 && size > 3 && word[3] >= 'a' && word[3] <= 'z') {
                word[3] -= 32;
                token = token_of(&known, word, size);
                word[3] += 32;
            }
        }
        if (token >= 0) {
            *out++ = (int32_t)token;
        } else {
            int32_t ranks[3 * MOST_WORD + 3]; /* of each token and the next one */
            int64_t parts = 0, told = 0;      /* tokens; whether the last one is a letter */
            for (int64_t at = 0, width; at < size; at += width) {
                width = 1 + (word[at] >= 0xC0) + (word[at] >= 0xE0) + (word[at] >= 0xF0);
                width = width < size - at ? width : size - at;
                token = word[at] <= LAST_ASCII ? letters[word[at]] : token_of(&known, word + at, width);
                int is_letter = word[at] <= LAST_ASCII && token >= 0;
                if (token >= 0)
                    out[parts++] = (int32_t)token;
                else
                    for (int64_t byte = 0; byte < width; byte++)
                        out[parts++] = byte_tokens[word[at + byte]];
                if (is_letter && told && letter_ranks)
                    ranks[parts - 2] = letter_ranks[word[at - 1] * LETTERS + word[at]];
                else
                    for (int64_t part = parts - (token >= 0 ? 1 : width); part < parts; part++)
                        if (part)
                            ranks[part - 1] = rank_of(&pairs, out + part - 1);
                told = is_letter;
            }
            ranks[parts - 1] = INT32_MAX;
            out += join_pairs(&pairs, out, ranks, parts);
        }
        ends[number] = (int32_t)(out - tokens);
    }
    return out - tokens;
}
