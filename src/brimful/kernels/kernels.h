/* What every kernel shares: arrays in, arrays out. The caller owns all memory and has checked every size; nothing here
 * allocates, keeps anything between two calls or touches Python. */

#ifndef BRIMFUL_KERNELS_H
#define BRIMFUL_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#endif
