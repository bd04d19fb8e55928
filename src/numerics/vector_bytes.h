/* The unit in which rows of factor matrices are moved, on the host and on the device. */
#pragma once

#define VECTOR_BYTES 16 /* rows of all matrices are whole vectors of so many bytes */
