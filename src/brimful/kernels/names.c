/* Which documents do words of a question call by their names?
 *
 * Paths are lines of a text. Pair p says that word words[p] stands in line rows[p], at the places that begin at
 * places[firsts[p]] and end before places[firsts[p + 1]]. */

#include "kernels.h"

static inline int is_alphanumeric(uint8_t code)
{
    return (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
}

/* Of each path, from starts[i] to before ends[i], where in it the file's name begins, and where what stands behind the
 * name's last dot does, its dot included: up to `most` bytes of letters and digits; the path's length where nothing
 * does. */
EXPORT void split_paths(const uint8_t *text, const int64_t *starts, const int64_t *ends, int64_t count, int64_t most,
                        int32_t *bases, int32_t *dots)
{
    for (int64_t at = 0; at < count; at++) {
        const uint8_t *path = text + starts[at];
        int64_t size = ends[at] - starts[at], base = size, dot = -1;
        while (base > 0 && path[base - 1] != '/') {
            base--;
            if (dot < 0 && path[base] == '.')
                dot = base;
        }
        int is_end = dot > base && size - dot <= most && size - dot > 1;
        for (int64_t byte = dot + 1; is_end && byte < size; byte++)
            is_end = is_alphanumeric(path[byte]);
        bases[at] = (int32_t)base;
        dots[at] = (int32_t)(is_end ? dot : size);
    }
}

typedef struct {
    const int32_t *places, *firsts, *words, *rows;
    const int64_t *starts;
    const int32_t *bases, *dots;
    double folder; /* what a word of a folder's name says against one of the file's own */
} paths;

/* What a word says of a document by where it stands best in its path: nothing behind the last dot. */
static inline double share_of(const paths *names, int64_t pair)
{
    int64_t row = names->rows[pair];
    double best = 0.0;
    for (int32_t at = names->firsts[pair]; at < names->firsts[pair + 1]; at++) {
        int64_t inside = names->places[at] - names->starts[row];
        double share = inside >= names->dots[row] ? 0.0 : inside >= names->bases[row] ? 1.0 : names->folder;
        best = share > best ? share : best;
    }
    return best;
}

/* The rows of some pairs that follow each other, and what their word, of such a rarity, is worth for each. */
EXPORT void weigh_word(const paths *names, int64_t first, int64_t last, double rarity, int64_t *rows, double *weights)
{
    for (int64_t pair = first; pair < last; pair++) {
        rows[pair - first] = names->rows[pair];
        weights[pair - first] = share_of(names, pair) * rarity;
    }
}

/* What all words of each of some rows are worth together, where `totals` does not know it, which is negative then: row r
 * has the pairs order[bounds[r]] to order[bounds[r + 1] - 1]. A word whose rarity is negative goes to `unknown`, which
 * has room for all words, once, and its row stays unknown; `seen` has a byte for each word, all 0. Returns how many such
 * words there are. */
EXPORT int64_t weigh_names(const paths *names, const int64_t *rows, int64_t count, const int32_t *bounds,
                           const int32_t *order, const double *rarities, double *totals, uint8_t *seen, int64_t *unknown)
{
    int64_t made = 0;
    for (int64_t at = 0; at < count; at++) {
        double total = 0.0;
        int64_t row = rows[at], is_known = 1;
        if (totals[row] >= 0.0)
            continue;
        for (int32_t pair = bounds[row]; pair < bounds[row + 1]; pair++) {
            int32_t word = names->words[order[pair]];
            if (rarities[word] < 0.0) {
                is_known = 0;
                if (!seen[word])
                    unknown[made++] = word;
                seen[word] = 1;
            } else if (is_known)
                total += share_of(names, order[pair]) * rarities[word];
        }
        if (is_known)
            totals[row] = total;
    }
    return made;
}

/* A word of a question as one of names: the documents that have it, each once, and what it is worth for each. */
typedef struct {
    const int64_t *rows;
    const double *weights;
    int64_t count;
} part;

enum { PLAIN = 1, NUMBER = 2, BOTH = PLAIN | NUMBER };

/* What words of a question say of documents by their names: word w has parts firsts[w] to firsts[w + 1] - 1, of which the
 * best counts for each document, times weights[w]; kinds[w] is whether it is a plain word, a number or neither. `worth`
 * and `marks` have a number for each document, all 0, and get what it is worth and which kinds it has; so has `has`,
 * which is left so. `rows` gets those that are worth anything. Returns how many these are. */
EXPORT int64_t add_names(const part *parts, const int64_t *firsts, const double *weights, const uint8_t *kinds,
                         int64_t words, double *has, double *worth, uint8_t *marks, int64_t *rows)
{
    int64_t made = 0;
    for (int64_t word = 0; word < words; word++) {
        for (const part *own = parts + firsts[word]; own < parts + firsts[word + 1]; own++)
            for (int64_t at = 0; at < own->count; at++)
                if (own->weights[at] > has[own->rows[at]])
                    has[own->rows[at]] = own->weights[at];
        for (const part *own = parts + firsts[word]; own < parts + firsts[word + 1]; own++)
            for (int64_t at = 0; at < own->count; at++) {
                int64_t row = own->rows[at];
                if (has[row] == 0.0)
                    continue; /* worth nothing, or counted already */
                if (worth[row] == 0.0)
                    rows[made++] = row;
                worth[row] += weights[word] * has[row];
                if (worth[row] == 0.0)
                    made--;
                marks[row] |= kinds[word];
                has[row] = 0.0;
            }
    }
    return made;
}

/* How clearly each of some documents is named: its share of what the best named one has of the question, times how much
 * of its own name that is; twice where a plain word and a number say so. */
EXPORT void share_names(const int64_t *rows, int64_t count, const double *totals, const uint8_t *marks, double *worth)
{
    double most = 0.0;
    for (int64_t at = 0; at < count; at++)
        most = worth[rows[at]] > most ? worth[rows[at]] : most;
    for (int64_t at = 0; at < count; at++) {
        int64_t row = rows[at];
        double shared = worth[row], whole = totals[row] > shared ? totals[row] : shared;
        worth[row] = shared / most * (shared / whole);
        if (marks[row] == BOTH)
            worth[row] *= 2.0;
    }
}
