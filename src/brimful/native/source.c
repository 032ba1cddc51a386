/* From which source was this library built? The loader compares it with the source that it has. */

#include "shared.h"

#ifndef BRIMFUL_SOURCE
#error "build with scripts of the package: it passes the hash of the source"
#endif

const char *brimful_source(void)
{
    return BRIMFUL_SOURCE;
}
