# SPDX-License-Identifier: Apache-2.0
"""The modules that end-to-end tests share. `import lib` makes them and the fake servers of tests/fake importable by
their names, however a test file is started."""

import pathlib
import sys

_HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(_HERE), str(_HERE.parents[1] / "fake")]
