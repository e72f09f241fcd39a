/* SPDX-License-Identifier: Apache-2.0 */
/* fdinfo of DRM and accel descriptors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/drm_fdinfo.h"

#define HEAD "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t436\n"

static const char amdgpu[] = HEAD "drm-driver:\tamdgpu\n"
                                  "drm-client-id:\t42\n"
                                  "drm-pdev:\t0000:03:00.0\n"
                                  "pasid:\t32771\n"
                                  "drm-total-cpu:\t0\n"
                                  "drm-shared-vram:\t1024 KiB\n"
                                  "drm-memory-vram:\t262144 KiB\n"
                                  "drm-memory-gtt: \t2048 KiB\n"
                                  "amd-evicted-vram:\t0 KiB\n"
                                  "drm-engine-gfx:\t9600434518 ns\n"
                                  "drm-engine-compute:\t12 ns\n"
                                  "drm-engine-enc_1:\t0 ns\n";

static struct drm_fdinfo parse(const char *text)
{
    struct drm_fdinfo info;
    assert_int_equal(drm_fdinfo_parse(str_of(text), &info), 0);
    return info;
}

static void test_amdgpu(void **state)
{
    (void)state;
    struct drm_fdinfo info = parse(amdgpu);
    assert_string_equal(info.driver, "amdgpu");
    assert_string_equal(info.pdev, "0000:03:00.0");
    assert_true(info.client_id.has);
    assert_int_equal(info.client_id.v, 42);
    assert_true(info.vram_bytes.has);
    assert_int_equal(info.vram_bytes.v, 256 * 1024 * 1024);
    assert_int_equal(info.engine_count, 3);
    assert_string_equal(info.engines[0].name, "gfx");
    assert_true(info.engines[0].busy_ns.has);
    assert_true(info.engines[0].busy_ns.v == UINT64_C(9600434518));
    assert_false(info.engines[0].cycles.has);
    assert_false(info.engines[0].total_cycles.has);
    assert_int_equal(info.engines[0].capacity, 1);
    assert_string_equal(info.engines[2].name, "enc_1");
    assert_true(info.engines[2].busy_ns.has);
    assert_int_equal(info.engines[2].busy_ns.v, 0);
}

static void test_i915_capacity(void **state)
{
    (void)state;
    struct drm_fdinfo info = parse("drm-driver: i915\ndrm-pdev: 0000:00:02.0\ndrm-client-id: 7\n"
                                   "drm-engine-capacity-video: 2\n"
                                   "drm-engine-render: 9288864723 ns\ndrm-engine-video: 5 ns\n"
                                   "drm-engine-capacity-copy: 0\ndrm-engine-copy: 1 ns\n"
                                   "drm-resident-system0: 9 MiB\n");
    assert_int_equal(info.engine_count, 3);
    assert_string_equal(info.engines[0].name, "video");
    assert_int_equal(info.engines[0].capacity, 2);
    assert_int_equal(info.engines[0].busy_ns.v, 5);
    assert_string_equal(info.engines[1].name, "render");
    assert_int_equal(info.engines[1].capacity, 1);
    assert_string_equal(info.engines[2].name, "copy");
    assert_int_equal(info.engines[2].capacity, 1);
    /* An integrated one has no memory of its own. */
    assert_true(info.vram_bytes.has);
    assert_int_equal(info.vram_bytes.v, 0);
}

static void test_xe_cycles(void **state)
{
    (void)state;
    struct drm_fdinfo info = parse(HEAD "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:8c:00.0\n"
                                        "drm-total-vram0:\t7 MiB\ndrm-shared-vram0:\t0\n"
                                        "drm-resident-vram0:\t5120 KiB\ndrm-resident-vram1:\t1024\n"
                                        "drm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n"
                                        "drm-cycles-ccs:\t0\ndrm-total-cycles-ccs:\t7655183226\n"
                                        "drm-engine-capacity-ccs:\t4\n");
    assert_int_equal(info.engine_count, 2);
    assert_string_equal(info.engines[0].name, "rcs");
    assert_false(info.engines[0].busy_ns.has);
    assert_int_equal(info.engines[0].cycles.v, 28257900);
    assert_true(info.engines[0].total_cycles.v == UINT64_C(7655183225));
    assert_true(info.engines[1].cycles.has);
    assert_int_equal(info.engines[1].cycles.v, 0);
    assert_int_equal(info.engines[1].capacity, 4);
    assert_int_equal(info.vram_bytes.v, 5 * 1024 * 1024 + 1024);
}

