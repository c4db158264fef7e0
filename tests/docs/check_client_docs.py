#!/usr/bin/env python3
"""Every call of Client stands in docs/client.md, and every test that the page names exists. Usage: check_client_docs.py ROOT"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
page = (root / "docs/client.md").read_text()
header = (root / "core/include/muster/client.hpp").read_text()

tests = set()
for source in (root / "tests").rglob("*.cpp"):
    for suite, name in re.findall(r"\bTEST(?:_[FP])?\((\w+),\s*(\w+)\)", source.read_text()):
        tests.add(f"{suite}.{name}")
for listing in (root / "tests").rglob("CMakeLists.txt"):
    tests.update(f"exit.{case}" for case in re.findall(r"exit_test\((\w+)", listing.read_text()))

faults = []
rows = [line for line in page.splitlines() if line.startswith("| `")]
for row in rows:
    if not re.search(r"`\w+\.\w+`", row.rsplit("|", 2)[1]):
        faults.append(f"no test is named in the row: {row[:80]}")
for name in re.findall(r"`([A-Za-z]\w*\.\w+)`", page):
    if not name.endswith((".hpp", ".md")) and name not in tests:
        faults.append(f"there is no test {name}")

declared = header[header.index("class Client {"):header.index(" private:\n  /// An allocation mode")]
declared = re.sub(r"//.*", "", declared)
calls = set(re.findall(r"\b([a-z_]+)(?:<[^>]*>)?\([^;{]*\)\s*(?:const|noexcept|;|\{)", declared))
calls -= {"get", "forward", "move", "profile_end_get", "minutes", "is_void_v", "decltype", "copy_of", "make_device_task"}
calls -= {"use", "window", "resource_of", "after", "fn", "data", "size", "logged", "value", "never"}
for call in sorted(calls):
    if not re.search(rf"`[^`]*\b{call}\b(?:<R>)?\(", page):
        faults.append(f"Client::{call} is not in docs/client.md")

for fault in faults:
    print(fault)
print(f"{len(rows)} rows, {len(calls)} calls, {len(faults)} faults")
sys.exit(1 if faults or not rows or len(calls) < 50 else 0)
