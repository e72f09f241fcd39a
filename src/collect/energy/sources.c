/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of a machine: RAPL zones (/sys/class/powercap), hwmon of AMD's CPUs, pm_counters of Cray; batteries
 * where nothing else counts the whole machine. A zone that two drivers show (intel-rapl and intel-rapl-mmio) counts
 * once, and cores do not count beside their socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"
#include "collect/energy/energy.h"

#define POWERCAP "class/powercap"
#define HWMON "class/hwmon"
#define POWER_SUPPLY "class/power_supply"
#define CRAY "cray/pm_counters"
#define STALE_NS (2 * NS_PER_SEC) /* pm_counters are written ten times a second */

static int read_number(struct kept_file *file, struct buf *text, uint64_t *ret_number)
{
    int r = kept_file_read(file, text);
    return r < 0 ? r : num_parse_u64(str_trim(buf_str(text)), ret_number);
}

int energy_counter_read(struct energy_sources *sources, struct energy_counter *counter, int64_t now_ns)
{
    struct energy_reading cur;
    int r = kept_file_read(&counter->file, &sources->text);
    if (r >= 0)
        r = energy_counter_parse(buf_str(&sources->text), &cur);
    if (r < 0)
        return r;
    const struct energy_reading *prev = &counter->prev;
    bool is_same = counter->is_read && cur.stamp_us.has && prev->stamp_us.has && cur.stamp_us.v == prev->stamp_us.v;
    if (is_same)
        return now_ns - counter->prev_ns >= STALE_NS ? -ESTALE : 0;
    struct opt_u64 growth = {0};
    if (counter->is_read)
        growth = energy_growth(prev->uj, cur.uj, counter->range_uj, now_ns - counter->prev_ns);
    bool is_lost = counter->is_read && !growth.has;
    counter->pending_uj = is_lost ? 0 : counter->pending_uj + growth.v;
    counter->prev = cur;
    counter->prev_ns = now_ns;
    counter->is_read = true;
    return is_lost ? -EOVERFLOW : 0;
}

int energy_counter_fail(
    const struct energy_sources *sources, const struct energy_counter *counter, int r, struct err *err)
{
    if (r == -EOVERFLOW)
        return err_set(err, r, "energy: %s/sys/%s may have begun again more than once between two samples",
            sources->root->path, counter->file.path);
    return err_sys(err, r, "energy: cannot read %s/sys/%s", sources->root->path, counter->file.path);
}

struct opt_u64 energy_battery_read(struct energy_sources *sources, struct energy_battery *battery)
{
    static const uint64_t secs_per_hour = 3600, uv_per_volt = 1000000;
    struct opt_u64 prev = battery->prev;
    uint64_t level, uv = 0, uj;
    battery->prev = (struct opt_u64){0};
    if (kept_file_read(&battery->status, &sources->text) < 0 ||
        !str_eq(str_trim(buf_str(&sources->text)), STR("Discharging")) ||
        read_number(&battery->level, &sources->text, &level) < 0 ||
        (battery->is_charge && read_number(&battery->voltage, &sources->text, &uv) < 0))
        return battery->prev;
    battery->prev = some_u64(level);
    if (!prev.has)
        return prev;
    bool is_large = __builtin_mul_overflow(counter_delta(level, prev.v), secs_per_hour, &uj) ||
                    (battery->is_charge && __builtin_mul_overflow(uj, uv, &uj));
    return is_large ? (struct opt_u64){0} : some_u64(battery->is_charge ? uj / uv_per_volt : uj);
}

/* A counter that cannot be read makes its domain unknown, as far as this source goes. */
__attribute__((cold)) static int add_counter(struct energy_sources *sources, const char *path,
    enum energy_domain domain, const char *key, uint64_t range_uj, struct err *err)
{
    if (sources->count == ENERGY_COUNTERS_MAX)
        return -E2BIG;
    struct energy_counter *counter = &sources->counters[sources->count];
    *counter = (struct energy_counter){.domain = domain, .range_uj = range_uj};
    (void)str_copy(str_of(key), counter->key, sizeof(counter->key));
    kept_file_init(&counter->file, sources->root->sys_fd, path, FILE_SINGLE);
    int r = energy_counter_read(sources, counter, 0);
    if (r < 0) {
        kept_file_fini(&counter->file);
        return r == -ENOENT || err->code != 0 ? r : energy_counter_fail(sources, counter, r, err);
    }
    sources->count++;
    return 0;
}

