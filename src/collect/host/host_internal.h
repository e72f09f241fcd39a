/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces that host.c puts together, and the way texts of firmware and kernel are made fit to be shown. */
#ifndef COLLECT_HOST_HOST_INTERNAL_H
#define COLLECT_HOST_HOST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/opt.h"
#include "base/str.h"
#include "kernel/proc.h"
#include "kernel/sysroot.h"

/*
 * UTF-8 without control characters: those become blanks, malformed bytes are left out, runs of blanks become one, none
 * stands at an end. Cut between characters where it does not fit. Returns whether anything is left.
 */
bool host_clean_text(struct str text, char *out, size_t size);

/* Could this be the id that was assigned to a machine, and not the filler of a maker of boards? */
bool host_is_asset_tag(struct str text);

/* 32 hexadecimal digits, not all of them 0. */
bool host_is_machine_id(struct str text);

/* Processors that are online; absent where neither sysfs nor /proc/stat has it. */
struct opt_u64 host_count_cpus(const struct sysroot *root);

/* "0-3,8,10-11" is 7. Returns 0 or -EINVAL: not ascending, empty, or a number above what Linux can have. */
int host_count_cpu_list(struct str text, uint64_t *ret_count);

/* Is this an address under which others know the machine, on an interface that is none of a container engine's? */
bool host_is_own_address(const struct sockaddr *address, const char *interface);

#endif
