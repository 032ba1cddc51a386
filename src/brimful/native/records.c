/* Where are stretches cut that are too long? */

#include "shared.h"

static int is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* The last place of a byte in [low, high), or -1. */
static int64_t last_of(const uint8_t *text, uint8_t byte, int64_t low, int64_t high)
{
    while (high > low)
        if (text[--high] == byte)
            return high;
    return -1;
}

/* How many bytes the sign has that ends a sentence (or else a clause) at `at`; 0 where there is none. Behind one of
 * ASCII stands white space. */
static int64_t ending(const uint8_t *text, int64_t at, int64_t high, int sentence)
{
    uint8_t byte = text[at], next = at + 1 < high ? text[at + 1] : 0, third = at + 2 < high ? text[at + 2] : 0;
    if (byte < 0x80)
        return byte && strchr(sentence ? ".!?" : ",;:)]}>", byte) && at + 1 < high && is_space(next);
    if (sentence)
        return byte == 0xE3   ? (next == 0x80 && third == 0x82) * 3
               : byte == 0xEF ? (next == 0xBC && (third == 0x81 || third == 0x9F)) * 3
               : byte == 0xE0 ? (next == 0xA5 && third == 0xA4) * 3
                              : ((byte == 0xD8 && next == 0x9F) || (byte == 0xDB && next == 0x94)) * 2;
    return byte == 0xE3   ? (next == 0x80 && third == 0x81) * 3
           : byte == 0xEF ? (next == 0xBC && (third == 0x8C || third == 0x9A || third == 0x9B)) * 3
                          : (byte == 0xD8 && (next == 0x8C || next == 0x9B)) * 2;
}

/* Behind the last sentence (or else clause) that ends in [low, high), with the white space behind it; 0 for none. */
static int64_t last_ending(const uint8_t *text, int64_t low, int64_t high, int sentence)
{
    for (int64_t at = high; at-- > low;) {
        int64_t length = ending(text, at, high, sentence);
        if (length) {
            for (at += length; at < high && is_space(text[at]);)
                at++;
            return at;
        }
    }
    return 0;
}

static int is_safe(const uint8_t *text, int64_t cut)
{
    return (text[cut] & 0xC0) != 0x80 && !(text[cut] == '\n' && text[cut - 1] == '\r');
}

/* The best place to end a piece of [start, end): line, sentence, clause, word, code point. */
static int64_t best_cut(const uint8_t *text, int64_t start, int64_t end, int64_t aim, int64_t limit)
{
    int64_t rest = end - start, want = rest / ((rest + aim - 1) / aim);
    int64_t low = start + want / 2, high = start + (aim < rest - want / 2 ? aim : rest - want / 2);
    int64_t cut = last_of(text, '\n', low, high);
    if (cut >= 0)
        return cut + 1;
    for (int sentence = 1; sentence >= 0; sentence--) {
        cut = last_ending(text, low, high, sentence);
        if (low < cut && cut < end)
            return cut;
    }
    int64_t space = last_of(text, ' ', low, high), tab = last_of(text, '\t', low, high);
    if (space >= 0 || tab >= 0)
        return (space > tab ? space : tab) + 1;
    limit = start + limit < end ? start + limit : end;
    if (text[high] < 0x80)
        for (int64_t at = high; at + 1 < limit; at++)
            if (is_space(text[at]) && !is_space(text[at + 1]))
                return at + 1;
    for (cut = high; cut > high - 4 && cut > start; cut--)
        if (is_safe(text, cut))
            return cut;
    return high;
}

/* A line start that ends a piece of [start, end); inside one long line, the best place there. */
static int64_t line_cut(const uint8_t *text, int64_t start, int64_t end, int64_t aim, int64_t limit)
{
    int64_t rest = end - start, want = rest / ((rest + aim - 1) / aim);
    int64_t high = start + aim < end - 1 ? start + aim : end - 1;
    for (int64_t at = high - 2; at >= start + want / 2; at--)
        if (text[at] == '\n' && text[at + 1] == '\n')
            return at + 2;
    int64_t newline = last_of(text, '\n', start, high);
    if (newline >= start + want / 2)
        return newline + 1;
    for (int64_t at = start + aim; at < start + limit && at < end; at++)
        if (text[at] == '\n')
            return at + 1;
    if (newline >= start)
        return newline + 1;
    return rest > limit ? best_cut(text, start, end, aim, limit) : end;
}

/* Cuts inside of stretches longer than `aim`, so that pieces come near it: at the starts of lines where `by_line`.
 * Returns how many there are; each piece but the last of a stretch has at least one byte. Where they are more than
 * `most`, -1. */
int64_t cut_stretches(const uint8_t *text, const int64_t *starts, const int64_t *ends, int64_t count, int64_t aim,
                      int64_t limit, int64_t by_line, int64_t most, int64_t *cuts)
{
    int64_t found = 0;
    for (int64_t number = 0; number < count; number++)
        for (int64_t start = starts[number], end = ends[number]; end - start > aim;) {
            int64_t cut = by_line ? line_cut(text, start, end, aim, limit) : best_cut(text, start, end, aim, limit);
            if (cut <= start || cut >= end)
                break;
            if (found == most)
                return -1;
            cuts[found++] = start = cut;
        }
    return found;
}
