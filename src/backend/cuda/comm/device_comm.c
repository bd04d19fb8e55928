#include "backend/cuda/comm/device_comm.h"

#include "base/memory.h"

static void *connect_gpus(void *context)
{
    struct device_comm *d = context;
    d->engine->connect(d->state, &d->failure);
    return NULL;
}

enum status device_comm_init(struct device_comm **c, struct comm *host, int device,
                             struct error *error)
{
    struct device_comm *d = memory_zeros(1, sizeof *d, error);
    int *devices = memory_array((size_t)host->size, sizeof *devices, error);
    const struct device_places places = {host, devices};
    *c = NULL;
    if (error->status != STATUS_OK) {
        comm_abort(host, error);
        goto done;
    }
    d->host = host;
    TRY_OR(done, comm_allgather(host, &device, sizeof device, devices, error));
    int needs_nccl = !peer_engine_serves(&places); /* all ranks have the same engine */
    TRY_OR(done, comm_allreduce_max(host, &needs_nccl, error));
    d->engine = needs_nccl ? &nccl_engine : &peer_engine;
    d->state = memory_zeros(1, d->engine->state_bytes, error);
    TRY_OR(done, comm_allreduce_error(host, error));
    TRY_OR(done, d->engine->open(d->state, &places, error));
    /* From here on every rank connects, even if another step of it fails. */
    d->connecting = pthread_create(&d->thread, NULL, connect_gpus, d) == 0;
    if (!d->connecting)
        connect_gpus(d);
    *c = d;
done:
    if (error->status != STATUS_OK)
        memory_free(d ? d->state : NULL, d);
    memory_free(devices);
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
    if (c->failure.status != STATUS_OK) {
        *error = c->failure;
        comm_abort(c->host, error);
        return error->status;
    }
    TRY(comm_allreduce_max(c->host, &failed, error));
    c->connected = true;
    return STATUS_OK;
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
    memory_free(c->state, c);
}

void device_comm_leave(struct device_comm *c)
{
    end(c, true);
}

void device_comm_finalize(struct device_comm *c)
{
    end(c, false);
}
