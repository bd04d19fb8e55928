/* The unit in which rows of factor matrices are moved, on the host and on the device. */
#ifndef BLCO_VECTOR_BYTES_H
#define BLCO_VECTOR_BYTES_H

#define VECTOR_BYTES 16 /* rows of all matrices are whole vectors of so many bytes */

#endif
