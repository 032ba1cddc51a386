/* Where things lie, as several kernels are told: columns of positions, units in extents, headings, blocks. */

#ifndef BRIMFUL_PLACES_H
#define BRIMFUL_PLACES_H

#include "shared.h"

/* The first place from `from` on whose value is not below `value`. For numbers of eight bytes, and for places of four. */
#define NOT_BELOW(name, number)                                                                                        \
    static inline int64_t name(const number *column, int64_t size, int64_t from, int64_t value)                        \
    {                                                                                                                  \
        if (from >= size || column[from] >= value)                                                                     \
            return from;                                                                                               \
        int64_t low = from, step = 1;                                                                                  \
        while (step < size - low && column[low + step] < value) {                                                      \
            low += step;                                                                                               \
            step *= 2;                                                                                                 \
        }                                                                                                              \
        int64_t high = step < size - low ? low + step : size;                                                          \
        while (high - low > 1) {                                                                                       \
            int64_t middle = low + (high - low) / 2;                                                                   \
            if (column[middle] < value)                                                                                \
                low = middle;                                                                                          \
            else                                                                                                       \
                high = middle;                                                                                         \
        }                                                                                                              \
        return high;                                                                                                   \
    }

NOT_BELOW(not_below, int64_t)
NOT_BELOW(place_not_below, int32_t)

/* The last place up to `size` whose value is not above `value`, near `from`; the first value never is. */
static inline int64_t last_not_above(const int64_t *column, int64_t size, int64_t from, int64_t value)
{
    int64_t low = column[from] <= value ? from : 0, step = 1;
    while (step < size - low && column[low + step] <= value) {
        low += step;
        step *= 2;
    }
    int64_t high = step < size - low ? low + step : size;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (column[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static inline int64_t start_of(const grid *units, int64_t segment, int64_t unit)
{
    const unit_starts *starts = units->starts + segment;
    int64_t place = unit - units->begins[segment];
    return starts->narrow ? (int64_t)starts->narrow[place] : starts->wide[place];
}

/* To the next whole number, of two as near the even one: as NumPy's rint, which is no instruction everywhere. */
static inline double rounded(double value)
{
    const double whole = 6755399441055744.0, most = 2251799813685248.0;
    if (!(value < most && value > -most))
        return value;
    double shifted = value + whole; /* no compiler takes the two sums for none: `building` asks for none of that */
    return shifted - whole;
}

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

/* The value of rank `place` (from 0 on) among `count` numbers, the highest first. `room` is for as many. */
static inline int64_t highest(const int64_t *values, int64_t count, int64_t place, int64_t *room)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t at = 0; at < count; at++) {
        least = values[at] < least ? values[at] : least;
        most = values[at] > most ? values[at] : most;
    }
    int bits = 0;
    while (bits < 63 && (most - least) >> bits)
        bits++;
    memcpy(room, values, (size_t)count * sizeof *room);
    while (bits > 0 && count > 1) {
        int shift = bits > DIGIT ? bits - DIGIT : 0;
        int64_t counts[DIGITS] = {0}, kept = 0;
        for (int64_t at = 0; at < count; at++)
            counts[(room[at] - least) >> shift & (DIGITS - 1)]++;
        int digit = DIGITS - 1;
        while (place >= counts[digit])
            place -= counts[digit--];
        for (int64_t at = 0; at < count; at++)
            if (((room[at] - least) >> shift & (DIGITS - 1)) == digit)
                room[kept++] = room[at];
        count = kept;
        bits = shift;
    }
    return room[0];
}

#endif
