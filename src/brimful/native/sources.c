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

/* The lines of a source that have words: where each starts, and its first word. The columns have room for `most`.
 * Returns how many there are. */
int64_t find_indents(const uint8_t *code, int64_t size, int64_t most, int64_t *starts, int64_t *firsts)
{
    int64_t count = 0;
    for (int64_t start = 0; start < size && count < most;) {
        int64_t first = start;
        while (first < size && (code[first] == ' ' || code[first] == '\t'))
            first++;
        if (first == size)
            break;
        if (code[first] != ' ' && (code[first] < '\t' || code[first] > '\r')) {
            starts[count] = start;
            firsts[count++] = first;
        }
        const uint8_t *newline = memchr(code + first, '\n', (size_t)(size - first));
        start = newline ? newline - code + 1 : size;
    }
    return count;
}

/* Of some lines, in order, the number of the first one below each that is indented no more; `count` where none is. */
void close_lines(const int64_t *columns, int64_t count, const int64_t *lines, int64_t many, int64_t *opened,
                 int64_t *found)
{
    int64_t open = 0, each = 0;
    for (int64_t line = many ? lines[0] : count; line < count && (open || each < many); line++) {
        while (open && columns[lines[opened[open - 1]]] >= columns[line])
            found[opened[--open]] = line;
        for (; each < many && lines[each] == line; each++)
            opened[open++] = each;
    }
    while (open)
        found[opened[--open]] = count;
}

/* Which branch of the preprocessor a line begins: IF, IF_ZERO (which nobody reads), ELSE or ENDIF; 0 for none. */
enum { IF = 1, IF_ZERO = 2, ELSE = 3, ENDIF = 4 };

static int branch_of(const uint8_t *text, int64_t start, int64_t end)
{
    static const char *const words[] = {"ifndef", "ifdef", "if", "elifndef", "elifdef", "elif", "else", "endif"};
    int64_t at = start + 1;
    while (at < end && (text[at] == ' ' || text[at] == '\t'))
        at++;
    for (int word = 0; word < 8; word++) {
        int64_t behind = at + (int64_t)strlen(words[word]);
        if (behind > end || memcmp(text + at, words[word], (size_t)(behind - at)))
            continue;
        uint8_t next = behind < end ? text[behind] : 0;
        if (next == '_' || (next >= '0' && next <= '9') || ((next | 32) >= 'a' && (next | 32) <= 'z'))
            continue;
        if (word > 2)
            return word == 7 ? ENDIF : ELSE;
        while (behind < end && (text[behind] == ' ' || text[behind] == '\t'))
            behind++;
        if (behind == end || text[behind++] != '0')
            return IF;
        while (behind < end && (text[behind] == ' ' || text[behind] == '\t'))
            behind++;
        behind += behind < end && text[behind] == '\r';
        return behind == end || text[behind] == '\n' ? IF_ZERO : IF;
    }
    return 0;
}

static int is_even(const uint8_t *code, int64_t start, int64_t end, const uint8_t *marks)
{
    int64_t braces = 0, rounds = 0;
    for (int64_t block = start; block < end; block += 64)
        for (uint64_t bits = lowest_bits(code + block, end - block, marks); bits; bits &= bits - 1) {
            uint8_t sign = code[block + __builtin_ctzll(bits)];
            braces += (sign == '{') - (sign == '}');
            rounds += (sign == '(') - (sign == ')');
        }
    return !braces && !rounds;
}

/* The branches of the preprocessor that are not to be read: all but one of those whose brackets are uneven, the first, or
 * the second behind `#if 0`. Of groups in so many others and more none. Tokens are given: where each starts and ends, and
 * what it is. `before` and `opened` have room for a number a token, as `starts_of` and `ends_of`, which get the branches.
 * Returns how many there are. */
int64_t find_surplus(const uint8_t *text, const uint8_t *code, const int64_t *starts, const int64_t *ends,
                     const uint8_t *kinds, int64_t count, int64_t deepest, int64_t *before, int64_t *opened,
                     int64_t *starts_of, int64_t *ends_of)
{
    int64_t depth = 0, found = 0;
    uint8_t counted[256] = {['('] = 1, [')'] = 1, ['{'] = 1, ['}'] = 1};
    const uint8_t *marks = counted;
    for (int64_t token = 0; token < count; token++) {
        int branch = kinds[token] == DIRECTIVE_KIND ? branch_of(text, starts[token], ends[token]) : 0;
        if (branch == IF || branch == IF_ZERO) {
            before[token] = branch == IF ? -1 : -2;
            opened[depth++] = token;
        } else if (branch && depth) {
            before[token] = opened[depth - 1];
            opened[depth - 1] = token;
            if (branch == ELSE)
                continue;
            depth--;
            int64_t branches = 0, uneven = 0, last = token;
            while (before[last] >= 0) {
                uneven |= !is_even(code, ends[before[last]], starts[last], marks);
                last = before[last];
                branches++;
            }
            int64_t kept = before[last] == -1 ? 0 : 1, at = branches;
            if (branches < 2 || depth >= deepest || !uneven)
                continue;
            for (last = token; before[last] >= 0; last = before[last])
                if (--at != kept) {
                    starts_of[found] = ends[before[last]];
                    ends_of[found++] = starts[last];
                }
        }
    }
    return found;
}
