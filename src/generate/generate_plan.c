#include "generate/generate_plan.h"

#include <math.h>

#include "base/memory.h"

#define MOST_DRAWS 64   /* for each nonzero: what these do not find is spread evenly */
#define CLOSE      0.05 /* relative; what is missing then is scaled in proportion    */

static enum status add_part(struct generate_plan *plan, const struct sampler_part *part,
                            double mass, struct error *error)
{
    if (plan->count == plan->room) {
        uint64_t room = 2 * plan->room + 64;
        TRY(memory_resize(&plan->part, room, sizeof *plan->part, error));
        plan->room = room;
    }
    plan->part[plan->count++] = (struct planned_part){.position = part->box.position,
                                                      .line_bits = part->box.line_bits,
                                                      .first_fiber = part->first_fiber,
                                                      .last_fiber = part->last_fiber,
                                                      .mass = mass};
    return STATUS_OK;
}

/* Halves the part until every part is expected to have at most GENERATE_PART_NNZ nonzeros. */
static enum status cut(struct generate_plan *plan, const struct sampler *s,
                       const struct sampler_part *part, double nnz, struct error *error)
{
    double mass = sampler_mass(s, part);
    if (mass * nnz <= GENERATE_PART_NNZ || !sampler_can_halve(s, part))
        return add_part(plan, part, mass, error);
    for (int bit = 0; bit < 2; bit++) {
        struct sampler_part half = sampler_half(s, part, bit);
        if (alto_box_is_empty(&s->layout, &half.box))
            continue;
        TRY(cut(plan, s, &half, nnz, error));
    }
    return STATUS_OK;
}

struct sampler_part planned_part_expand(const struct sampler *s, const struct planned_part *part)
{
    return (struct sampler_part){alto_box_at(&s->line, part->position, part->line_bits),
                                 part->first_fiber, part->last_fiber};
}

static double places_of(const struct sampler *s, const struct planned_part *part)
{
    struct alto_box box = alto_box_at(&s->line, part->position, part->line_bits);
    return (double)alto_box_places(&s->layout, &box);
}

/* Sets how many different places each part is expected to have after `draws` draws on the whole
 * line; *sum is their sum. */
static enum status expect(struct generate_plan *plan, const struct sampler *s, double draws,
                          double *sum, struct error *error)
{
    bool failed = false;
#pragma omp parallel
    {
        struct error own = {0};
        struct part_sampler *p = memory_zeros(1, sizeof *p, &own);
        if (!p) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp for schedule(dynamic, 64)
        for (uint64_t i = 0; i < plan->count; i++) {
            struct planned_part *part = &plan->part[i];
            struct sampler_part place = planned_part_expand(s, part);
            part->yield = 0;
            if (p && part->mass > 0) {
                part_sampler_open(p, s, &place);
                part->yield = part_sampler_yield(p, i, draws);
            }
            part->expected = fmin(draws * part->mass * part->yield, places_of(s, part));
        }
        memory_free(p);
    }
    if (failed)
        return error_set(error, STATUS_MEMORY, "out of memory for the parts' samplers");
    *sum = 0;
    for (uint64_t i = 0; i < plan->count; i++)
        *sum += plan->part[i].expected;
    return STATUS_OK;
}

/* Scales the expected nonzeros to the sum nnz, but only where the sum is close; nonzeros that are
 * missing then are spread over the free places. */
static void adjust(struct generate_plan *plan, const struct sampler *s, double nnz, double sum)
{
    double free_places = 0, scale = sum > nnz * (1 - CLOSE) ? nnz / sum : 1, missing = nnz;
    for (uint64_t i = 0; i < plan->count; i++) {
        double places = places_of(s, &plan->part[i]), *expected = &plan->part[i].expected;
        *expected = fmin(*expected * scale, places);
        free_places += places - *expected;
        missing -= *expected;
    }
    double more = free_places > 0 && missing > 0 ? missing / free_places : 0;
    for (uint64_t i = 0; i < plan->count && more > 0; i++)
        plan->part[i].expected += more * (places_of(s, &plan->part[i]) - plan->part[i].expected);
}

/* Rounds to whole numbers of nonzeros, nnz in all, in no part more than its places. Nonzeros that a
 * part cannot take go to the next parts. */
static void round_parts(struct generate_plan *plan, const struct sampler *s, uint64_t nnz)
{
    double due = 0;
    uint64_t given = 0, first = 0;
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < plan->count; i++) {
            struct planned_part *part = &plan->part[i];
            uint64_t places = (uint64_t)places_of(s, part), target = nnz;
            due += part->expected;
            if (round == 0 && due < (double)nnz)
                target = (uint64_t)due;
            uint64_t wanted = target > given ? target - given : 0, room = places - part->count;
            uint64_t more = wanted < room ? wanted : room;
            part->count += more;
            given += more;
        }
    }
    for (uint64_t i = 0; i < plan->count; i++) {
        struct planned_part *part = &plan->part[i];
        part->first = first;
        first += part->count;
        plan->largest = part->count > plan->largest ? part->count : plan->largest;
    }
}

enum status generate_plan_create(struct generate_plan *plan, const struct sampler *s, uint64_t nnz,
                                 struct error *error)
{
    struct sampler_part all = sampler_all(s);
    double draws = (double)nnz, sum = 0;
    *plan = (struct generate_plan){0};
    TRY_OR(done, cut(plan, s, &all, (double)nnz, error));
    for (;;) {
        TRY_OR(done, expect(plan, s, draws, &sum, error));
        if (fabs(sum - (double)nnz) <= CLOSE * (double)nnz || draws >= MOST_DRAWS * (double)nnz)
            break;
        draws *= sum > 0 ? (double)nnz / sum : 2;
    }
    adjust(plan, s, (double)nnz, sum);
    round_parts(plan, s, nnz);
done:
    if (error->status != STATUS_OK)
        generate_plan_free(plan);
    return error->status;
}

void generate_plan_free(struct generate_plan *plan)
{
    memory_free(plan->part);
    *plan = (struct generate_plan){0};
}
