#include "version.h"

const char *const version_text = BLCO_VERSION " (" BLCO_COMMIT ")";
