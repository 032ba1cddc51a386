/* Which documents, blocks and units have the words of a question, over all segments in one call each? */

#include "places.h"

/* Count what each document has of a word: its positions by their weights, and `name` for each time that it is called so.
 * `counts` has a number for each row, all 0; `known` gets the rows that have any. Returns how many these are. */
int64_t count_documents(const corpus *whole, const word *asked, int64_t name, int64_t *counts, int64_t *known)
{
    int64_t made = 0;
    for (const group *own = asked->groups; own < asked->groups + asked->group_count; own++) {
        if (!own->weight)
            continue;
        if (own->rows)
            made = add_rows(own->rows, own->times, own->row_count, own->weight, counts, known, made);
        else
            made = add_to_rows(own->positions, whole->segments, whole->bases, whole->rows, own->weight, counts, known,
                               made);
    }
    return name ? add_rows(asked->called, NULL, asked->called_count, name, counts, known, made) : made;
}

/* Add `gain` to the worth of a block, once for a word; one that was not touched goes to the end of those that were. */
static inline int64_t add_to_block(int64_t block, double gain, int32_t word, double *worth, int32_t *seen, int64_t *touched,
                                   int64_t count)
{
    if (seen[block] == word)
        return count;
    seen[block] = word;
    if (worth[block] == 0.0)
        touched[count++] = block;
    worth[block] += gain;
    return count;
}

static int64_t add_to_blocks(const corpus *whole, const group *own, double gain, int32_t word, double *worth, int32_t *seen,
                             int64_t *touched, int64_t count)
{
    for (int64_t segment = 0; segment < whole->segments; segment++) {
        const int32_t *values = own->positions[segment].values, *starts = whole->block_starts[segment].values;
        int64_t size = own->positions[segment].size, blocks = whole->block_starts[segment].size, block = 0;
        for (int64_t at = 0; at < size;) {
            block = place_not_below(starts, blocks, block, (int64_t)values[at] + 1) - 1;
            at = block + 1 < blocks ? place_not_below(values, size, at, starts[block + 1]) : size;
            if (block >= 0)
                count = add_to_block(whole->block_numbers[segment] + block, gain, word, worth, seen, touched, count);
            else
                block = 0;
        }
    }
    return count;
}

/* Where in its document a unit begins. */
static int64_t offset_of(const grid *units, int64_t unit)
{
    int64_t extent = last_not_above(units->firsts, units->extents, 0, unit);
    return start_of(units, last_not_above(units->begins, units->segments, 0, unit), unit) + units->shifts[extent];
}

/* Whether a block comes behind another, by path and place. */
static inline int is_behind(const corpus *whole, int64_t one, int64_t other)
{
    if (whole->block_rows[one] != whole->block_rows[other])
        return whole->block_rows[one] > whole->block_rows[other];
    return offset_of(whole->grid, whole->block_firsts[one]) > offset_of(whole->grid, whole->block_firsts[other]);
}

static void sink(const corpus *whole, int64_t *heap, int64_t size, int64_t at)
{
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && is_behind(whole, heap[child + 1], heap[child]))
            child++;
        if (!is_behind(whole, heap[child], heap[at]))
            return;
        int64_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

/* The best `most` of some blocks by their ranks; of equal ones those that come first by path and place. `out` gets them;
 * `room` is for as many numbers as there are blocks. */
static void best_blocks(const corpus *whole, const int64_t *blocks, const int64_t *ranks, int64_t count, int64_t most,
                        int64_t *room, int64_t *out)
{
    if (!most)
        return;
    int64_t least = highest(ranks, count, most - 1, room), made = 0, size;
    for (int64_t at = 0; at < count; at++)
        if (ranks[at] > least)
            out[made++] = blocks[at];
    int64_t *heap = out + made;
    size = most - made;
    made = 0;
    for (int64_t at = 0; at < count; at++) {
        if (ranks[at] != least)
            continue;
        if (made < size) {
            heap[made++] = blocks[at];
            for (int64_t root = made == size ? size / 2 - 1 : -1; root >= 0; root--)
                sink(whole, heap, size, root);
        } else if (is_behind(whole, heap[0], blocks[at])) {
            heap[0] = blocks[at];
            sink(whole, heap, size, 0);
        }
    }
}

