/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/encode.h"

const struct encoder *encoder_find(enum encode_format format, enum encode_columns columns, bool has_process)
{
#define FUNCTION(constant, word, stem) [FORMAT_##constant] = stem##_encoder,
    static const struct encoder *(*const functions[FORMAT_COUNT])(enum encode_columns, bool) = {
        ENCODE_FORMATS(FUNCTION)};
    return functions[format](columns, has_process);
}