/* Neither PCI nor memory of its own, a name for cycles without a clock beside it. */
static void test_panfrost(void **state)
{
    (void)state;
    struct drm_fdinfo info = parse("drm-driver:\tpanfrost\ndrm-client-id:\t3\n"
                                   "drm-engine-fragment:\t1846584880 ns\ndrm-cycles-fragment:\t1424359409\n"
                                   "drm-maxfreq-fragment:\t799999987 Hz\ndrm-curfreq-fragment:\t799999987 Hz\n"
                                   "drm-total-memory:\t290 MiB\ndrm-resident-memory:\t290 MiB\n");
    assert_string_equal(info.pdev, "");
    assert_int_equal(info.engine_count, 1);
    assert_true(info.engines[0].busy_ns.has);
    assert_true(info.engines[0].cycles.has);
    assert_false(info.engines[0].total_cycles.has);
    assert_true(info.vram_bytes.has);
    assert_int_equal(info.vram_bytes.v, 0);
}

static void test_no_client_id(void **state)
{
    (void)state;
    struct drm_fdinfo info = parse("drm-driver:\tmsm\ndrm-engine-gpu:\t7 ns\n");
    assert_false(info.client_id.has);
    info = parse("drm-driver:\tivpu\ndrm-client-id:\t18446744073709551615\n");
    assert_true(info.client_id.v == UINT64_MAX);
    assert_int_equal(info.engine_count, 0);
}

static void test_memory(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        bool has;
        uint64_t bytes;
    } cases[] = {
        {"drm-memory-vram:\t0\n", true, 0},
        {"drm-memory-vram:\t17\n", true, 17},
        {"drm-memory-vram:\t17 KiB\n", true, 17408},
        {"drm-memory-vram:\t3 MiB\n", true, 3145728},
        {"drm-memory-vram:\t2 GiB\n", true, UINT64_C(2147483648)},
        {"drm-memory-vram:\t18014398509481983 KiB\n", true, UINT64_MAX - 1023},
        {"drm-memory-vram:\t5\ndrm-resident-vram:\t4\n", true, 4},
        {"drm-resident-vram:\t4\ndrm-memory-vram:\t5\n", true, 4},
        {"drm-resident-vram0:\t0\ndrm-memory-vram:\t5\n", true, 0},
        {"drm-resident-local0:\t1 KiB\ndrm-resident-local1:\t2 KiB\n", true, 3072},
        {"drm-resident-stolen-local0:\t1 KiB\n", true, 0},
        {"drm-resident-localx:\t1 KiB\ndrm-resident-vramble:\t1 KiB\n", true, 0},
        {"drm-memory-vram0:\t1\ndrm-total-vram0:\t1\ndrm-shared-vram0:\t1\ndrm-active-vram0:\t1\n", false, 0},
        {"drm-memory-gtt:\tmuch\n", false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), "drm-driver:\tx\n%s", cases[i].lines);
        struct drm_fdinfo info = parse(text);
        assert_int_equal(info.vram_bytes.has, cases[i].has);
        assert_true(info.vram_bytes.v == cases[i].bytes);
    }
}

static void test_engines_above_maximum(void **state)
{
    (void)state;
    char text[2048] = "drm-driver:\tx\n";
    for (int i = 0; i < DRM_ENGINES_MAX + 3; i++) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof(text) - n, "drm-engine-e%d:\t%d ns\n", i, 100 + i);
    }
    size_t n = strlen(text);
    (void)snprintf(text + n, sizeof(text) - n, "drm-engine-capacity-e15:\t8\ndrm-engine-capacity-e16:\t9\n");
    struct drm_fdinfo info = parse(text);
    assert_int_equal(info.engine_count, DRM_ENGINES_MAX);
    assert_string_equal(info.engines[15].name, "e15");
    assert_int_equal(info.engines[15].busy_ns.v, 115);
    assert_int_equal(info.engines[15].capacity, 8);
    assert_int_equal(info.engines[14].capacity, 1);
}

