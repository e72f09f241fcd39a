/* SPDX-License-Identifier: Apache-2.0 */
/* What every vendor asks, and how it classifies real-looking, broken and foreign answers. No network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collect/cloud/cloud.h"
#include "tree.h"

extern const struct cloud_vendor cloud_aws, cloud_gcp, cloud_azure, cloud_hetzner, cloud_upcloud, cloud_vultr,
    cloud_alibaba, cloud_ovh;

/* One step of a conversation: what must be asked, and what comes back. */
enum { STEPS_MAX = 8 };

struct exchange {
    const char *method, *path, *header;
    int status; /* 0: no answer */
    const char *head, *body;
};

static enum cloud_verdict answer_with(
    const struct cloud_vendor *vendor, struct cloud_probe *probe, int status, const char *head, struct str body)
{
    if (status == 0)
        return vendor->classify(probe, NULL);
    struct http_answer answer = {.status = status};
    buf_init(&answer.head, 4096);
    buf_init(&answer.body, CLOUD_ANSWER_BYTES_MAX);
    buf_puts(&answer.head, head ? head : "");
    buf_append(&answer.body, body.p, body.n);
    enum cloud_verdict verdict = vendor->classify(probe, &answer);
    probe->step++;
    http_answer_fini(&answer);
    return verdict;
}

static void assert_request(const struct cloud_vendor *vendor, const struct cloud_probe *probe, const char *wanted)
{
    struct buf request;
    buf_init(&request, 4096);
    cloud_put_request(&request, vendor, probe, STR("10.0.0.1"));
    assert_string_equal(buf_cstr(&request), wanted);
    buf_fini(&request);
}

