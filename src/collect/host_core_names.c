/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the numbers of Arm's main ID register: implementers are in the Arm Architecture Reference Manual
 * (MIDR_EL1), parts in the technical reference manual of each core.
 */
#include <stdio.h>

#include "collect/host_parts.h"

static const struct {
    uint16_t implementer, part;
    const char *name;
} cores[] = {
    {0x41, 0xb76, "ARM ARM1176"},
    {0x41, 0xc05, "ARM Cortex-A5"},
    {0x41, 0xc07, "ARM Cortex-A7"},
    {0x41, 0xc08, "ARM Cortex-A8"},
    {0x41, 0xc09, "ARM Cortex-A9"},
    {0x41, 0xc0d, "ARM Cortex-A12"},
    {0x41, 0xc0e, "ARM Cortex-A17"},
    {0x41, 0xc0f, "ARM Cortex-A15"},
    {0x41, 0xd01, "ARM Cortex-A32"},
    {0x41, 0xd02, "ARM Cortex-A34"},
    {0x41, 0xd03, "ARM Cortex-A53"},
    {0x41, 0xd04, "ARM Cortex-A35"},
    {0x41, 0xd05, "ARM Cortex-A55"},
    {0x41, 0xd06, "ARM Cortex-A65"},
    {0x41, 0xd07, "ARM Cortex-A57"},
    {0x41, 0xd08, "ARM Cortex-A72"},
    {0x41, 0xd09, "ARM Cortex-A73"},
    {0x41, 0xd0a, "ARM Cortex-A75"},
    {0x41, 0xd0b, "ARM Cortex-A76"},
    {0x41, 0xd0c, "ARM Neoverse-N1"},
    {0x41, 0xd0d, "ARM Cortex-A77"},
    {0x41, 0xd0e, "ARM Cortex-A76AE"},
    {0x41, 0xd40, "ARM Neoverse-V1"},
    {0x41, 0xd41, "ARM Cortex-A78"},
    {0x41, 0xd42, "ARM Cortex-A78AE"},
    {0x41, 0xd43, "ARM Cortex-A65AE"},
    {0x41, 0xd44, "ARM Cortex-X1"},
    {0x41, 0xd46, "ARM Cortex-A510"},
    {0x41, 0xd47, "ARM Cortex-A710"},
    {0x41, 0xd48, "ARM Cortex-X2"},
    {0x41, 0xd49, "ARM Neoverse-N2"},
    {0x41, 0xd4a, "ARM Neoverse-E1"},
    {0x41, 0xd4b, "ARM Cortex-A78C"},
    {0x41, 0xd4c, "ARM Cortex-X1C"},
    {0x41, 0xd4d, "ARM Cortex-A715"},
    {0x41, 0xd4e, "ARM Cortex-X3"},
    {0x41, 0xd4f, "ARM Neoverse-V2"},
    {0x41, 0xd80, "ARM Cortex-A520"},
    {0x41, 0xd81, "ARM Cortex-A720"},
    {0x41, 0xd82, "ARM Cortex-X4"},
    {0x41, 0xd83, "ARM Neoverse-V3AE"},
    {0x41, 0xd84, "ARM Neoverse-V3"},
    {0x41, 0xd85, "ARM Cortex-X925"},
    {0x41, 0xd87, "ARM Cortex-A725"},
    {0x41, 0xd8e, "ARM Neoverse-N3"},
    {0x42, 0x516, "Broadcom ThunderX2"},
    {0x43, 0x0a1, "Cavium ThunderX"},
    {0x43, 0x0af, "Cavium ThunderX2"},
    {0x46, 0x001, "Fujitsu A64FX"},
    {0x48, 0xd01, "HiSilicon TaiShan-V110"},
    {0x48, 0xd02, "HiSilicon TaiShan-V120"},
    {0x4e, 0x003, "NVIDIA Denver 2"},
    {0x4e, 0x004, "NVIDIA Carmel"},
    {0x4e, 0x010, "NVIDIA Olympus"},
    {0x50, 0x000, "APM X-Gene"},
    {0x51, 0x001, "Qualcomm Oryon"},
    {0x51, 0xc00, "Qualcomm Falkor"},
    {0x61, 0x022, "Apple M1 Icestorm"},
    {0x61, 0x023, "Apple M1 Firestorm"},
    {0x61, 0x024, "Apple M1 Pro Icestorm"},
    {0x61, 0x025, "Apple M1 Pro Firestorm"},
    {0x61, 0x028, "Apple M1 Max Icestorm"},
    {0x61, 0x029, "Apple M1 Max Firestorm"},
    {0x61, 0x032, "Apple M2 Blizzard"},
    {0x61, 0x033, "Apple M2 Avalanche"},
    {0x6d, 0xd49, "Microsoft Azure Cobalt 100"},
    {0x70, 0x662, "Phytium FTC662"},
    {0x70, 0x663, "Phytium FTC663"},
    {0xc0, 0xac3, "Ampere AmpereOne"},
    {0xc0, 0xac4, "Ampere AmpereOne A"},
};

static const struct {
    uint16_t implementer;
    const char *name;
} makers[] = {
    {0x41, "ARM"},
    {0x42, "Broadcom"},
    {0x43, "Cavium"},
    {0x46, "Fujitsu"},
    {0x48, "HiSilicon"},
    {0x4e, "NVIDIA"},
    {0x50, "APM"},
    {0x51, "Qualcomm"},
    {0x53, "Samsung"},
    {0x56, "Marvell"},
    {0x61, "Apple"},
    {0x6d, "Microsoft"},
    {0x70, "Phytium"},
    {0xc0, "Ampere"},
};

void host_name_core(struct cpuinfo_core core, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
        if (cores[i].implementer == core.implementer && cores[i].part == core.part) {
            (void)str_copy(str_of(cores[i].name), out, size);
            return;
        }
    }
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        if (makers[i].implementer == core.implementer)
            (void)snprintf(out, size, "%s part 0x%03x", makers[i].name, (unsigned)core.part);
    }
}
