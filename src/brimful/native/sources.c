/* Which bytes of a source are strings and comments, and which bracket closes which?
 *
 * `readers` says for every byte what may begin with it, as a sum of the kinds below; of several kinds that begin with
 * the same byte the one that is named first here is tried first. */

#include "shared.h"

enum {
    LINE = 1,         /* two of this byte, up to the end of the line */
    BLOCK = 2,        /* with an asterisk behind it, up to an asterisk and it */
    RAW = 4,          /* R"mark( up to )mark" */
    TRIPLE = 8,       /* three of this byte up to the next three */
    CHARACTERS = 16,  /* like SHORT, but not behind a hexadecimal digit */
    SHORT = 32,       /* up to the same byte, on one line */
    REST = 64,        /* up to the end of the line */
    DIRECTIVE = 128,  /* likewise; a backslash or a comment takes the next line in */
    QUOTED = 256      /* up to the same byte, over lines, without escapes */
};
enum { LONGEST_MARK = 16, DIRECTIVE_KIND = 35, BLANK = 32 };
static const int64_t UNTOLD = -1;

static inline int64_t find_byte(const uint8_t *text, int64_t size, int64_t from, uint8_t byte)
{
    const uint8_t *found = from < size ? memchr(text + from, byte, (size_t)(size - from)) : NULL;
    return found ? found - text : size;
}

/* The first byte from a place on that is marked, or `size`: 64 are looked at together. */
static inline int64_t next_marked(const uint8_t *text, int64_t size, int64_t at, const uint8_t *marks)
{
    for (; at < size; at += 64) {
        uint64_t bits = lowest_bits(text + at, size - at, marks);
        if (bits)
            return at + __builtin_ctzll(bits);
    }
    return size;
}

/* Behind the end of a comment between slashes and asterisks whose text begins here. */
static int64_t past_block(const uint8_t *text, int64_t size, int64_t at)
{
    for (;; at++) {
        at = find_byte(text, size, at, '*');
        if (at >= size)
            return size;
        if (at + 1 < size && text[at + 1] == '/')
            return at + 2;
    }
}

static int64_t past_short(const uint8_t *text, int64_t size, int64_t at, uint8_t quote)
{
    while (at < size && text[at] != '\n') {
        if (text[at] == quote)
            return at + 1;
        if (text[at] != '\\')
            at++;
        else if (at + 1 < size)
            at += 2;
        else
            return at;
    }
    return at;
}

/* UNTOLD where a lone backslash ends the text: the quotes are no string of this kind then. */
static int64_t past_triple(const uint8_t *text, int64_t size, int64_t at, uint8_t quote)
{
    while (at < size) {
        if (text[at] == quote && at + 2 < size && text[at + 1] == quote && text[at + 2] == quote)
            return at + 3;
        if (text[at] == '\\' && at + 1 >= size)
            return UNTOLD;
        at += text[at] == '\\' ? 2 : 1;
    }
    return size;
}

static inline int is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Behind R"mark(…)mark", whose quotation mark is here; `at` where it is something else. */
static int64_t past_raw(const uint8_t *text, int64_t size, int64_t at)
{
    int64_t mark = at + 1, open = mark;
    if (!at || text[at - 1] != 'R')
        return at;
    while (open < size && open - mark < LONGEST_MARK && text[open] != '(' && text[open] != ')' && text[open] != '\\' &&
           text[open] != '"' && !is_space(text[open]))
        open++;
    if (open >= size || text[open] != '(')
        return at;
    int64_t length = open - mark;
    for (int64_t close = open + 1;; close++) {
        close = find_byte(text, size, close, ')');
        if (close >= size)
            return size;
        if (close + 1 + length < size && text[close + 1 + length] == '"' &&
            !memcmp(text + close + 1, text + mark, (size_t)length))
            return close + 2 + length;
    }
}

static int64_t past_directive(const uint8_t *text, int64_t size, int64_t at)
{
    while (at < size && text[at] != '\n') {
        if (text[at] == '\\') {
            if (at + 1 >= size)
                return at;
            at += text[at + 1] == '\r' && at + 2 < size ? 3 : 2;
        } else if (text[at] == '/' && at + 1 < size && text[at + 1] == '*')
            at = past_block(text, size, at + 2);
        else
            at++;
    }
    return at;
}

