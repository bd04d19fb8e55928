#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "blco.h"
#include "ordering.h"

#define NONZEROS_OF_A_BLOCK 4096 /* on average, at the least: what blco_build aims at */

static const char *const names[] = {"auto", "ordered", "hierarchical", "register", "atomic"};

const char *conflict_name(enum conflict c)
{
    return names[c];
}

int conflict_by_name(const char *name)
{
    for (int c = 0; c < (int)(sizeof names / sizeof *names); c++)
        if (strcmp(name, names[c]) == 0)
            return c;
    return -1;
}

/* Sums and products that stay at UINT64_MAX where they overflow: no budget is that large. */
static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t factor_size(const struct plan_request *r, int mode)
{
    return multiply(multiply(r->dims[mode], r->rank), r->real_size);
}

/* Factors, an M as large as the largest of them, and the Grams with their product V in double. */
static uint64_t factor_bytes(const struct plan_request *r)
{
    uint64_t sum = 0, largest = 0;
    for (int n = 0; n < r->order; n++) {
        uint64_t size = factor_size(r, n);
        sum = add(sum, size);
        largest = size > largest ? size : largest;
    }
    uint64_t grams =
        multiply(multiply(r->rank, r->rank), (uint64_t)(r->order + 1) * sizeof(double));
    return add(add(sum, largest), grams);
}

static uint64_t tensor_bytes(const struct plan_request *r)
{
    int line_bits = 0;
    for (int n = 0; n < r->order; n++)
        line_bits += ordering_bits(r->dims[n]);
    uint64_t words = line_bits > 64 ? 3 : 2; /* index and value */
    uint64_t blocks = r->nnz / NONZEROS_OF_A_BLOCK + 1;
    return add(multiply(r->nnz, words * sizeof(uint64_t)),
               multiply(blocks, sizeof(struct blco_block)));
}

/* The longest mode without a replica. */
static int next_replica(const struct plan *p)
{
    int longest = -1;
    for (int n = 0; n < p->request.order; n++)
        if (p->conflict[n] != CONFLICT_ORDERED &&
            (longest < 0 || p->request.dims[n] > p->request.dims[longest]))
            longest = n;
    return longest;
}

/* Completes a plan with `replicas` of the longest modes, the others resolved on alto: by `on_alto`,
 * or as their lengths say where that is CONFLICT_AUTO. */
static void lay_out(struct plan *p, int replicas, enum conflict on_alto)
{
    const struct plan_request *r = &p->request;
    p->replicas = replicas;
    p->alto = replicas < r->order;
    p->copy_bytes = 0;
    for (int n = 0; n < r->order; n++)
        p->conflict[n] = CONFLICT_AUTO;
    for (int i = 0; i < replicas; i++)
        p->conflict[next_replica(p)] = CONFLICT_ORDERED;
    for (int n = 0; n < r->order; n++) {
        if (p->conflict[n] == CONFLICT_ORDERED)
            continue;
        p->conflict[n] = on_alto;
        if (on_alto == CONFLICT_AUTO)
            p->conflict[n] = r->dims[n] < r->short_mode ? CONFLICT_HIERARCHICAL : CONFLICT_REGISTER;
        uint64_t copies = multiply(r->copies, factor_size(r, n));
        if (p->conflict[n] == CONFLICT_HIERARCHICAL && copies > p->copy_bytes)
            p->copy_bytes = copies;
    }
    uint64_t tensors = multiply((uint64_t)replicas + p->alto, p->tensor_bytes);
    p->total_bytes = add(add(tensors, p->factor_bytes), p->copy_bytes);
    p->fits = p->total_bytes <= r->budget;
}

void plan_make(struct plan *plan, const struct plan_request *request)
{
    memset(plan, 0, sizeof *plan);
    plan->request = *request;
    plan->tensor_bytes = tensor_bytes(request);
    plan->factor_bytes = factor_bytes(request);
    if (request->conflict != CONFLICT_AUTO) {
        int all = request->conflict == CONFLICT_ORDERED ? request->order : 0;
        lay_out(plan, all, request->conflict);
        return;
    }
    for (int replicas = request->no_replicas ? 0 : request->order; replicas >= 0; replicas--) {
        lay_out(plan, replicas, CONFLICT_AUTO);
        if (plan->fits)
            return;
    }
}

/* Appends to text[*used..size), which stays terminated; what does not fit is left out. */
static void append(char *text, uint64_t size, uint64_t *used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void append(char *text, uint64_t size, uint64_t *used, const char *format, ...)
{
    if (*used >= size)
        return;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text + *used, size - *used, format, args);
    va_end(args);
    *used = length < 0 ? size : *used + (uint64_t)length;
}

static double gigabytes(uint64_t bytes)
{
    return (double)bytes / 1e9;
}

void plan_describe(const struct plan *plan, char *text, uint64_t size)
{
    const struct plan_request *r = &plan->request;
    uint64_t used = 0;
    for (int n = 0; n < r->order; n++) {
        append(text, size, &used, "mode %d: length %" PRIu64 ", %s, ", n + 1, r->dims[n],
               conflict_name(plan->conflict[n]));
        if (plan->conflict[n] == CONFLICT_ORDERED)
            append(text, size, &used, "its own ordering of %.3f GB\n",
                   gigabytes(plan->tensor_bytes));
        else if (plan->conflict[n] == CONFLICT_HIERARCHICAL)
            append(text, size, &used, "the shared alto ordering, copies of %.3f GB\n",
                   gigabytes(multiply(r->copies, factor_size(r, n))));
        else
            append(text, size, &used, "the shared alto ordering\n");
    }
    for (int g = 0; g < plan->grouping.groups; g++)
        if (grouping_size(&plan->grouping, g) > 1)
            append(text, size, &used, "modes %d to %d share partial products and one ordering\n",
                   plan->grouping.first[g] + 1, plan->grouping.first[g + 1]);
    int orderings = plan->replicas + plan->alto;
    append(text, size, &used,
           "memory: %d ordering%s of %.3f GB + factors %.3f GB + copies %.3f GB = %.3f GB of the "
           "%.3f GB that may be used%s\n",
           orderings, orderings == 1 ? "" : "s", gigabytes(plan->tensor_bytes),
           gigabytes(plan->factor_bytes), gigabytes(plan->copy_bytes), gigabytes(plan->total_bytes),
           gigabytes(r->budget), plan->fits ? "" : ": does not fit");
}
