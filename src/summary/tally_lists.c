/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disks, network interfaces and GPUs of a sample as one number each. A device of which a value is unknown is left out;
 * where it is unknown of all, so is the number.
 */
#include "model/sample_lists.h"
#include "summary/tally_internal.h"

struct pair {
    struct opt_i64 first, second;
};

static int64_t sum_of(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void add_count(struct opt_i64 *sum, struct opt_u64 count)
{
    if (count.has)
        *sum = some_i64(sum_of(sum->v, count.v <= INT64_MAX ? (int64_t)count.v : INT64_MAX));
}

static void add_e4(struct opt_i64 *sum, struct opt_f64 value)
{
    struct opt_i64 e4 = shown_e4(value);
    if (e4.has)
        *sum = some_i64(sum_of(sum->v, e4.v));
}

static void tell(struct tally_run *run, unsigned meter, struct opt_i64 value, const struct tally_turn *turn)
{
    if (value.has)
        tally_meter_add(run, meter, value.v, turn);
}

static struct pair disk_bytes(const struct sample_list *list)
{
    const struct sample_disk *disks = list->items;
    struct pair bytes = {0};
    for (size_t i = 0; list->present && i < list->count; i++) {
        if (!sample_disk_counts(&disks[i]))
            continue;
        add_count(&bytes.first, disks[i].read_bytes_delta);
        add_count(&bytes.second, disks[i].write_bytes_delta);
    }
    return bytes;
}

static struct pair network_bytes(const struct sample_list *list)
{
    const struct sample_network *interfaces = list->items;
    bool have_hardware = sample_networks_have_hardware(list);
    struct pair bytes = {0};
    for (size_t i = 0; list->present && i < list->count; i++) {
        if (have_hardware && !sample_network_has_hardware(&interfaces[i]))
            continue;
        add_count(&bytes.first, interfaces[i].rx_bytes_delta);
        add_count(&bytes.second, interfaces[i].tx_bytes_delta);
    }
    return bytes;
}

static struct opt_i64 mib_e4(struct opt_i64 bytes)
{
    enum { MIB_BITS = 20 };
    if (!bytes.has)
        return bytes;
    int64_t rest = bytes.v & ((1 << MIB_BITS) - 1);
    return some_i64((bytes.v >> MIB_BITS) * SHOWN_E4 + ((rest * SHOWN_E4 + (1 << (MIB_BITS - 1))) >> MIB_BITS));
}

/* Watts in ten-thousandths over milliseconds as ten-thousandths of a joule. */
static struct opt_i64 energy_e4(struct opt_i64 power, uint64_t weight_ms)
{
    int64_t energy;
    if (power.has && __builtin_mul_overflow(power.v, (int64_t)weight_ms, &energy))
        energy = INT64_MAX;
    return power.has ? some_i64(energy / 1000) : power;
}

static void add_gpus(struct tally_run *run, const struct sample_list *list, const struct tally_turn *turn)
{
    const struct sample_gpu *gpus = list->items;
    if (!list->present || list->count == 0)
        return;
    struct opt_i64 busy_pct = {0}, power = {0}, used = {0}, total = {0};
    for (size_t i = 0; i < list->count; i++) {
        add_e4(&busy_pct, gpus[i].utilization_pct);
        add_e4(&power, gpus[i].power_watts);
        add_count(&used, gpus[i].vram_used_bytes);
        add_count(&total, gpus[i].vram_total_bytes);
    }
    struct opt_i64 busy = {busy_pct.has, busy_pct.v / 100 + (busy_pct.v % 100 >= 50)};
    tell(run, METER_GPUS, some_i64((int64_t)list->count), turn);
    tell(run, METER_GPU_HOST_USAGE, busy, turn);
    tell(run, METER_GPU_HOST_VRAM, mib_e4(used), turn);
    tell(run, METER_GPU_VRAM_TOTAL, mib_e4(total), turn);
    tell(run, METER_GPU_ENERGY, energy_e4(power, turn->weight_ms), turn);
}

void tally_lists_add(struct tally_run *run, const struct sample *sample, const struct tally_turn *turn)
{
    struct pair disk = disk_bytes(&sample->disk);
    tell(run, METER_HOST_READ, disk.first, turn);
    tell(run, METER_HOST_WRITTEN, disk.second, turn);
    struct pair network = network_bytes(&sample->network);
    tell(run, METER_HOST_RECEIVED, network.first, turn);
    tell(run, METER_HOST_SENT, network.second, turn);
    add_gpus(run, &sample->gpu, turn);
}