__attribute__((cold)) static void drop_domain(struct energy_sources *sources, enum energy_domain domain)
{
    size_t kept = 0;
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->counters[i].domain != domain)
            sources->counters[kept++] = sources->counters[i];
        else
            kept_file_fini(&sources->counters[i].file);
    }
    sources->count = kept;
}

__attribute__((cold)) static bool has_counter(
    const struct energy_sources *sources, enum energy_domain domain, const char *key)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->counters[i].domain == domain && strcmp(sources->counters[i].key, key) == 0)
            return true;
    }
    return false;
}

/* What is looked for in a directory of sysfs. */
struct search {
    struct energy_sources *sources;
    struct err *err;
    int dir_fd;
    unsigned pass;
    uint64_t most; /* the highest number that a name has */
    int failures[ENERGY_DOMAINS];
};

/* What a source has found: the domains of which every counter can be read are its own. The next one may try. */
__attribute__((cold)) static void settle(struct search *search, const char *name)
{
    struct energy_sources *sources = search->sources;
    for (unsigned domain = 0; domain < ENERGY_DOMAINS; domain++) {
        if (!sources->names[domain] && search->failures[domain] < 0)
            drop_domain(sources, domain);
        search->failures[domain] = 0;
        for (size_t i = 0; i < sources->count && !sources->names[domain]; i++) {
            if (sources->counters[i].domain == domain)
                sources->names[domain] = name;
        }
    }
}

/* Every name in it, as often as there are passes. */
__attribute__((cold)) static void search_directory(
    struct search *search, const char *path, unsigned passes, void (*visit)(struct search *, const char *))
{
    AUTO_FD int dir_fd = file_open_at(search->sources->root->sys_fd, path, O_RDONLY | O_DIRECTORY);
    struct dir_walk walk;
    struct dir_entry entry;
    search->dir_fd = dir_fd;
    dir_walk_begin(&walk, dir_fd);
    for (search->pass = 0; dir_fd >= 0 && search->pass < passes; search->pass++) {
        if (search->pass > 0)
            dir_walk_again(&walk, dir_fd);
        while (dir_walk_next(&walk, &entry))
            visit(search, entry.name);
    }
}

/* A fact of a few bytes: DIRECTORY/NAME/fact. Returns its length, or a negative errno. */
__attribute__((cold)) static int read_fact(
    const struct search *search, const char *name, size_t length, const char *fact, char value[ENERGY_KEY_BYTES])
{
    char path[96];
    (void)snprintf(path, sizeof(path), "%.*s/%s", (int)length, name, fact);
    return file_read_line_at(search->dir_fd, path, value, ENERGY_KEY_BYTES);
}

/* zone: "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it or its memory. */
__attribute__((cold)) static void add_zone(struct search *search, const char *zone)
{
    char path[96], name[ENERGY_KEY_BYTES], key[ENERGY_KEY_BYTES], range[ENERGY_KEY_BYTES];
    const char *first = strchr(zone, ':'), *last = strrchr(zone, ':');
    enum energy_domain domain;
    uint64_t range_uj = 0;
    if (!first || (strstr(zone, "-mmio") != NULL) != search->pass ||
        read_fact(search, zone, strlen(zone), "name", name) < 0 || !energy_rapl_domain(str_of(name), &domain))
        return;
    memcpy(key, name, sizeof(key));
    if ((last > first && read_fact(search, zone, (size_t)(last - zone), "name", key) < 0) ||
        has_counter(search->sources, domain, key))
        return;
    if (read_fact(search, zone, strlen(zone), "max_energy_range_uj", range) > 0)
        (void)num_parse_u64(str_of(range), &range_uj);
    (void)snprintf(path, sizeof(path), POWERCAP "/%s/energy_uj", zone);
    int r = add_counter(search->sources, path, domain, key, range_uj, search->err);
    if (r < 0)
        search->failures[domain] = r;
}

__attribute__((cold)) static void note_sensor(struct search *search, const char *name)
{
    const struct str prefix = STR("energy");
    struct str rest = str_of(name);
    uint64_t number;
    if (!str_starts(rest, prefix))
        return;
    str_skip(&rest, prefix.n);
    if (num_next_u64(&rest, &number) && str_eq(rest, STR("_label")) && number > search->most)
        search->most = number;
}

