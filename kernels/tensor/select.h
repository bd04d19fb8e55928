/* The part of selecting nonzeros (select.cuh) that callers use. */
#pragma once

#define SELECT_TILE 1024 /* nonzeros that are counted together */
