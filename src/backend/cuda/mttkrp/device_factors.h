/* Factor matrices and M on the device. */
#pragma once

#include <stdbool.h>

#include "numerics/precision.h"
#include "tensor/shape.h"

/* The arrays that the kernels read and write beside the tensor, all in device memory. */
struct device_factors {
    struct shape shape;
    enum precision precision; /* of the matrices' entries                                */
    bool wide_values;         /* the tensor's values are doubles even if the entries are floats */
    uint32_t vectors;         /* 16-byte vectors in a row of every matrix                */
    void *factor[MAX_ORDER];  /* (I_n x vectors * 16 bytes)                             */
    void *m;                  /* (copies x longest I_n x vectors * 16 bytes)             */
    uint32_t copies;          /* of M, for which `m` has room                            */
    void *table;              /* (table_rows x vectors * 16 bytes): Khatri-Rao products  */
    uint64_t table_rows;
};