/* Numbers in ascending order, each once. `room` is for as many. Returns how many there are. */
static int64_t sort_once(int64_t *numbers, int64_t count, int64_t *room)
{
    int64_t most = 0, made = 0, *from = numbers, *to = room;
    for (int64_t at = 0; at < count; at++)
        most = numbers[at] > most ? numbers[at] : most;
    for (int shift = 0; count > 1 && shift < 63 && most >> shift; shift += DIGIT) {
        int64_t begins[DIGITS] = {0}, before = 0, *other = from;
        for (int64_t at = 0; at < count; at++)
            begins[from[at] >> shift & (DIGITS - 1)]++;
        for (int digit = 0; digit < DIGITS; digit++) {
            int64_t own = begins[digit];
            begins[digit] = before;
            before += own;
        }
        for (int64_t at = 0; at < count; at++)
            to[begins[from[at] >> shift & (DIGITS - 1)]++] = from[at];
        from = to;
        to = other;
    }
    for (int64_t at = 0; at < count; at++)
        if (!at || from[at] != from[at - 1])
            numbers[made++] = from[at];
    return made;
}

/* The blocks that have most of the words, ascending; `out` has room for them. `worth` and `seen` have a number for each
 * block, all 0, and are left so; `touched`, `ranks` and `room` have room for those that may be touched, `room` twice.
 * Returns how many there are. */
static int64_t choose_blocks(const corpus *whole, const narrowing *asked, double *worth, int32_t *seen, int64_t *touched,
                             int64_t *ranks, int64_t *room, int64_t *out)
{
    int64_t count = 0, kept = 0, records = 0;
    double most = 0.0;
    for (int64_t word = 0; word < asked->words; word++) {
        const gain *own = asked->gains + word;
        if (own->gain == 0.0)
            continue; /* no block would be known to be touched */
        int32_t number = (int32_t)word + 1;
        for (int64_t at = 0; at < own->group_count; at++)
            count = add_to_blocks(whole, own->groups + at, own->gain, number, worth, seen, touched, count);
        for (int64_t at = 0; at < own->block_count; at++)
            count = add_to_block(own->blocks[at], own->gain, number, worth, seen, touched, count);
    }
    for (int64_t at = 0; at < count; at++) {
        int64_t block = touched[at], row = whole->block_rows[block];
        seen[block] = 0;
        most = worth[block] > most ? worth[block] : most;
        if (worth[block] == 0.0 || (asked->allowed && !asked->allowed[row]))
            worth[block] = 0.0;
        else
            touched[kept++] = block;
    }
    int64_t chosen = kept < asked->most ? kept : asked->most;
    if (kept > asked->most) {
        for (int64_t at = 0; at < kept; at++) {
            int64_t row = whole->block_rows[touched[at]];
            double rank = worth[touched[at]] / most + asked->document * asked->documents[row];
            ranks[at] = (int64_t)rounded(rank * 1000000.0);
        }
        best_blocks(whole, touched, ranks, kept, chosen, room, out);
        for (int64_t at = 0; at < chosen; at++)
            records += whole->records[whole->block_rows[out[at]]];
    } else
        memcpy(out, touched, (size_t)kept * sizeof *out);
    for (int64_t at = 0; at < kept; at++)
        worth[touched[at]] = 0.0;
    if (!asked->of_records || !records)
        return chosen;
    int64_t others = 0;
    for (int64_t at = 0; at < kept; at++)
        others += !whole->records[whole->block_rows[touched[at]]];
    int64_t share = chosen / asked->of_records > chosen - others ? chosen / asked->of_records : chosen - others;
    if (records <= share)
        return chosen;
    /* Those of records come first, the others behind them, both as they stood. */
    int64_t *parted = room, *parted_ranks = room + kept;
    for (int64_t at = 0, one = 0, other = kept - others; at < kept; at++) {
        int64_t to = whole->records[whole->block_rows[touched[at]]] ? one++ : other++;
        parted[to] = touched[at];
        parted_ranks[to] = ranks[at];
    }
    best_blocks(whole, parted, parted_ranks, kept - others, share, touched, out);
    best_blocks(whole, parted + kept - others, parted_ranks + kept - others, others, chosen - share, touched,
                out + share);
    return chosen;
}

