/* SPDX-License-Identifier: Apache-2.0 */
/* Host mode: samples the machine until SIGINT or SIGTERM. */
#ifndef RUN_HOST_H
#define RUN_HOST_H

#include "base/err.h"
#include "config/settings.h"

/* Returns the exit status: 0 after SIGINT or SIGTERM, 129 after SIGHUP; a negative errno where it could not start. */
int host_run(const struct settings *settings, struct err *err);

#endif
