#include "backend/backend_kind.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct backend_kind *const kinds[] = {&backend_cuda, &backend_host};
const struct word backend_words[] = {{"auto", -1}, {"cuda", 0}, {"host", 1}, {NULL, 0}};

enum status backend_choose(const struct backend_kind **kind, const char *name,
                           struct error *why_not, struct error *error)
{
    int number;
    char expected[64] = "";
    *kind = NULL;
    if (!word_find(backend_words, name, strlen(name), &number)) {
        words_list(expected, sizeof expected, backend_words, ", ", " or ");
        return error_set(error, STATUS_INPUT, "unknown backend \"%s\", expected %s", name,
                         expected);
    }
    if (number < 0) {
        struct error reason = {0};
        *kind = backend_cuda.available(&reason) == STATUS_OK ? &backend_cuda : &backend_host;
        if (why_not)
            *why_not = reason;
        return STATUS_OK;
    }
    if (kinds[number]->available(error) != STATUS_OK)
        return error_prefix(error, "backend %s: ", name);
    *kind = kinds[number];
    return STATUS_OK;
}

double backend_build_seconds(const struct backend_seconds *seconds)
{
    double sum = seconds->upload + seconds->presort + seconds->alto + seconds->grouping;
    for (int n = 0; n < MAX_ORDER; n++)
        sum += seconds->replica[n];
    return sum;
}

enum status backend_check_norm(double norm_sq, const char *file, struct error *error)
{
    if (isfinite(norm_sq) && norm_sq >= DBL_MIN)
        return STATUS_OK;
    if (file)
        return error_set(error, STATUS_INPUT,
                         "%s: the squared norm of the tensor is %g: values are too %s for a GPU to "
                         "read from a .blco file: convert it to text, whose values are scaled",
                         file, norm_sq, norm_sq < 1 ? "small" : "large");
    if (isfinite(norm_sq))
        return error_set(error, STATUS_INPUT,
                         "the squared norm of the tensor is %g: there is nothing to decompose",
                         norm_sq);
    return error_set(error, STATUS_NUMERICAL,
                     "the squared norm of the tensor is %g: values are not finite", norm_sq);
}

static void *wake(void *context)
{
    struct backend_wake *w = context;
    w->kind->wake(w->device, &w->unwanted, &w->error);
    return NULL;
}

/* Without a thread, the caller does the work. */
void backend_wake_begin(struct backend_wake *w, const struct backend_kind *kind, int device)
{
    *w = (struct backend_wake){.kind = kind, .device = device};
    if (!kind->wake)
        return;
    w->running = pthread_create(&w->thread, NULL, wake, w) == 0;
    if (!w->running)
        wake(w);
}

static void join(struct backend_wake *w)
{
    if (w->running)
        pthread_join(w->thread, NULL);
    w->running = false;
}

enum status backend_wake_wait(struct backend_wake *w, struct error *error)
{
    join(w);
    if (w->error.status != STATUS_OK)
        *error = w->error;
    return w->error.status;
}

void backend_wake_end(struct backend_wake *w)
{
    atomic_store(&w->unwanted, true);
    join(w);
}

enum status backend_wake_now(const struct backend_kind *kind, int device, struct error *error)
{
    const atomic_bool unwanted = false;
    return kind->wake ? kind->wake(device, &unwanted, error) : STATUS_OK;
}
