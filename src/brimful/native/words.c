/* Where do words begin and end? The rules are those of docs/internals/terms.md; brimful.text.terms says what the pieces are.
 *
 * A text comes folded, with a class for every byte (the classes of brimful.text.characters). Nothing is written to it:
 * whether a sign holds a word together is told by the classes around it. Those have at least eight separators before
 * the first and behind the last, so that every look around stays inside. */

#include "shared.h"

enum {
    SEPARATOR, LOWER, UPPER, DIGIT, UNSPACED, HANGUL, MARK, IGNORED, DOT, COMMA, DASH, APOSTROPHE, UNDERSCORE, PLUS,
    HASH, JOINER
};
enum { LONGEST = 64, LEAST_PIECE = 2, MOST_CHANGES = 4 };

typedef struct {
    const uint8_t *text, *classes;
    int32_t *starts, *lengths;
    int64_t count, most;
} finding;

static inline int is_letter(uint8_t kind)
{
    return kind == LOWER || kind == UPPER;
}

static inline int is_spaced(uint8_t kind)
{
    return kind >= LOWER && kind <= DIGIT;
}

/* Whether a word goes on with such a character. */
static inline int goes_on(uint8_t kind)
{
    return (kind >= LOWER && kind <= HANGUL) || kind == UNDERSCORE;
}

static inline void add(finding *found, int64_t start, int64_t end)
{
    if (found->count < found->most) {
        found->starts[found->count] = (int32_t)start;
        found->lengths[found->count] = (int32_t)(end - start);
    }
    found->count++;
}

/* Whether this is the first dash of 2026-01-02, with no digit before or behind. */
static int is_date(const uint8_t *dash)
{
    static const int8_t digits[] = {-4, -3, -2, -1, 1, 2, 4, 5};
    if (dash[0] != DASH || dash[3] != DASH || dash[-5] == DIGIT || dash[6] == DIGIT)
        return 0;
    for (size_t at = 0; at < sizeof digits; at++)
        if (dash[digits[at]] != DIGIT)
            return 0;
    return 1;
}

/* What a character is inside a chain: its class, or what a sign stands for that holds a word together. */
static inline uint8_t class_in_chain(const uint8_t *here)
{
    switch (here[0]) {
    case LOWER: case UPPER: case DIGIT: case UNDERSCORE:
        return here[0];
    case DOT:
        return here[-1] == DIGIT && here[1] == DIGIT ? DIGIT : SEPARATOR;
    case COMMA:
        return here[-1] == DIGIT && here[1] == DIGIT && here[2] == DIGIT && here[3] == DIGIT && here[4] != DIGIT
                   ? JOINER : SEPARATOR;
    case DASH:
        return here[-1] == DIGIT && (is_date(here) || is_date(here - 3)) ? DIGIT : SEPARATOR;
    case APOSTROPHE:
        return is_letter(here[-1]) && is_letter(here[1]) &&
                       (!goes_on(here[2]) || (is_letter(here[2]) && !goes_on(here[3])))
                   ? JOINER : SEPARATOR;
    default:
        return SEPARATOR;
    }
}

typedef struct {
    int64_t end;  /* behind its last byte */
    int64_t next; /* where the chain goes on behind a gap; -1 at its end */
    int64_t pieces, changes;
} run;

/* The run that starts here. `shows` adds its pieces, otherwise the parts of its dates are added. */
static inline run scan_run(finding *found, int64_t start, int shows)
{
    const uint8_t *classes = found->classes;
    int64_t at = start + 1, piece = start;
    uint8_t before = classes[start];
    run here = {0, -1, 1, 0};
    for (;; at++) {
        uint8_t kind = class_in_chain(classes + at);
        if (kind == before) {
            if (!shows && classes[at] == DASH && is_date(classes + at)) {
                add(found, at - 4, at);
                add(found, at + 1, at + 3);
                add(found, at + 4, at + 6);
            }
            continue;
        }
        if (!is_spaced(kind)) {
            int64_t next = at + 1;
            if (kind == UNDERSCORE)
                while (classes[next] == UNDERSCORE)
                    next++;
            if (kind == JOINER || (kind == UNDERSCORE && is_spaced(classes[next])))
                here.next = next;
            break;
        }
        int64_t edge = at;
        if (before == UPPER && kind == LOWER) { /* the last capital belongs to what follows: HTTP|Server */
            edge--;
            for (int step = 0; step < 3 && (found->text[edge] & 0xC0) == 0x80; step++)
                edge--;
        }
        if (edge == at || classes[edge - 1] == UPPER) {
            if (shows && edge - piece <= LONGEST)
                add(found, piece, edge);
            here.pieces++;
            here.changes += (classes[piece] == DIGIT) != (classes[edge] == DIGIT);
            piece = edge;
        }
        before = kind;
    }
    if (shows && at - piece <= LONGEST)
        add(found, piece, at);
    here.end = at;
    return here;
}

