/* The part of selecting nonzeros (select.cuh) that callers use. */
#ifndef BLCO_SELECT_H
#define BLCO_SELECT_H

#define SELECT_TILE 1024 /* nonzeros that are counted together */

#endif
