/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/summary.h"

#define FIELDS "summary/fields.h"
#include "model/field_rows.h"
