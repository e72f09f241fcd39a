/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/collect.h"

#include <errno.h>

int collect_fail(struct err *err, int r, const char *module, const struct sysroot *root, const char *path)
{
    if (r == -EBADMSG || r == -EINVAL)
        return err_set(err, r, "%s: %s/%s is cut or broken", module, root->path, path);
    return err_sys(err, r, "%s: cannot read %s/%s", module, root->path, path);
}
