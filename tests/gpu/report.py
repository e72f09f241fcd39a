# SPDX-License-Identifier: Apache-2.0
"""The verdicts of a run: fields that are compared (a table per part), single checks, and notes without a verdict."""

import json
import statistics

HEAD = ("field", "samples", "ours", "nvidia-smi", "mean diff", "largest", "verdict")
# What is held against the limit: the mean difference, the same as a share of nvidia-smi's mean, or the largest one.
MEAN, MEAN_PCT, LARGEST = "mean", "mean %", "largest"


def figure(value):
    # Adding 0 turns -0.0 into 0.0.
    return "-" if value is None else f"{round(value, 2) + 0:.2f}"


def compare_pairs(pairs, rule, limit):
    """Compares pairs of (ours, nvidia-smi's). A value that only it has is a failure, one that it lacks is not."""
    reported = [(ours, theirs) for ours, theirs in pairs if theirs is not None]
    both = [(ours, theirs) for ours, theirs in reported if ours is not None]
    row = {"samples": len(both), "missing": len(reported) - len(both), "rule": rule, "limit": limit, "ours": None,
           "nvidia-smi": None, "mean_difference": None, "largest_difference": None}
    if not pairs:
        return {**row, "passed": False, "verdict": "FAIL, no samples"}
    if not reported:
        return {**row, "passed": None, "verdict": "not compared, nvidia-smi has none"}
    if not both:
        theirs = statistics.fmean(theirs for _, theirs in reported)
        return {**row, "nvidia-smi": theirs, "passed": False, "verdict": "FAIL, always null"}
    ours, theirs = (statistics.fmean(values) for values in zip(*both))
    largest = max((one - other for one, other in both), key=abs)
    row.update({"ours": ours, "nvidia-smi": theirs, "mean_difference": ours - theirs, "largest_difference": largest})
    # Without the last bits of binary fractions, which are no difference.
    off = {MEAN: round(abs(ours - theirs), 9), LARGEST: round(abs(largest), 9),
           MEAN_PCT: 0.0 if ours == theirs else 100 * abs(ours - theirs) / theirs if theirs else float("inf")}[rule]
    row["passed"] = off <= limit and not row["missing"]
    verdict = f"{'pass' if row['passed'] else 'FAIL'}, {rule} <= {limit:g}"
    return {**row, "verdict": verdict + (f", {row['missing']} null" if row["missing"] else "")}


class Report:
    """What was found, by part; show() prints a part once it is over."""

    def __init__(self):
        self.parts = {}
        self.part = None

    def begin(self, name):
        self.part = self.parts.setdefault(name, {"rows": [], "checks": [], "notes": []})
        print(f"== {name}", flush=True)

    def compare(self, field, pairs, rule, limit):
        self.part["rows"].append({"field": field, **compare_pairs(pairs, rule, limit)})

    def check(self, passed, text):
        self.part["checks"].append({"passed": bool(passed), "text": text})

    def note(self, text):
        self.part["notes"].append(text)

    def show(self):
        rows = [(row["field"], str(row["samples"]), figure(row["ours"]), figure(row["nvidia-smi"]),
                 figure(row["mean_difference"]), figure(row["largest_difference"]), row["verdict"])
                for row in self.part["rows"]]
        if rows:
            widths = [max(len(row[column]) for row in (HEAD, *rows)) for column in range(len(HEAD))]
            for row in (HEAD, *rows):
                cells = [cell.ljust(width) if column in (0, len(HEAD) - 1) else cell.rjust(width)
                         for column, (cell, width) in enumerate(zip(row, widths))]
                print("  ".join(cells).rstrip())
        for check in self.part["checks"]:
            print(f"{'pass' if check['passed'] else 'FAIL'}: {check['text']}")
        for text in self.part["notes"]:
            print(f"note: {text}")
        print(flush=True)

    def count(self, passed):
        return sum(entry["passed"] is passed for part in self.parts.values() for entry in part["rows"] + part["checks"])

    def finish(self, path):
        """Prints the last line, writes the file where one is wanted, returns the exit status."""
        passed, failed = self.count(True), self.count(False)
        if path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"passed": passed, "failed": failed, "parts": self.parts}, file, indent=1, allow_nan=False)
                file.write("\n")
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0