static inline int is_hexadecimal(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'f');
}

/* Behind the string or comment that begins here; `at` where none does; UNTOLD where that is not told. */
static int64_t past_token(const uint8_t *text, int64_t size, int64_t at, uint16_t kinds)
{
    uint8_t first = text[at], next = at + 1 < size ? text[at + 1] : 0;
    if (kinds & LINE && at + 1 < size && next == first)
        return find_byte(text, size, at, '\n');
    if (kinds & BLOCK && next == '*')
        return past_block(text, size, at + 2);
    if (kinds & RAW) {
        int64_t end = past_raw(text, size, at);
        if (end > at)
            return end;
    }
    if (kinds & TRIPLE && at + 2 < size && next == first && text[at + 2] == first)
        return past_triple(text, size, at + 3, first);
    if (kinds & CHARACTERS)
        return at && is_hexadecimal(text[at - 1]) ? at : past_short(text, size, at + 1, first);
    if (kinds & SHORT)
        return past_short(text, size, at + 1, first);
    if (kinds & REST)
        return find_byte(text, size, at, '\n');
    if (kinds & DIRECTIVE)
        return past_directive(text, size, at + 1);
    if (kinds & QUOTED) {
        int64_t end = find_byte(text, size, at + 1, first);
        return end < size ? end + 1 : size;
    }
    return at;
}

/* Where strings and comments start and end, what each is by the byte that it begins with (`kinds_of`), and the source
 * with each written as so many bytes of its kind, directives as blanks. There are no more than size / 2 + 1. Returns how
 * many there are, or UNTOLD. */
int64_t mask_source(const uint8_t *text, int64_t size, const uint16_t *readers, const uint8_t *kinds_of,
                    int64_t *starts, int64_t *ends, uint8_t *kinds, uint8_t *code)
{
    int64_t count = 0;
    uint8_t begins[256]; /* by byte: may anything begin with it? */
    for (int byte = 0; byte < 256; byte++)
        begins[byte] = readers[byte] > 0;
    const uint8_t *marks = begins;
    memcpy(code, text, (size_t)size);
    for (int64_t at = 0; (at = next_marked(text, size, at, marks)) < size;) {
        int64_t end = past_token(text, size, at, readers[text[at]]);
        if (end < 0)
            return UNTOLD;
        if (end == at) {
            at++;
            continue;
        }
        uint8_t kind = kinds_of[text[at]];
        starts[count] = at;
        ends[count] = end;
        kinds[count++] = kind;
        memset(code + at, kind == DIRECTIVE_KIND ? BLANK : kind, (size_t)(end - at));
        at = end;
    }
    return count;
}

/* Where brackets stand, how many are open before each and behind the last, and for each that opens the place where it is
 * closed, or -1; -1 for those that close, too. `turns` is 1 for an opening byte, -1 for a closing one, else 0. Returns
 * how many there are: of `most` at most, and `most` + 1 where there are more. */
int64_t pair_brackets(const uint8_t *code, int64_t size, const int8_t *turns, int64_t most, int64_t *places,
                      int32_t *depths, int64_t *closes)
{
    int64_t count = 0, open = -1; /* the last one that is open; closes[open] is the one before it until it is closed */
    int32_t depth = 0;
    uint8_t turning[256];
    for (int byte = 0; byte < 256; byte++)
        turning[byte] = turns[byte] != 0;
    const uint8_t *marks = turning;
    for (int64_t block = 0; block < size; block += 64)
        for (uint64_t bits = lowest_bits(code + block, size - block, marks); bits; bits &= bits - 1) {
            int64_t at = block + __builtin_ctzll(bits);
            int8_t turn = turns[code[at]];
            if (count == most)
                return most + 1;
            places[count] = at;
            depths[count] = depth;
            depth += turn;
            closes[count] = -1;
            if (turn > 0) {
                closes[count] = open;
                open = count;
            } else if (open >= 0) {
                int64_t before = closes[open];
                closes[open] = at;
                open = before;
            }
            count++;
        }
    depths[count] = depth;
    while (open >= 0) {
        int64_t before = closes[open];
        closes[open] = -1;
        open = before;
    }
    return count;
}
