/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about where settings came from, once logging is set up. */
#include "base/log.h"
#include "config/config.h"

void config_tell_warnings(const struct config *config)
{
    if (config->file_found)
        log_info("settings were read from %s", config->settings.config_path);
    for (size_t i = 0; i < config->warning_count; i++)
        log_warning("%s", config->warnings[i]);
    if (config->warnings_dropped > 0)
        log_warning("%zu more warnings about settings are not shown", config->warnings_dropped);
}
