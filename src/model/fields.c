/* SPDX-License-Identifier: Apache-2.0 */
#define FIELDS "model/fields.h"
#include "model/field_rows.h"
