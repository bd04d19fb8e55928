#include "formats/names/tensor_names.h"

void tensor_names_free(struct tensor_names *names)
{
    for (int n = 0; n < MAX_ORDER; n++)
        name_table_free(&names->index[n]);
    *names = (struct tensor_names){0};
}
