/* The version of this program. */
#pragma once

/* The version that the file VERSION names, the commit that was built, and both: "0.2.0 (commit)".
 */
extern const char *const version_number;
extern const char *const version_commit;
extern const char *const version_text;
