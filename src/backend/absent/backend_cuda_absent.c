/* Stands in for the CUDA backend in a build without CUDA (make CUDA=0, or no nvcc). */
#include "backend/backend_kind.h"

static enum status absent(struct error *error)
{
    return error_set(error, STATUS_INPUT, "this blco was built without CUDA");
}

const struct backend_kind backend_cuda = {.name = "cuda", .available = absent};
