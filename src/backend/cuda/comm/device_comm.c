#include "backend/cuda/comm/device_comm.h"

#include "base/memory.h"

static void *connect_gpus(void *context)
{
    struct device_comm *d = context;
    d->engine->connect(d->state, &d->failure);
    return NULL;
}

/* Opens the engine, which *d then has. All ranks return the same failure. */
static enum status open_engine(struct device_comm *d, const struct device_engine *engine,
                               struct error *error)
{
    const struct device_places places = {d->host, d->devices};
    memory_free(d->state);
    d->engine = engine;
    d->failure = (struct error){0};
    d->state = memory_zeros(1, engine->state_bytes, error);
    TRY(comm_allreduce_error(d->host, error));
    return engine->open(d->state, &places, error);
}

static bool may_use_nccl(const struct device_comm *d)
{
    return d->engine == &peer_engine && !d->host->shares_memory;
}

enum status device_comm_init(struct device_comm **c, struct comm *host, int device,
                             struct error *error)
{
    struct device_comm *d = memory_zeros(1, sizeof *d, error);
    int *devices = memory_array((size_t)host->size, sizeof *devices, error);
    *c = NULL;
    if (error->status != STATUS_OK) {
        comm_abort(host, error);
        memory_free(d, devices);
        return error->status;
    }
    *d = (struct device_comm){.host = host, .devices = devices};
    const struct device_places places = {host, devices};
    TRY_OR(failed, comm_allgather(host, &device, sizeof device, devices, error));
    int needs_nccl = !peer_engine_serves(&places); /* all ranks have the same engine */
    TRY_OR(failed, comm_allreduce_max(host, &needs_nccl, error));
    if (open_engine(d, needs_nccl ? &nccl_engine : &peer_engine, error) != STATUS_OK &&
        may_use_nccl(d)) { /* no memory is shared */
        *error = (struct error){0};
        open_engine(d, &nccl_engine, error);
    }
    TRY_OR(failed, error->status);
    /* From here on every rank connects, even if another step of it fails. */
    d->connecting = pthread_create(&d->thread, NULL, connect_gpus, d) == 0;
    if (!d->connecting)
        connect_gpus(d);
    *c = d;
    return STATUS_OK;
failed:
    memory_free(d->state, d->devices, d);
    return error->status;
}

static void join(struct device_comm *c)
{
    if (c->connecting)
        pthread_join(c->thread, NULL);
    c->connecting = false;
}

enum status device_comm_wait(struct device_comm *c, struct error *error)
{
    int failed = 0;
    if (c->connected)
        return STATUS_OK;
    join(c);
    if (c->failure.status != STATUS_OK && may_use_nccl(c)) {
        c->engine->close(c->state, true, false);
        TRY(open_engine(c, &nccl_engine, error));
        connect_gpus(c);
    }
    if (c->failure.status != STATUS_OK) {
        *error = c->failure;
        comm_abort(c->host, error);
        return error->status;
    }
    TRY(comm_allreduce_max(c->host, &failed, error));
    c->connected = true;
    return STATUS_OK;
}

void device_comm_release(struct device_comm *c)
{
    if (c && c->connected && c->engine->release)
        c->engine->release(c->state);
}

void device_comm_abort(struct device_comm *c)
{
    if (!c || !c->connected)
        return;
    c->engine->abort(c->state);
    c->connected = false;
}

static void end(struct device_comm *c, bool leaving)
{
    if (!c)
        return;
    join(c);
    c->engine->close(c->state, c->connected, leaving);
    memory_free(c->state, c->devices, c);
}

void device_comm_leave(struct device_comm *c)
{
    end(c, true);
}

void device_comm_finalize(struct device_comm *c)
{
    end(c, false);
}
