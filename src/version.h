/* Which blco this is. */
#ifndef BLCO_VERSION_H
#define BLCO_VERSION_H

/* "0.1.0 (commit)": the Makefile's version and the commit that was built. */
extern const char *const version_text;

#endif
