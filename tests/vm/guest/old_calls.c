/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command as if on Linux 3.10 as far as system calls go: those that came later fail with ENOSYS, for it and for
 * all that it starts (seccomp filter mode). Of x86_64 only, whose calls are numbered in the order they came in.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* finit_module is the newest one of 3.10; x32 calls, numbered from 2^30, fail as well. */
#define NEWEST_CALL 313

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST_CALL, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};

    if (argc < 2) {
        fputs("usage: old_calls COMMAND [ARG...]\n", stderr);
        return 2;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("old_calls: seccomp");
        return 125;
    }
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
