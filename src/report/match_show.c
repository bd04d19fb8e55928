#include "report/match_show.h"

#include <math.h>

#include "base/utf8.h"
#include "report/decimals.h"
#include "report/text_table.h"

#define SCORE_DECIMALS 6
#define WEIGHT_DIGITS  6 /* of the largest weight */
#define LEAST_WIDTH    9 /* of the column of a mode */

/* How wide the column of a mode is. */
static int mode_width(const struct labels *names, int n)
{
    char name[MODE_NAME_ROOM];
    const int width = (int)utf8_width(mode_name(names, n, name));
    return width > LEAST_WIDTH ? width : LEAST_WIDTH;
}

static void print_number(FILE *stream, int width, double x, int decimals)
{
    char text[DECIMALS_ROOM];
    fprintf(stream, " %*s", width, decimals_show(x, decimals, text));
}

/* Prints the components of the larger model that have no partner. */
static void print_alone(FILE *stream, const char *name, const uint64_t *partner, uint64_t rank,
                        uint64_t pairs)
{
    if (rank == pairs)
        return;
    fprintf(stream, "\ncomponents of %s without a partner:", name);
    const char *before = " ";
    for (uint64_t r = 0; r < rank; r++)
        if (partner[r] == NO_PARTNER) {
            fprintf(stream, "%s%ju", before, (uintmax_t)r + 1);
            before = ", ";
        }
    fprintf(stream, "\n");
}

void match_print(FILE *stream, const struct ktensor_match *m, const struct labels *names)
{
    fprintf(stream, "score        %.6f, mean of %ju pair%s%s\n", m->score, (uintmax_t)m->pairs,
            m->pairs == 1 ? "" : "s", m->with_weights ? "" : ", without weights");
    fprintf(stream, "congruence   %.6f, mean of the magnitudes\n", m->congruence);
    fprintf(stream, "\n%6s %6s %9s %11s %11s %11s", "A", "B", "score", "congruence", "weight A",
            "weight B");
    for (int n = 0; n < m->order; n++) {
        char name[MODE_NAME_ROOM];
        mode_name(names, m->mode[n], name);
        fprintf(stream, " %*s%s", mode_width(names, m->mode[n]) - (int)utf8_width(name), "", name);
    }
    fprintf(stream, "\n");
    double largest = 0;
    for (uint64_t r = 0; r < m->rank_a; r++)
        largest = fmax(largest, fabs(m->weight_a[r]));
    for (uint64_t r = 0; r < m->rank_b; r++)
        largest = fmax(largest, fabs(m->weight_b[r]));
    const int decimals = decimals_for(largest, WEIGHT_DIGITS);
    for (uint64_t p = 0; p < m->pairs; p++) {
        const struct ktensor_pair *pair = &m->pair[p];
        fprintf(stream, "%6ju %6ju", (uintmax_t)pair->a + 1, (uintmax_t)pair->b + 1);
        print_number(stream, 9, pair->score, SCORE_DECIMALS);
        print_number(stream, 11, pair->congruence, SCORE_DECIMALS);
        print_number(stream, 11, m->weight_a[pair->a], decimals);
        print_number(stream, 11, m->weight_b[pair->b], decimals);
        for (int n = 0; n < m->order; n++)
            print_number(stream, mode_width(names, m->mode[n]),
                         m->cosine[p * (uint64_t)m->order + (uint64_t)n], SCORE_DECIMALS);
        fprintf(stream, "\n");
    }
    print_alone(stream, "A", m->partner_a, m->rank_a, m->pairs);
    print_alone(stream, "B", m->partner_b, m->rank_b, m->pairs);
}

static void put_alone(struct json *j, const char *name, const uint64_t *partner, uint64_t rank)
{
    json_put_array(j, name);
    for (uint64_t r = 0; r < rank; r++)
        if (partner[r] == NO_PARTNER)
            json_put_unsigned(j, NULL, r + 1);
    json_end(j);
}

void match_put_json(struct json *j, const struct ktensor_match *m)
{
    json_put_bool(j, "weights", m->with_weights);
    json_put_array(j, "compared");
    for (int n = 0; n < m->order; n++)
        json_put_unsigned(j, NULL, (uint64_t)m->mode[n] + 1);
    json_end(j);
    json_put_number(j, "score", m->score);
    json_put_number(j, "congruence", m->congruence);
    json_put_array(j, "pairs");
    for (uint64_t p = 0; p < m->pairs; p++) {
        const struct ktensor_pair *pair = &m->pair[p];
        json_put_object(j, NULL);
        json_put_unsigned(j, "a", pair->a + 1);
        json_put_unsigned(j, "b", pair->b + 1);
        json_put_number(j, "score", pair->score);
        json_put_number(j, "congruence", pair->congruence);
        json_put_number(j, "weight_a", m->weight_a[pair->a]);
        json_put_number(j, "weight_b", m->weight_b[pair->b]);
        json_put_numbers(j, "cosines", m->cosine + p * (uint64_t)m->order, (size_t)m->order);
        json_end(j);
    }
    json_end(j);
    json_put_object(j, "without_partner");
    put_alone(j, "a", m->partner_a, m->rank_a);
    put_alone(j, "b", m->partner_b, m->rank_b);
    json_end(j);
}
