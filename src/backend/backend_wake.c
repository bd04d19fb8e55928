#include "backend/backend_wake.h"

static void *run(void *context)
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
    w->running = pthread_create(&w->thread, NULL, run, w) == 0;
    if (!w->running)
        run(w);
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