/* The units of the blocks that have most of a question's words, with their surroundings, ascending. `places` gets seven columns of `most` numbers, of which the first so many are set (`place_units` says of
 * what, and they lie one after the other); `bounds` the first of each segment, and their number. `worth` and `seen` have a
 * number for each block, all 0, and are left so; `touched` has place for four numbers for each block that may be touched,
 * and two for each that is taken. Returns how many units there are, -1 where there is no room. */
int64_t choose_units(const corpus *whole, const narrowing *asked, double *worth, int32_t *seen, int64_t *touched,
                     int64_t *units, int64_t most, int64_t *places, int64_t *bounds)
{
    int64_t all = whole->blocks, taken = asked->most;
    int64_t *ranks = touched + asked->touched, *room = ranks + asked->touched, *lows = room + 2 * asked->touched;
    int64_t *highs = lows + taken;
    int64_t count = choose_blocks(whole, asked, worth, seen, touched, ranks, room, lows);
    count = sort_once(lows, count, highs);
    for (int64_t at = 0; at < count; at++) {
        int64_t block = lows[at];
        highs[at] = (block + 1 < all ? whole->block_firsts[block + 1] : whole->units) - 1;
        lows[at] = whole->block_firsts[block];
    }
    int64_t made = units_between(whole->grid, lows, highs, count, asked->reach, units, most);
    if (made < 0 || place_units(whole->grid, units, made, places) < 0)
        return -1;
    for (int64_t segment = 0, at = 0; segment < whole->segments; segment++)
        bounds[segment] = at = not_below(units, made, at, whole->grid->begins[segment]);
    bounds[whole->segments] = made;
    return made;
}

/* The headings above units: a unit stands under the last heading that ends before it if that belongs to its extent. A
 * heading that begins in the unit is its own, and it stands under that one's parent. Of each chain the nearest comes
 * first, as its place among those that are used, and -1 where there is none. Returns how many chains there are. */
static int64_t find_above(const tree *trees, int64_t segments, const candidates *units)
{
    int64_t count = 0, made = 0, deepest = units->deepest;
    uint64_t *bits = units->bits;
    for (int64_t segment = 0; segment < segments; segment++) {
        const tree *own = trees + segment;
        int64_t heads = own->heads, after = 0, extent = 0, before = -1, first = made;
        units->used[segment] = count;
        for (int64_t unit = units->bounds[segment]; unit < units->bounds[segment + 1]; unit++) {
            int64_t above = heads, begin = units->starts[unit];
            if (heads) {
                after = place_not_below(own->ends, heads, after, begin + 1);
                int64_t next = after < heads ? after : heads - 1;
                above = after - 1;
                if (own->starts[next] >= begin && own->starts[next] < units->ends[unit])
                    above = own->parents[next];
                else if (above >= 0) {
                    extent = place_not_below(own->bases, own->extents, extent, begin + 1);
                    if (own->starts[above] < own->bases[extent ? extent - 1 : own->extents - 1])
                        above = -1;
                }
            }
            if (above < 0 || above >= heads) {
                units->owners[unit] = -1;
                continue;
            }
            if (above != before || made == first) {
                int32_t *chain = units->chains + made++ * deepest;
                before = above;
                for (int64_t step = 0; step < deepest; step++) {
                    int is_head = above >= 0 && above < heads;
                    chain[step] = is_head ? (int32_t)above : -1;
                    if (is_head) {
                        bits[above >> 6] |= (uint64_t)1 << (above & 63);
                        above = own->parents[above];
                    }
                }
            }
            units->owners[unit] = (int32_t)(made - 1);
        }
        if (made == first)
            continue;
        for (int64_t word = 0; word <= heads >> 6; word++) {
            units->ranks[word] = count;
            for (uint64_t left = bits[word]; left; left &= left - 1) {
                int64_t head = word << 6 | __builtin_ctzll(left);
                units->head_starts[count] = own->starts[head];
                units->head_ends[count++] = own->ends[head];
            }
        }
        for (int32_t *chain = units->chains + first * deepest; chain < units->chains + made * deepest; chain++)
            if (*chain >= 0) {
                uint64_t lower = bits[*chain >> 6] & (((uint64_t)1 << (*chain & 63)) - 1);
                *chain = (int32_t)(units->ranks[*chain >> 6] + ones_in(lower));
            }
        memset(bits, 0, (size_t)((heads >> 6) + 1) * sizeof *bits);
    }
    units->used[segments] = count;
    return made;
}