/* Keys of the future and names that cannot be kept do no harm. */
static void test_unknown_keys(void **state)
{
    (void)state;
    struct drm_fdinfo info = parse("\n:\ndrm-\ndrm-:\ndrm-new:\tthing\ndrm-driver-version:\t3\ndrm-pdev2:\tx\n"
                                   "drm-client-id2:\tx\ndrm-client-name:\tdrm-driver:evil\n drm-driver:\ty\n"
                                   "eventfd-count: 1\ndrm-driver:\tx\n"
                                   "drm-engine-:\t1 ns\ndrm-engine-two words:\t1 ns\n"
                                   "drm-engine-thirty_two_characters_in_here_XX:\t1 ns\n"
                                   "drm-engine-a_name_that_is_much_longer_than_there_is_room:\t1 ns\n"
                                   "drm-engine-thirty_one_characters_in_here_X:\t2 ns\n");
    assert_string_equal(info.driver, "x");
    assert_string_equal(info.pdev, "");
    assert_false(info.client_id.has);
    assert_int_equal(info.engine_count, 1);
    assert_string_equal(info.engines[0].name, "thirty_one_characters_in_here_X");
}

static void test_no_drm(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", HEAD, HEAD "scm_fds: 0\n", "drm-pdev:\t0000:03:00.0\n",
        "drm-client-id:\t1\n", "pdev:\t0000:03:00.0\nvram mem:\t1 kB\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct drm_fdinfo info = {.driver = "as before"};
        assert_int_equal(drm_fdinfo_parse(str_of(texts[i]), &info), -ENODATA);
        assert_string_equal(info.driver, "as before");
    }
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "drm-driver:\n",
        "drm-driver:\t\x01\n",
        "drm-driver:\ttwo words\n",
        "drm-driver:\tthirty_two_characters_are_too_man\n",
        "drm-pdev:\t\n",
        "drm-client-id:\t\n",
        "drm-client-id:\t-1\n",
        "drm-client-id:\t0x10\n",
        "drm-client-id:\t1 2\n",
        "drm-client-id:\t18446744073709551616\n",
        "drm-engine-gfx:\tbusy\n",
        "drm-engine-gfx:\t1\n",
        "drm-engine-gfx:\t1 us\n",
        "drm-engine-gfx:\t1 ns more\n",
        "drm-engine-gfx:\t1ns\n",
        "drm-engine-gfx:\t18446744073709551616 ns\n",
        "drm-engine-capacity-gfx:\ttwo\n",
        "drm-cycles-rcs:\t1 Hz\n",
        "drm-total-cycles-rcs:\t1.5\n",
        "drm-memory-vram:\t1 kB\n",
        "drm-memory-vram:\t1KiB\n",
        "drm-memory-vram:\t18014398509481984 KiB\n",
        "drm-resident-vram0:\t17179869184 GiB\n",
        "drm-resident-vram0:\t18446744073709551615\ndrm-resident-vram1:\t1\n",
        "drm-engine-gfx:\t1 ns",
        "pos:\t0",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[160];
        (void)snprintf(text, sizeof(text), "drm-driver:\tx\n%s", lines[i]);
        struct drm_fdinfo info = {.driver = "as before"};
        assert_int_equal(drm_fdinfo_parse(str_of(text), &info), -EBADMSG);
        assert_string_equal(info.driver, "as before");
    }
}

/* Cut anywhere but behind a line, it is not believed. */
static void test_every_prefix(void **state)
{
    (void)state;
    size_t driver_at = (size_t)(strstr(amdgpu, "drm-client-id") - amdgpu);
    for (size_t n = 0; n < sizeof(amdgpu); n++) {
        /* A block of exactly this size lets the sanitizer see a read behind the end. */
        char *text = malloc(n > 0 ? n : 1);
        assert_non_null(text);
        memcpy(text, amdgpu, n);
        struct drm_fdinfo info;
        int whole = n < driver_at ? -ENODATA : 0;
        int expected = n > 0 && text[n - 1] != '\n' ? -EBADMSG : whole;
        assert_int_equal(drm_fdinfo_parse((struct str){text, n}, &info), expected);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amdgpu),
        cmocka_unit_test(test_i915_capacity),
        cmocka_unit_test(test_xe_cycles),
        cmocka_unit_test(test_panfrost),
        cmocka_unit_test(test_no_client_id),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_engines_above_maximum),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_no_drm),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_every_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