/* Sockets have the last numbers, behind hundreds of cores. */
__attribute__((cold)) static void add_sensors(struct search *search, const char *device)
{
    char path[96], text[ENERGY_KEY_BYTES];
    struct search inside = {.sources = search->sources};
    int *failure = &search->failures[ENERGY_PACKAGE];
    size_t length = strlen(device);
    if (read_fact(search, device, length, "name", text) < 0 || !str_is_listed(text, "amd_energy zenergy"))
        return;
    (void)snprintf(path, sizeof(path), HWMON "/%s", device);
    search_directory(&inside, path, 1, note_sensor);
    for (uint64_t i = inside.most; i > 0 && *failure == 0; i--) {
        (void)snprintf(path, sizeof(path), "energy%" PRIu64 "_label", i);
        if (read_fact(search, device, length, path, text) < 0 || !str_starts(str_of(text), STR("Esocket")))
            return;
        (void)snprintf(path, sizeof(path), HWMON "/%s/energy%" PRIu64 "_input", device, i);
        *failure = add_counter(search->sources, path, ENERGY_PACKAGE, text, 0, search->err);
    }
}

__attribute__((cold)) static void find_cray(struct search *search)
{
    static const char files[ENERGY_DOMAINS][32] = {CRAY "/cpu_energy", CRAY "/memory_energy", CRAY "/energy"};
    for (unsigned domain = 0; domain < ENERGY_DOMAINS; domain++) {
        if (!search->sources->names[domain])
            search->failures[domain] = add_counter(search->sources, files[domain], domain, "", 0, search->err);
    }
}

__attribute__((cold)) static void init_battery_file(
    const struct energy_sources *sources, struct kept_file *file, const char *battery, const char *name)
{
    char path[96];
    (void)snprintf(path, sizeof(path), POWER_SUPPLY "/%s/%s", battery, name);
    kept_file_init(file, sources->root->sys_fd, path, FILE_SINGLE);
}

__attribute__((cold)) static void add_battery(struct search *search, const char *name)
{
    struct energy_sources *sources = search->sources;
    struct energy_battery *battery = &sources->batteries[sources->battery_count];
    if (!str_starts(str_of(name), STR("BAT")) || sources->battery_count == ENERGY_BATTERIES_MAX)
        return;
    init_battery_file(sources, &battery->status, name, "status");
    init_battery_file(sources, &battery->voltage, name, "voltage_now");
    init_battery_file(sources, &battery->level, name, "energy_now");
    battery->is_charge = faccessat(sources->root->sys_fd, battery->level.path, R_OK, 0) < 0;
    if (battery->is_charge)
        init_battery_file(sources, &battery->level, name, "charge_now");
    if (faccessat(sources->root->sys_fd, battery->level.path, R_OK, 0) < 0)
        return;
    sources->battery_count++;
    sources->names[ENERGY_PLATFORM] = "battery";
}

__attribute__((cold)) int energy_sources_open(
    struct energy_sources *sources, const struct collect_env *env, struct err *err)
{
    struct search search = {.sources = sources, .err = err};
    sources->root = env->root;
    buf_init(&sources->text, ENERGY_TEXT_BYTES_MAX);
    search_directory(&search, POWERCAP, 2, add_zone);
    settle(&search, "rapl");
    if (!sources->names[ENERGY_PACKAGE]) {
        search_directory(&search, HWMON, 1, add_sensors);
        settle(&search, "hwmon");
    }
    find_cray(&search);
    settle(&search, "cray");
    if (!sources->names[ENERGY_PLATFORM])
        search_directory(&search, POWER_SUPPLY, 1, add_battery);
    int64_t now_ns = clock_read(env->clock, CLOCK_KIND_MONOTONIC);
    for (size_t i = 0; i < sources->count; i++)
        sources->counters[i].prev_ns = now_ns;
    const char *const *names = sources->names;
    return names[ENERGY_PACKAGE] || names[ENERGY_DRAM] || names[ENERGY_PLATFORM] ? 0 : -ENODATA;
}

__attribute__((cold)) void energy_sources_close(struct energy_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        kept_file_fini(&sources->counters[i].file);
    for (size_t i = 0; i < sources->battery_count; i++) {
        kept_file_fini(&sources->batteries[i].level);
        kept_file_fini(&sources->batteries[i].status);
        kept_file_fini(&sources->batteries[i].voltage);
    }
    buf_fini(&sources->text);
}