/* Where a chain ends that is cut to the longest term: at a whole character. */
static inline int64_t cut(const uint8_t *text, int64_t start, int64_t end)
{
    if (end - start <= LONGEST)
        return end;
    end = start + LONGEST;
    for (int step = 0; step < 3; step++)
        end -= (text[end] & 0xC0) == 0x80;
    return end;
}

/* Put what was added from a place on into the order of starts, then of lengths: it nearly is. */
static void settle(finding *found, int64_t first)
{
    int32_t *starts = found->starts, *lengths = found->lengths;
    int64_t last = found->count < found->most ? found->count : found->most;
    for (int64_t at = first + 1; at < last; at++) {
        int32_t start = starts[at], length = lengths[at];
        int64_t to = at;
        for (; to > first && (starts[to - 1] > start || (starts[to - 1] == start && lengths[to - 1] > length)); to--) {
            starts[to] = starts[to - 1];
            lengths[to] = lengths[to - 1];
        }
        starts[to] = start;
        lengths[to] = length;
    }
}

/* Add the terms of the chain that starts here: itself, its runs where it has several, the pieces of those that have
 * several and look like a name. Returns where it ends. */
static inline int64_t add_chain(finding *found, int64_t start)
{
    const uint8_t *classes = found->classes;
    int64_t first = found->count, end;
    add(found, start, start);
    for (int64_t at = start;;) {
        run here = scan_run(found, at, 0);
        int64_t length = here.end - at;
        end = here.end;
        if ((here.next >= 0 || at > start) && length <= LONGEST)
            add(found, at, end);
        if (here.pieces > 1 && length >= LEAST_PIECE * here.pieces && here.changes <= MOST_CHANGES)
            scan_run(found, at, 1);
        if (here.next < 0)
            break;
        at = here.next;
    }
    if (first < found->most)
        found->lengths[first] = (int32_t)(cut(found->text, start, end) - start);
    const uint8_t *sign = classes + end;
    if ((*sign == HASH || *sign == PLUS) && is_letter(sign[-1]) && !goes_on(sign[-2]) &&
        !(sign[-2] == APOSTROPHE && is_letter(sign[-3]))) {
        int64_t stop = *sign == HASH ? 1 : 2; /* c# and c++ */
        if ((*sign == HASH || sign[1] == PLUS) && !goes_on(sign[stop]) && sign[stop] != *sign)
            add(found, end - 1, end + stop);
    }
    if (found->count > first + 1)
        settle(found, first);
    return end;
}

/* Behind the character that starts here. */
static inline int64_t behind(const uint8_t *text, int64_t at)
{
    return at + 1 + (text[at] >= 0xC0) + (text[at] >= 0xE0) + (text[at] >= 0xF0);
}

/* Add the pairs of neighbours in a stretch of characters of one script that are written without gaps; a lone one of a
 * script without spaces by itself. Hangul has spaces: only words of three and more have pairs. Returns its end. */
static int64_t add_pairs(finding *found, int64_t start)
{
    const uint8_t *text = found->text, *classes = found->classes;
    uint8_t kind = classes[start];
    int64_t end = start, first = found->count, characters = 0;
    for (; classes[end] == kind; end++)
        characters += (text[end] & 0xC0) != 0x80;
    if (kind == HANGUL)
        add(found, start, cut(text, start, end));
    if (kind == UNSPACED && characters == 1)
        add(found, start, end);
    if (characters > (kind == HANGUL ? 2 : 1))
        for (int64_t at = start, next; (next = behind(text, at)) < end; at = next)
            add(found, at, behind(text, next));
    if (kind == HANGUL)
        settle(found, first);
    return end;
}

/* Where the terms of a folded text start and how many bytes they have, in order of starts, then of lengths. `starts`
 * and `lengths` have room for `most`. Returns how many there are: where that is more, only those are there. */
int64_t find_terms(const uint8_t *text, const uint8_t *classes, int64_t size, int64_t most, int32_t *starts,
                   int32_t *lengths)
{
    finding found = {text, classes, starts, lengths, 0, most};
    for (int64_t at = 0; at < size;) {
        uint8_t kind = classes[at];
        if (is_spaced(kind))
            at = add_chain(&found, at);
        else if (kind == UNSPACED || kind == HANGUL)
            at = add_pairs(&found, at);
        else
            at++;
    }
    return found.count;
}
