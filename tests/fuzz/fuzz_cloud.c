/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vendors against any answers. The input: the vendor's id on a line of its own (any other text: every vendor), then
 * answers with a line "=====" between them, each a status, header lines, an empty line and the body. Whatever they say,
 * a vendor decides in time, asks nothing that breaks a request, and believes nothing but identifiers.
 */
#include "fuzz.h"

#include "collect/cloud/cloud.h"

enum { STATUS_OK = 200, STEPS_MAX = 8 };

static void check_value(const char *value)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-";
    check(memchr(value, '\0', CLOUD_VALUE_BYTES) && value[strspn(value, allowed)] == '\0');
    check(strcmp(value, "unknown") != 0 && strcmp(value, "none") != 0);
}

/* Whole lines of visible characters, as many as the vendor has headers: an answer can add none. */
static void check_request(const struct cloud_vendor *vendor, const struct cloud_probe *probe)
{
    struct buf request;
    buf_init(&request, 4096);
    check(cloud_path(vendor, probe) != NULL);
    cloud_put_request(&request, vendor, probe, STR("169.254.169.254"));
    bool is_put = vendor->token_header && probe->step == 0;
    int want = 6 + (vendor->header != NULL) + (vendor->token_header != NULL) + is_put;
    int lines = 0;
    struct str rest = {request.data, request.len};
    for (struct str line; str_line(&rest, &line); lines++) {
        check(line.n > 0 && line.p[line.n - 1] == '\r' && (line.n == 1) == (rest.n == 0));
        for (size_t i = 0; i + 1 < line.n; i++)
            check(line.p[i] >= 0x20 && line.p[i] < 0x7f);
    }
    check(lines == want && str_starts((struct str){request.data, request.len}, is_put ? STR("PUT /") : STR("GET /")));
    buf_fini(&request);
}

/* Cuts the next answer off *rest: up to the line of separation. */
static struct str cut_answer(struct str *rest)
{
    static const char line[] = "\n=====\n";
    const char *found = rest->n > 0 ? memmem(rest->p, rest->n, line, sizeof(line) - 1) : NULL;
    struct str answer = {rest->p, found ? (size_t)(found - rest->p) : rest->n};
    size_t used = found ? answer.n + sizeof(line) - 1 : rest->n;
    *rest = (struct str){rest->p + used, rest->n - used};
    return answer;
}

static void make_answer(struct str text, struct http_answer *ret_answer)
{
    struct str line = {0};
    *ret_answer = (struct http_answer){0};
    buf_init(&ret_answer->head, CLOUD_ANSWER_BYTES_MAX);
    buf_init(&ret_answer->body, CLOUD_ANSWER_BYTES_MAX);
    (void)str_line(&text, &line);
    for (size_t i = 0; i < line.n && i < 3; i++)
        ret_answer->status = ret_answer->status * 10 + (line.p[i] - '0');
    while (str_line(&text, &line) && line.n > 0) {
        buf_append(&ret_answer->head, line.p, line.n);
        buf_putc(&ret_answer->head, '\n');
    }
    buf_append(&ret_answer->body, text.p, text.n);
}

static void converse(const struct cloud_vendor *vendor, struct str rest)
{
    struct cloud_probe probe = {0};
    enum cloud_verdict verdict = CLOUD_ASK_MORE;
    bool was_answered = false;
    int steps = 0;
    for (; verdict == CLOUD_ASK_MORE; steps++) {
        check(steps < STEPS_MAX);
        check_request(vendor, &probe);
        if (rest.n == 0) {
            verdict = vendor->classify(&probe, NULL);
            check(verdict != CLOUD_ASK_MORE);
            continue;
        }
        struct http_answer answer;
        make_answer(cut_answer(&rest), &answer);
        was_answered = was_answered || answer.status == STATUS_OK || answer.head.len > 0;
        verdict = vendor->classify(&probe, &answer);
        probe.step++;
        http_answer_fini(&answer);
    }
    check(verdict == CLOUD_REJECT || was_answered);
    check_value(probe.facts.account_id);
    check_value(probe.facts.region_id);
    check_value(probe.facts.zone_id);
    check_value(probe.facts.instance_type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str rest = {copy, size};
    struct str id = {0};
    (void)str_line(&rest, &id);
    bool is_vendor = false;
    for (size_t i = 0; i < cloud_vendor_count; i++)
        is_vendor = is_vendor || str_eq(id, str_of(cloud_vendors[i]->id));
    for (size_t i = 0; i < cloud_vendor_count; i++) {
        if (!is_vendor || str_eq(id, str_of(cloud_vendors[i]->id)))
            converse(cloud_vendors[i], rest);
    }
    free(copy);
    return 0;
}
