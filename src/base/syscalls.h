/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of system calls that headers of old C libraries lack (include/uapi/asm-generic/unistd.h and
 * arch/x86/entry/syscalls/syscall_64.tbl of the kernel). Those above 400 are the same on every architecture.
 */
#ifndef BASE_SYSCALLS_H
#define BASE_SYSCALLS_H

#include <sys/syscall.h>

#ifndef SYS_getrandom
#ifdef __x86_64__
#define SYS_getrandom 318
#else
#define SYS_getrandom 278 /* every architecture with the generic table of system calls */
#endif
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#endif
