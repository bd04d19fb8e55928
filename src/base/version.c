#include "base/version.h"

const char *const version_number = BLCO_VERSION;
const char *const version_commit = BLCO_COMMIT;
const char *const version_text = BLCO_VERSION " (" BLCO_COMMIT ")";
