/* Which blco this is. */
#ifndef BLCO_VERSION_H
#define BLCO_VERSION_H

/* The Makefile's version, the commit that was built, and both as "0.1.0 (commit)". */
extern const char *const version_number;
extern const char *const version_commit;
extern const char *const version_text;

#endif
