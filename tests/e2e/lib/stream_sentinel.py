# SPDX-License-Identifier: Apache-2.0
"""What the tests of streaming to Sentinel have in common: grace times, the words at the end, short runs with all steps.
"""

import concurrent.futures
import functools
import gzip
import itertools

import tap
from stream_scenario import PATIENCE, Plan
from tap import diag, equal, expect
from tracker import SLOW

# With a server that takes no inline data, and with keys that expire soon, even a short run has all four steps.
NO_FORMS = frozenset()
SOON_SECS = 100
STEPS = ("register", "refresh", "upload", "finish")
# Only an upper bound, for what ends by itself; and one for what never would.
LONG_GRACE = {"TRACKER_GRACE": 10 * PATIENCE}
SHORT_GRACE_SECS = 3 if SLOW else 0.9
SHORT_GRACE = {"TRACKER_GRACE": SHORT_GRACE_SECS}
AT_ONCE = 12
LIMIT_SECS = 60 * PATIENCE
LATER = "resource-tracker --upload-spool"
NOT_ALL = "resource-tracker: warning: not everything was delivered: "
test = functools.partial(tap.test, limit=LIMIT_SECS)
add = functools.partial(tap.add, limit=LIMIT_SECS)


def for_all(function, rows):
    """Calls function(*row) for all rows, some at a time; fails with the words of all that fail."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [(row, pool.submit(function, *row)) for row in rows]
    failed = [(row, job.exception()) for row, job in jobs if job.exception()]
    for row, error in failed:
        diag(f"{' '.join(map(str, row))}: {type(error).__name__}: {str(error)[:1500]}")
    equal(len(failed), 0, "failures")


def plan_for(fault, step, forms, is_always):
    """Uploaded data is finished behind one inline call, which was refused."""
    before = [None] if step == "finish" and not forms else []
    return Plan(**{step: itertools.chain(before, itertools.repeat(fault) if is_always else [fault])})


def all_steps(scenario, env):
    """A short run that fails and needs every step of the protocol, unless inline data is taken."""
    scenario.api.lifetime_secs, scenario.api.region = SOON_SECS, "eu-central-1"
    return scenario.track("--", "sh", "-c", "exit 9", env={"TRACKER_SENTINEL_INLINE": "base64", **env})


def check_objects(scenario, at_least):
    """Whole CSVs of one header, numbered from 0, each sent once, and named by finish in order."""
    keys = list(scenario.objects())
    expect(len(keys) >= at_least, f"{len(keys)} objects, want {at_least}")
    equal(keys, [f"prefix/x/run-1/{number:06d}.csv.gz" for number in range(len(keys))], "keys")
    equal(scenario.finished()["data_source"], "s3", "data_source")
    equal(scenario.finished()["data_uris"], [f"s3://bucket/{key}" for key in keys], "data_uris")
    equal([put[1] for put in scenario.s3.puts], keys, "uploads, in order")
    equal({put[3] for put in scenario.s3.puts}, {"application/gzip"}, "content types")
    header = scenario.csv.read_bytes().split(b"\n")[0]
    for key, data in scenario.objects().items():
        equal(gzip.decompress(data).split(b"\n")[0], header, f"header of {key}")
    scenario.check_delivered()
