#include "problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "numerics/momentum_step.h"
#include "numerics/poisson_term.h"

#define FADED    1e-4 /* a weight that has faded to this is left out                      */
#define TOGETHER 30   /* times the listed entries is what unlisted ones weigh at first, at most */
#define MEANTIME .01  /* by which ridges are multiplied while unlisted entries fade, at most */

const struct word acceleration_words[] = {{"auto", ACCELERATE_AUTO},
                                          {"off", ACCELERATE_OFF},
                                          {"momentum", ACCELERATE_MOMENTUM},
                                          {NULL, 0}};

const struct word precision_words[] = {
    {"double", POLICY_DOUBLE}, {"single", POLICY_SINGLE}, {"auto", POLICY_AUTO}, {NULL, 0}};

const struct word ridge_scale_words[] = {
    {"unit", RIDGE_UNIT}, {"balanced", RIDGE_BALANCED}, {"counted", RIDGE_COUNTED}, {NULL, 0}};

const struct word solver_words[] = {{"newton", SOLVER_NEWTON}, {"mu", SOLVER_MU}, {NULL, 0}};

bool problem_by_rows(const struct problem *p)
{
    return p->unlisted.weighed || problem_has_rates(p);
}

bool problem_has_rates(const struct problem *p)
{
    return loss_of(p->loss)->rates;
}

bool problem_has_matrices(const struct problem *p)
{
    return !problem_has_rates(p) || p->solver == SOLVER_NEWTON;
}

void problem_take_unknown(struct problem *p, uint64_t unknown)
{
    if (unknown > 0 && !p->unlisted.weighed)
        p->unlisted = (struct unlisted){.weighed = true, .weight = 1};
}

void problem_begin_fading(struct problem *p, const struct shape *shape, uint64_t listed)
{
    double cells = 1;
    for (int n = 0; n < shape->order; n++)
        cells *= (double)shape->dims[n];
    const double unlisted = cells - (double)listed, together = TOGETHER * (double)listed;
    p->unlisted.first = unlisted > together ? together / unlisted : 1;
}

bool problem_has_one_optimum(const struct problem *p)
{
    return problem_has_rates(p) && p->rank == 1;
}

double problem_keeps(const struct problem *p)
{
    return !problem_has_rates(p) ? 0 : p->solver == SOLVER_MU ? POISSON_MU_KEEPS : POISSON_KEEPS;
}

int problem_inner(const struct problem *p)
{
    return p->inner > 1 ? p->inner : 1;
}

double problem_reach(const struct problem *p)
{
    if (!problem_by_rows(p))
        return MOMENTUM_REACH;
    return p->solver == SOLVER_NEWTON ? INFINITY : 0;
}

void problem_complete_loss(struct problem *p)
{
    for (int n = 0; problem_has_rates(p) && n < MAX_ORDER; n++)
        p->rules.nonneg[n] = true;
}

enum precision precision_first(enum precision_policy policy)
{
    return policy == POLICY_DOUBLE ? PRECISION_DOUBLE : PRECISION_SINGLE;
}

enum precision precision_last(enum precision_policy policy)
{
    return policy == POLICY_SINGLE ? PRECISION_SINGLE : PRECISION_DOUBLE;
}

const struct problem_choice problem_choices[] = {
    {"precision", "precision", precision_words, offsetof(struct problem, precision)},
    {"loss", "loss", loss_words, offsetof(struct problem, loss)},
    {"solver", "solver", solver_words, offsetof(struct problem, solver)},
    {"ridge-scale", "ridge_scale", ridge_scale_words, offsetof(struct problem, ridge_scale)},
    {NULL, NULL, NULL, 0}};

const char *problem_word(const struct problem *p, const struct problem_choice *c)
{
    int value;
    _Static_assert(sizeof p->precision == sizeof value, "enums are as large as int");
    memcpy(&value, (const char *)p + c->at, sizeof value);
    return word_of(c->words, value);
}

const char *unlisted_text(const struct unlisted *u, char text[UNLISTED_TEXT])
{
    if (u->weighed && u->weight > 0)
        *number_format(u->weight, text) = '\0';
    else
        snprintf(text, UNLISTED_TEXT, "%s", u->weighed ? "unknown" : "zero");
    return text;
}

/* A run that begins with zeros everywhere, and forgets them slowly, finds the model where one that
 * knows only the listed entries from the start often does not. */
struct unlisted_count problem_count(const struct problem *p, int sweeps)
{
    const struct unlisted *u = &p->unlisted;
    struct unlisted_count count = {.weight = u->weighed ? u->weight : 1, .ridge = 1};
    const double first = u->first > 0 ? u->first : 1;
    const double weight =
        u->weighed && u->fade > 0 && sweeps >= 0 ? first * pow(u->fade, sweeps) : 0;
    if (weight <= FADED || weight <= u->weight)
        return count;
    return (struct unlisted_count){weight, MEANTIME * (1 - weight), true};
}

double mode_rules_largest_ridge(const struct mode_rules *r, int order)
{
    double largest = 0;
    for (int n = 0; n < order; n++)
        largest = r->ridge[n] > largest ? r->ridge[n] : largest;
    return largest;
}

int mode_rules_last(const struct mode_rules *r, int order)
{
    int n = order - 1;
    while (n >= 0 && r->fixed[n])
        n--;
    return n;
}

int mode_rules_first(const struct mode_rules *r, int order)
{
    int n = 0;
    while (n < order && r->fixed[n])
        n++;
    return n;
}

bool mode_rules_begins(const struct mode_rules *r, int order, int n)
{
    return !r->fixed[n] && (n != mode_rules_first(r, order) || r->nonneg[n]);
}

bool mode_rules_any(const bool *flag)
{
    return mode_rules_bits(flag) != 0;
}

unsigned mode_rules_bits(const bool *flag)
{
    unsigned bits = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        bits |= (unsigned)flag[n] << n;
    return bits;
}

void mode_rules_flags(bool *flag, unsigned bits)
{
    for (int n = 0; n < MAX_ORDER; n++)
        flag[n] = bits >> n & 1;
}