/* Add `share` to what is told of each unit that stands under a heading that is marked by a number above 0. */
static void tell_above(const candidates *units, int64_t chains, const int64_t *marks, int64_t share, int64_t *told)
{
    const int32_t *head = units->chains;
    for (int64_t chain = 0; chain < chains; chain++) {
        int is_told = 0;
        for (int64_t step = 0; step < units->deepest; step++, head++)
            is_told |= *head >= 0 && marks[*head] > 0;
        units->told[chain] = (uint8_t)is_told;
    }
    for (int64_t unit = 0; unit < units->count; unit++)
        if (units->owners[unit] >= 0 && units->told[units->owners[unit]])
            told[unit] += share;
}

/* How often each word counts in each unit, and what is told of it: `heading` under a heading that has it. Rows of `counts` and `told` are words, and all 0; `has` gets whether a word counts at all.
 * `marks` has room for as many as there are headings above. */
void count_words(const corpus *whole, const tree *trees, const candidates *units, const word *words, int64_t word_count,
                 int64_t heading, int64_t *marks, int64_t *counts, int64_t *told, uint8_t *has)
{
    int64_t segments = whole->segments, count = units->count;
    int64_t chains = find_above(trees, segments, units), heads = units->used[segments];
    for (const word *own = words; own < words + word_count; own++, counts += count, told += count, has += count) {
        for (const group *some = own->groups; some < own->groups + own->group_count; some++)
            count_inside(some->positions, segments, units->starts, units->ends, units->bounds, some->weight, counts);
        if (own->group_count && heads) {
            int64_t any = 0;
            memset(marks, 0, (size_t)heads * sizeof *marks);
            for (const group *some = own->groups; some < own->groups + own->group_count; some++)
                count_inside(some->positions, segments, units->head_starts, units->head_ends, units->used, 1, marks);
            for (int64_t head = 0; head < heads; head++)
                any |= marks[head];
            if (any) /* as it is not for most words */
                tell_above(units, chains, marks, heading, told);
        }
        for (int64_t at = 0; at < count; at++)
            has[at] = counts[at] > 0;
    }
}

/* The places of words in units where they may be defined, of those that count most: in a heading, or anywhere where
 * `anywhere` says so of a word. `out` gets four columns of `most` numbers: the word, the place, its unit, and the heading of
 * its segment, -1 for none; the places of a word stand together and ascend in each segment. Returns how many there are;
 * those beyond `most` are not written. */
int64_t find_defining(const corpus *whole, const tree *trees, const candidates *units, const word *const *words,
                      const uint8_t *anywhere, int64_t count, int64_t *out, int64_t most)
{
    int64_t made = 0, *places = out + most, *owners = places + most, *heads = owners + most;
    for (int64_t word = 0; word < count; word++)
        for (int64_t segment = 0; segment < whole->segments && words[word] && words[word]->group_count; segment++) {
            const int32_t *values = words[word]->groups->positions[segment].values;
            const tree *own = trees + segment;
            int64_t size = words[word]->groups->positions[segment].size, unit = units->bounds[segment];
            int64_t last = units->bounds[segment + 1], after = 0;
            if (!own->heads && !anywhere[word])
                continue;
            for (int64_t at = 0; at < size && unit < last; unit++) {
                unit = not_below(units->ends, last, unit, (int64_t)values[at] + 1);
                if (unit >= last)
                    break;
                at = place_not_below(values, size, at, units->starts[unit]);
                for (; at < size && values[at] < units->ends[unit]; at++) {
                    after = place_not_below(own->starts, own->heads, after, (int64_t)values[at] + 1);
                    int64_t head = after && values[at] < own->ends[after - 1] ? after - 1 : -1;
                    if (head < 0 && !anywhere[word])
                        continue;
                    if (made < most) {
                        out[made] = word;
                        places[made] = values[at];
                        owners[made] = unit;
                        heads[made] = head;
                    }
                    made++;
                }
            }
        }
    return made;
}
