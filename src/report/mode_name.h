/* How a mode is named wherever a model is shown: on pages, in tables on a terminal. */
#ifndef BLCO_MODE_NAME_H
#define BLCO_MODE_NAME_H

#define MODE_NAME_ROOM 32

/* name = what mode n, from 0, is called: "mode 1". Returns name. */
const char *mode_name(int n, char name[MODE_NAME_ROOM]);

/* Likewise where a heading begins with it: "Mode 1". */
const char *mode_heading(int n, char name[MODE_NAME_ROOM]);

#endif