/* Plays until the vendor has decided. */
static enum cloud_verdict converse(
    const struct cloud_vendor *vendor, const struct exchange *exchanges, size_t count, struct cloud_facts *ret_facts)
{
    struct cloud_probe probe = {0};
    enum cloud_verdict verdict = CLOUD_ASK_MORE;
    for (size_t i = 0; i < count && verdict == CLOUD_ASK_MORE; i++) {
        char request[2048];
        bool is_put = exchanges[i].method != NULL;
        (void)snprintf(request, sizeof(request),
            "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: resource-tracker\r\nAccept: */*\r\nConnection: close\r\n"
            "%s%s%s\r\n",
            is_put ? exchanges[i].method : "GET", exchanges[i].path, vendor->host ? vendor->host : "10.0.0.1",
            exchanges[i].header ? exchanges[i].header : "", exchanges[i].header ? "\r\n" : "",
            is_put ? "Content-Length: 0\r\n" : "");
        assert_request(vendor, &probe, request);
        verdict = answer_with(vendor, &probe, exchanges[i].status, exchanges[i].head, str_of(exchanges[i].body));
    }
    *ret_facts = probe.facts;
    return verdict;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_facts(
    const struct cloud_facts *facts, const char *account, const char *region, const char *zone, const char *type)
{
    assert_string_equal(facts->account_id, account);
    assert_string_equal(facts->region_id, region);
    assert_string_equal(facts->zone_id, zone);
    assert_string_equal(facts->instance_type, type);
}

#define AWS_TTL "X-aws-ec2-metadata-token-ttl-seconds: 21600"
#define AWS_TOKEN "X-aws-ec2-metadata-token: AQAEAExampleToken=="

static const struct exchange aws_exchanges[] = {
    {"PUT", "/latest/api/token", AWS_TTL, 200, NULL, "AQAEAExampleToken=="},
    {NULL, "/latest/meta-data/services/domain", AWS_TOKEN, 200, NULL, "amazonaws.com"},
    {NULL, "/latest/meta-data/placement/region", AWS_TOKEN, 200, NULL, "eu-west-1\n"},
    {NULL, "/latest/meta-data/placement/availability-zone", AWS_TOKEN, 200, NULL, "eu-west-1b"},
    {NULL, "/latest/meta-data/instance-type", AWS_TOKEN, 200, NULL, "m7g.4xlarge"},
    {NULL, "/latest/meta-data/identity-credentials/ec2/info", AWS_TOKEN, 200, "Content-Type: text/plain\n",
        "{\n  \"Code\" : \"Success\",\n  \"LastUpdated\" : \"2026-01-01T00:00:00Z\",\n"
        "  \"AccountId\" : \"123456789012\"\n}"},
};

static void test_aws(void **state)
{
    (void)state;
    struct cloud_facts facts;
    assert_int_equal(converse(&cloud_aws, aws_exchanges, COUNT(aws_exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "123456789012", "eu-west-1", "eu-west-1b", "m7g.4xlarge");
    assert_null(facts.vendor_id);
    struct exchange exchanges[COUNT(aws_exchanges)];
    memcpy(exchanges, aws_exchanges, sizeof(exchanges));
    exchanges[1].body = "amazonaws.com.cn";
    exchanges[2].status = 404;
    exchanges[3].body = "<html>no</html>";
    exchanges[4].body = "";
    exchanges[5].body = "{\"AccountId\":42}";
    assert_int_equal(converse(&cloud_aws, exchanges, COUNT(exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "", "", "");
    /* Out of time behind the proof: what there is must do. */
    memcpy(exchanges, aws_exchanges, sizeof(exchanges));
    exchanges[4].status = 0;
    assert_int_equal(converse(&cloud_aws, exchanges, COUNT(exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "eu-west-1", "eu-west-1b", "");
}

static void test_not_aws(void **state)
{
    (void)state;
    struct cloud_facts facts;
    static const char *const domains[] = {
        "", "example.com", "xamazonaws.com", "amazonaws.com is down", "<p>amazonaws.com</p>", "amazonaws"};
    struct exchange exchanges[COUNT(aws_exchanges)];
    for (size_t i = 0; i < COUNT(domains); i++) {
        memcpy(exchanges, aws_exchanges, sizeof(exchanges));
        exchanges[1].body = domains[i];
        assert_int_equal(converse(&cloud_aws, exchanges, 2, &facts), CLOUD_REJECT);
    }
    static const char *const tokens[] = {"", "two words", "a\r\nHost: evil", "\xc3\xa4", "<a b>"};
    for (size_t i = 0; i < COUNT(tokens); i++) {
        memcpy(exchanges, aws_exchanges, sizeof(exchanges));
        exchanges[0].body = tokens[i];
        assert_int_equal(converse(&cloud_aws, exchanges, 1, &facts), CLOUD_REJECT);
    }
    for (size_t step = 0; step < 2; step++) {
        static const int statuses[] = {0, 201, 301, 302, 401, 403, 404, 405, 500};
        for (size_t i = 0; i < COUNT(statuses); i++) {
            memcpy(exchanges, aws_exchanges, sizeof(exchanges));
            exchanges[step].status = statuses[i];
            assert_int_equal(converse(&cloud_aws, exchanges, step + 1, &facts), CLOUD_REJECT);
        }
    }
}

/* The largest token that fits into a request, and one byte more. */
static void test_long_tokens(void **state)
{
    (void)state;
    char token[1024];
    memset(token, 'A', sizeof(token));
    struct cloud_probe probe = {0};
    assert_int_equal(answer_with(&cloud_aws, &probe, 200, NULL, (struct str){token, 1023}), CLOUD_ASK_MORE);
    assert_int_equal(strlen(probe.token), 1023);
    probe = (struct cloud_probe){0};
    assert_int_equal(answer_with(&cloud_alibaba, &probe, 200, NULL, (struct str){token, 1024}), CLOUD_REJECT);
}

#define GOOGLE "Metadata-Flavor: Google"

static const struct exchange gcp_exchanges[] = {
    {NULL, "/computeMetadata/v1/instance/machine-type", GOOGLE, 200, "Server: Metadata Server for VM\n" GOOGLE "\n",
        "projects/123456789012/machineTypes/e2-standard-4"},
    {NULL, "/computeMetadata/v1/instance/zone", GOOGLE, 200, GOOGLE "\n", "projects/123456789012/zones/europe-west1-b"},
    {NULL, "/computeMetadata/v1/project/numeric-project-id", GOOGLE, 200, "metadata-flavor:Google\n", "123456789012"},
};

static void test_gcp(void **state)
{
    (void)state;
    struct cloud_facts facts;
    assert_int_equal(converse(&cloud_gcp, gcp_exchanges, COUNT(gcp_exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "123456789012", "europe-west1", "europe-west1-b", "e2-standard-4");
    assert_string_equal(cloud_gcp.host, "metadata.google.internal");
    struct exchange exchanges[COUNT(gcp_exchanges)];
    memcpy(exchanges, gcp_exchanges, sizeof(exchanges));
    exchanges[0].status = 404;
    exchanges[0].body = "<!DOCTYPE html>";
    exchanges[1].body = "projects/1/zones/local";
    exchanges[2].body = "projects/";
    assert_int_equal(converse(&cloud_gcp, exchanges, COUNT(exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "", "local", "");
    memcpy(exchanges, gcp_exchanges, sizeof(exchanges));
    exchanges[1].status = 0;
    assert_int_equal(converse(&cloud_gcp, exchanges, COUNT(exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "", "", "e2-standard-4");
    static const char *const heads[] = {"", "Metadata-Flavor: google\n", "Metadata-Flavor: Googlex\n",
        "X-Metadata-Flavor: Google\n", "Server: Metadata-Flavor: Google\n"};
    for (size_t i = 0; i < COUNT(heads); i++) {
        memcpy(exchanges, gcp_exchanges, sizeof(exchanges));
        exchanges[0].head = heads[i];
        assert_int_equal(converse(&cloud_gcp, exchanges, 1, &facts), CLOUD_REJECT);
    }
}

static enum cloud_verdict once(const struct cloud_vendor *vendor, const char *body, struct cloud_facts *ret_facts)
{
    struct cloud_probe probe = {0};
    enum cloud_verdict verdict = answer_with(vendor, &probe, 200, NULL, str_of(body));
    *ret_facts = probe.facts;
    return verdict;
}

static void assert_all_rejected(const struct cloud_vendor *vendor, const char *const *bodies, size_t count)
{
    struct cloud_facts facts;
    for (size_t i = 0; i < count; i++) {
        if (once(vendor, bodies[i], &facts) != CLOUD_REJECT)
            fail_msg("%s accepts %s", vendor->id, bodies[i]);
    }
}

static void test_azure(void **state)
{
    (void)state;
    struct cloud_facts facts;
    static const struct exchange exchanges[] = {{NULL, "/metadata/instance?api-version=2021-02-01", "Metadata: true",
        200, "Content-Type: application/json; charset=utf-8\n",
        "{\"compute\":{\"azEnvironment\":\"AzurePublicCloud\",\"location\":\"westeurope\",\"name\":\"ex am\\\"ple\","
        "\"subscriptionId\":\"8d10da13-8125-4ba9-a717-bf7490507b3d\",\"tagsList\":[],\"vmSize\":\"Standard_D4s_v5\","
        "\"zone\":\"1\"},\"network\":{\"interface\":[]}}"}};
    assert_int_equal(converse(&cloud_azure, exchanges, 1, &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "8d10da13-8125-4ba9-a717-bf7490507b3d", "westeurope", "1", "Standard_D4s_v5");
    assert_int_equal(
        once(&cloud_azure, "{\"compute\":{\"vmSize\":\"A1\",\"zone\":\"\",\"location\":null}}", &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "", "", "A1");
    static const char *const bad[] = {"{}", "[]", "{\"vmSize\":\"A1\"}", "{\"compute\":[]}", "{\"compute\":{}}",
        "{\"compute\":{\"vmSize\":\"\"}}", "{\"compute\":{\"vmSize\":4}}", "{\"compute\":{\"vmSize\":\"Unknown\"}}",
        "{\"compute\":{\"vmSize\":\"a b\"}}", "{\"compute\":{\"vmSize\":\"A1\"}", "{\"compute\":{\"vmSize\":\"A1\"}} x",
        "{\"error\":\"Bad request. Required metadata header not specified\"}"};
    assert_all_rejected(&cloud_azure, bad, COUNT(bad));
}

static void test_hetzner(void **state)
{
    (void)state;
    struct cloud_facts facts;
    static const struct exchange exchanges[] = {{NULL, "/hetzner/v1/metadata", NULL, 200, NULL,
        "availability-zone: fsn1-dc14\nhostname: example\ninstance-id: 42\nlocal-ipv4: ''\nnetwork-config:\n"
        "  config:\n  - mac_address: 96:00:00:00:00:01\n    region: wrong\npublic-ipv4: 203.0.113.7\n"
        "region: eu-central\nvendor_data: |-\n  region: wrong\n"}};
    assert_int_equal(converse(&cloud_hetzner, exchanges, 1, &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "eu-central", "fsn1-dc14", "");
    assert_int_equal(once(&cloud_hetzner, "instance-id: \"7\"\r\nregion: 'us-east'\r\n", &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "us-east", "", "");
    assert_int_equal(once(&cloud_hetzner, "instance-id: 7\navailability-zone: hel1-dc2", &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "", "hel1-dc2", "");
    static const char *const bad[] = {"instance-id: 42\n", "region: eu-central\n", "instance-id:\nregion: eu-central\n",
        "instance-id: 42\nregion:\n", "instance-id 42\nregion eu-central\n",
        "x\n  instance-id: 42\n  region: eu-central\n", "instance-id: 4 2\nregion: a\n",
        "{\"instance-id\":42,\"region\":\"a\"}"};
    assert_all_rejected(&cloud_hetzner, bad, COUNT(bad));
}

static void test_upcloud(void **state)
{
    (void)state;
    struct cloud_facts facts;
    static const struct exchange exchanges[] = {{NULL, "/metadata/v1.json", NULL, 200, NULL,
        "{\"cloud_name\": \"upcloud\", \"instance_id\": \"0012ab\", \"hostname\": \"example\", \"region\": \"fi-hel1\","
        "\"tags\": []}"}};
    assert_int_equal(converse(&cloud_upcloud, exchanges, 1, &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "fi-hel1", "", "");
    static const char *const bad[] = {"{\"cloud_name\":\"UpCloud\"}", "{\"cloud_name\":\"digitalocean\"}",
        "{\"droplet_id\":2756294,\"region\":\"nyc3\"}", "{\"region\":\"fi-hel1\"}", "\"upcloud\"", "[\"upcloud\"]"};
    assert_all_rejected(&cloud_upcloud, bad, COUNT(bad));
}

static void test_vultr(void **state)
{
    (void)state;
    struct cloud_facts facts;
    static const struct exchange exchanges[] = {{NULL, "/v1.json", NULL, 200, NULL,
        "{\"bgp\":{},\"hostname\":\"example\",\"instance-v2-id\":\"4f0f12e5-1f84-404f-aa84-85f431ea5ec2\","
        "\"instanceid\":\"42872224\",\"interfaces\":[],\"region\":{\"countrycode\":\"US\",\"regioncode\":\"EWR\"}}"}};
    assert_int_equal(converse(&cloud_vultr, exchanges, 1, &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "EWR", "", "");
    assert_int_equal(once(&cloud_vultr, "{\"instance-v2-id\":\"4f0f\",\"region\":\"EWR\"}", &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "", "", "");
    static const char *const bad[] = {"{\"region\":{\"regioncode\":\"EWR\"}}", "{\"instanceid\":\"\"}",
        "{\"instanceid\":null}", "{\"instanceid\":{\"a\":\"b\"}}", "{\"instanceid\":\"a b\"}"};
    assert_all_rejected(&cloud_vultr, bad, COUNT(bad));
}

#define ALI_TTL "X-aliyun-ecs-metadata-token-ttl-seconds: 21600"
#define ALI_TOKEN "X-aliyun-ecs-metadata-token: dG9rZW4="

static const struct exchange alibaba_exchanges[] = {
    {"PUT", "/latest/api/token", ALI_TTL, 200, NULL, "dG9rZW4="},
    {NULL, "/latest/meta-data/instance/instance-type", ALI_TOKEN, 200, NULL, "ecs.g7.large"},
    {NULL, "/latest/meta-data/region-id", ALI_TOKEN, 200, NULL, "cn-hangzhou"},
    {NULL, "/latest/meta-data/zone-id", ALI_TOKEN, 200, NULL, "cn-hangzhou-i"},
};

static void test_alibaba(void **state)
{
    (void)state;
    struct cloud_facts facts;
    assert_int_equal(converse(&cloud_alibaba, alibaba_exchanges, COUNT(alibaba_exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "cn-hangzhou", "cn-hangzhou-i", "ecs.g7.large");
    assert_true(cloud_alibaba.address);
    struct exchange exchanges[COUNT(alibaba_exchanges)];
    memcpy(exchanges, alibaba_exchanges, sizeof(exchanges));
    exchanges[3].status = 404;
    assert_int_equal(converse(&cloud_alibaba, exchanges, COUNT(exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "cn-hangzhou", "", "ecs.g7.large");
    exchanges[3].status = 0;
    assert_int_equal(converse(&cloud_alibaba, exchanges, COUNT(exchanges), &facts), CLOUD_ACCEPT);
    static const char *const texts[] = {"", "OK", "ok", "Not.Found-404", "unknown", "<html></html>", ".ecs-", "-a.b-",
        "a", "index.html page", "1-2.3", "/a-b.c"};
    for (size_t step = 1; step <= 2; step++) {
        for (size_t i = 0; i < COUNT(texts); i++) {
            memcpy(exchanges, alibaba_exchanges, sizeof(exchanges));
            exchanges[step].body = texts[i];
            assert_int_equal(converse(&cloud_alibaba, exchanges, step + 1, &facts), CLOUD_REJECT);
        }
    }
    memcpy(exchanges, alibaba_exchanges, sizeof(exchanges));
    exchanges[2].body = "ecs.g7-a.large";
    assert_int_equal(converse(&cloud_alibaba, exchanges, 3, &facts), CLOUD_REJECT);
}

static const struct exchange ovh_exchanges[] = {
    {NULL, "/openstack/latest/network_data.json", NULL, 200, NULL,
        "{\"links\":[{\"id\":\"tap1\",\"mtu\":1500}],\"networks\":[{\"type\":\"ipv4_dhcp\",\"services\":[]}],"
        "\"services\":[{\"type\":\"dns\",\"address\":\"1.1.1.1\"},{\"type\":\"dns\",\"address\":\"213.186.33.99\"}]}"},
    {NULL, "/openstack/latest/meta_data.json", NULL, 200, NULL,
        "{\"uuid\":\"d8e02d56-2648-49a3-bf97-6be8f1204f38\",\"availability_zone\":\"eu-west-par-a\",\"name\":\"x\"}"},
    {NULL, "/latest/meta-data/instance-type", NULL, 200, NULL, "b3-8"},
};

static void test_ovh(void **state)
{
    (void)state;
    struct cloud_facts facts;
    assert_int_equal(converse(&cloud_ovh, ovh_exchanges, COUNT(ovh_exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "eu-west-par-a", "", "b3-8");
    struct exchange exchanges[COUNT(ovh_exchanges)];
    memcpy(exchanges, ovh_exchanges, sizeof(exchanges));
    exchanges[0].body = "{\"networks\":[{},{\"services\":[{\"type\":\"dns\",\"address\":\"213.186.33.99\"}]}]}";
    exchanges[1].body = "{\"availability_zone\":\"nova\"}";
    exchanges[2].status = 404;
    assert_int_equal(converse(&cloud_ovh, exchanges, COUNT(exchanges), &facts), CLOUD_ACCEPT);
    assert_facts(&facts, "", "", "", "");
    static const char *const bad[] = {"{}", "[]", "{\"services\":{\"type\":\"dns\",\"address\":\"213.186.33.99\"}}",
        "{\"services\":[{\"type\":\"ntp\",\"address\":\"213.186.33.99\"}]}",
        "{\"services\":[{\"type\":\"dns\",\"address\":\"213.186.33.9\"}]}",
        "{\"services\":[\"213.186.33.99\"],\"networks\":{\"services\":[]}}", "213.186.33.99", "{\"services\":[[[]]]}"};
    assert_all_rejected(&cloud_ovh, bad, COUNT(bad));
}

/* No vendor is found in a login page, a greeting, or nothing, however often it is said. */
static void test_foreign_answers(void **state)
{
    (void)state;
    static char large[CLOUD_ANSWER_BYTES_MAX];
    memset(large, 'a', sizeof(large));
    const struct {
        int status;
        struct str body;
    } answers[] = {
        {0, STR("")},
        {200, STR("")},
        {200, STR("OK")},
        {200, STR("It works!")},
        {200, STR("<!DOCTYPE html><html><head><title>Login</title></head><body>instance-id: 1</body></html>")},
        {200, STR("{}")},
        {200, STR("null")},
        {200, STR("\"\"")},
        {200, STR("{\"error\":\"not found\"}")},
        {200, STR("unknown")},
        {200, STR("a-b.c")},
        {200, STR("\0\xff\xfe\x01")},
        {200, {large, sizeof(large)}},
        {204, STR("")},
        {302, STR("amazonaws.com")},
        {404, STR("404 page not found")},
        {500, STR("{\"compute\":{\"vmSize\":\"A1\"}}")},
    };
    for (size_t v = 0; v < cloud_vendor_count; v++) {
        for (size_t i = 0; i < COUNT(answers); i++) {
            struct cloud_probe probe = {0};
            enum cloud_verdict verdict = CLOUD_ASK_MORE;
            for (int step = 0; step < STEPS_MAX && verdict == CLOUD_ASK_MORE; step++)
                verdict = answer_with(cloud_vendors[v], &probe, answers[i].status, "Server: nginx\n", answers[i].body);
            if (verdict != CLOUD_REJECT)
                fail_msg("%s takes foreign answer %zu for its own", cloud_vendors[v]->id, i);
        }
    }
}

static void test_values(void **state)
{
    (void)state;
    char value[CLOUD_VALUE_BYTES];
    assert_true(cloud_copy_value(STR("Az09._:/-"), value));
    assert_string_equal(value, "Az09._:/-");
    static const char *const bad[] = {"", " ", "a b", "a\n", "a,b", "<a>", "unknown", "UNKNOWN", "None", "null",
        "undefined", "N/A", "\xc3\xa4", "a@b", "a\\b", "100%"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        (void)str_copy(STR("old"), value, sizeof(value));
        assert_false(cloud_copy_value(str_of(bad[i]), value));
        assert_string_equal(value, "");
    }
    assert_false(cloud_copy_value((struct str){"a\0b", 3}, value));
    char text[129];
    memset(text, 'x', sizeof(text));
    assert_true(cloud_copy_value((struct str){text, 128}, value));
    assert_int_equal(strlen(value), 128);
    assert_false(cloud_copy_value((struct str){text, 129}, value));
    assert_string_equal(value, "");
}

static void test_order(void **state)
{
    (void)state;
    static const char *const ids[] = {"aws", "gcp", "azure", "hcloud", "upcloud", "vultr", "alicloud", "ovh"};
    assert_int_equal(cloud_vendor_count, COUNT(ids));
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_string_equal(cloud_vendors[i]->id, ids[i]);
        assert_true((cloud_vendors[i]->address != NULL) == (cloud_vendors[i] == &cloud_alibaba));
    }
    assert_string_equal(CLOUD_LINK_LOCAL, "169.254.169.254:80");
    assert_string_equal(cloud_alibaba.address, "100.100.100.200:80");
}

/* Which vendors are asked on a machine with this firmware and processor: the ids, or "all", or "". */
static void assert_asked(const char *dmi_vendor, const char *product, const char *flags, const char *asked)
{
    struct tree tree;
    tree_make(&tree);
    tree_directory(&tree, "proc");
    if (dmi_vendor)
        tree_write(&tree, "sys/class/dmi/id/sys_vendor", dmi_vendor);
    if (product)
        tree_write(&tree, "sys/class/dmi/id/product_name", product);
    tree_write(&tree, "proc/cpuinfo", flags ? flags : "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n");
    struct sysroot root;
    struct cloud_evidence evidence;
    assert_int_equal(sysroot_open(tree.path, &root, NULL), 0);
    cloud_read_evidence(&root, &evidence);
    sysroot_close(&root);
    tree_free(&tree);
    assert_int_equal(evidence.has_dmi, dmi_vendor || product);
    for (size_t i = 0; i < cloud_vendor_count; i++) {
        bool is_wanted = strcmp(asked, "all") == 0 || strcmp(asked, cloud_vendors[i]->id) == 0;
        if (cloud_is_worth_asking(&evidence, cloud_vendors[i]) != is_wanted)
            fail_msg("%s, %s: %s", dmi_vendor, product, cloud_vendors[i]->id);
    }
}

static void test_evidence(void **state)
{
    (void)state;
    static const char vm[] = "flags : fpu hypervisor\n";
    static const char metal[] = "flags : fpu\n";
    assert_asked("Amazon EC2\n", "m5.metal\n", metal, "aws");
    assert_asked("Amazon EC2\n", "c7g.large\n", NULL, "aws");
    assert_asked("Google\n", "Google Compute Engine\n", vm, "gcp");
    assert_asked("Google\n", "Nightfury\n", metal, "");
    assert_asked("Microsoft Corporation\n", "Virtual Machine\n", vm, "azure");
    assert_asked("Microsoft Corporation\n", "Surface Laptop\n", metal, "");
    assert_asked("Hetzner\n", "vServer\n", vm, "hcloud");
    assert_asked("UpCloud\n", "Server\n", vm, "upcloud");
    assert_asked("Vultr\n", "VC2\n", vm, "vultr");
    assert_asked("Alibaba Cloud\n", "Alibaba Cloud ECS\n", vm, "alicloud");
    assert_asked("OpenStack Foundation\n", "OpenStack Nova\n", vm, "ovh");
    assert_asked("QEMU\n", "Standard PC (i440FX + PIIX, 1996)\n", vm, "all");
    assert_asked("Dell Inc.\n", "PowerEdge R740\n", metal, "");
    assert_asked("Dell Inc.\n", "PowerEdge R740\n", vm, "all");
    assert_asked(NULL, NULL, metal, "");
    assert_asked(NULL, NULL, vm, "all");
    /* Without flags the firmware decides, and without firmware it is worth asking. */
    assert_asked("QEMU\n", "QEMU Virtual Machine\n", NULL, "all");
    assert_asked("Red Hat\n", "KVM\n", NULL, "all");
    assert_asked("Ampere(R)\n", "Mt. Jade\n", NULL, "");
    assert_asked(NULL, NULL, NULL, "all");
}

static void test_azure_tag(void **state)
{
    (void)state;
    struct cloud_evidence evidence = {.chassis_asset_tag = "7783-7084-3265-9085-8269-3286-77", .has_dmi = true};
    assert_true(cloud_is_worth_asking(&evidence, &cloud_azure));
    assert_false(cloud_is_worth_asking(&evidence, &cloud_aws));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aws),
        cmocka_unit_test(test_not_aws),
        cmocka_unit_test(test_long_tokens),
        cmocka_unit_test(test_gcp),
        cmocka_unit_test(test_azure),
        cmocka_unit_test(test_hetzner),
        cmocka_unit_test(test_upcloud),
        cmocka_unit_test(test_vultr),
        cmocka_unit_test(test_alibaba),
        cmocka_unit_test(test_ovh),
        cmocka_unit_test(test_foreign_answers),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_azure_tag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
