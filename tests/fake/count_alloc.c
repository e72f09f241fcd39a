/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: counts the calls of the allocator in the file that COUNT_ALLOC_FILE names, as one uint64_t in the
 * byte order of the machine. The file is mapped, so that a test can read the count of a running program at any time.
 * The work itself is done by the entry points that glibc exports beside the public names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static _Atomic uint64_t uncounted;
static _Atomic(_Atomic uint64_t *) counter;

/* Nothing in here may allocate. Where the file cannot be used the count goes nowhere, and the test sees none. */
static _Atomic uint64_t *open_counter(void)
{
    int saved_errno = errno;
    const char *path = getenv("COUNT_ALLOC_FILE");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    void *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)sizeof(uint64_t)) == 0)
        map = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    errno = saved_errno;
    return map == MAP_FAILED ? &uncounted : map;
}

static void count_call(void)
{
    _Atomic uint64_t *at = atomic_load(&counter);
    if (!at) {
        at = open_counter();
        atomic_store(&counter, at);
    }
    atomic_fetch_add(at, 1);
}

void *malloc(size_t size)
{
    count_call();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    count_call();
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    count_call();
    return __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
    count_call();
    if (size > 0 && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(old, count * size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count_call();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
    count_call();
    void *memory = __libc_memalign(alignment, size);
    if (!memory)
        return ENOMEM;
    *ret_memory = memory;
    return 0;
}
