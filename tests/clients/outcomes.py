"""pytest plugin: writes the outcome of each test to the file $OUTCOMES, one line per test with what it recorded,
sorted, and the path of every libnvJitLink that the process has mapped to $OUTCOMES.mapped."""

import os

_outcomes = {}
_recorded = {}


def pytest_runtest_logreport(report):
    _recorded[report.nodeid] = report.user_properties
    # A test has up to three reports; a failure of any of them is its outcome, then a skip.
    known = _outcomes.get(report.nodeid, "passed")
    if report.failed or known == "failed":
        _outcomes[report.nodeid] = "failed"
    elif report.skipped or known == "skipped":
        _outcomes[report.nodeid] = "skipped"
    else:
        _outcomes[report.nodeid] = "passed"


def pytest_sessionfinish():
    path = os.environ["OUTCOMES"]
    with open(path, "w") as file:
        for test, outcome in sorted(_outcomes.items()):
            recorded = "".join(f" {name}={value!r}" for name, value in _recorded[test])
            file.write(f"{outcome} {test}{recorded}\n")
    with open("/proc/self/maps") as maps, open(path + ".mapped", "w") as file:
        mapped = {line.split(maxsplit=5)[5].strip() for line in maps if "libnvJitLink" in line}
        file.writelines(sorted(f"{name}\n" for name in mapped))
