/* NVLink values, shared by the calls of their own and by the field values. */
#ifndef FAKE_NVML_NVLINK_H
#define FAKE_NVML_NVLINK_H

#include "answer.h"

enum { ALL_LINKS = -1, MAX_LINKS = 36 };

/* `nvlink.3.state`, else `nvlink.state`; counters of all links together are their sum. */
int get_link(struct subject who, long link, const char *name, u64 *out);

#endif
