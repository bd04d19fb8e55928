#include "backend/backend.h"

#include <math.h>

#include "problem/initial_guess.h"

static enum status load_from_host(struct backend *b, enum ktensor_init init, uint64_t seed,
                                  double weight, struct error *error)
{
    const struct backend_ops *ops = b->kind->ops;
    const struct initial_guess guess = {
        .kind = init == KTENSOR_NORMAL ? GUESS_NORMAL : GUESS_RANDOM, .seed = seed};
    const struct part *part = &b->ranks->part;
    struct ktensor k;
    if (ktensor_create_part(&k, part, b->plan.request.rank, error) == STATUS_OK) {
        initial_guess_fill(&k, &part->whole, &guess, b->options.problem.rules.nonneg);
        for (uint64_t r = 0; r < k.rank; r++)
            k.lambda[r] = weight;
        ops->load(b->state, &k, NULL, error);
    }
    ktensor_free(&k);
    return error->status;
}

enum status backend_random_start(struct backend *b, enum ktensor_init init, uint64_t seed,
                                 struct error *error)
{
    const struct backend_ops *ops = b->kind->ops;
    double weight = ldexp(1, -b->exponent); /* divided as the tensor is */
    return init == KTENSOR_RANDOM || ops->makes_normal
               ? ops->randomise(b->state, init, seed, weight, error)
               : load_from_host(b, init, seed, weight, error);
}
