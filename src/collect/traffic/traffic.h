/* SPDX-License-Identifier: Apache-2.0 */
/* What of the network of the tree is asked outside of its collector. */
#ifndef COLLECT_TRAFFIC_TRAFFIC_H
#define COLLECT_TRAFFIC_TRAFFIC_H

#include "collect/collect.h"

/* For collect_env: the socket through which the kernel lists sockets, or a negative errno. */
int traffic_open_sock_diag(void *context);

/* For --doctor: 0 where the bytes of TCP sockets can be listed, or a negative errno. */
int traffic_check(const struct collect_env *env);

#endif
