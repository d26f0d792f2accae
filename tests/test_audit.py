"""What ``make audit`` makes of an answer of pip-audit."""

import importlib.util
import json
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("audit", Path(__file__).parents[1] / "scripts" / "audit.py")
audit = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audit)
FINE = {"name": "numpy", "version": "2.0", "vulns": []}
UNKNOWN = {"name": "torch", "skip_reason": "not found"}
BROKEN = {"name": "lxml", "version": "1.0", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"]}]}


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([FINE], 0, "0 vulnerabilities in 1 packages."),
        ([FINE, UNKNOWN], 0, "1 are unknown to the service"),
        ([UNKNOWN], 0, "NOTICE: not audited"),
        ([FINE, BROKEN], 1, "lxml 1.0: PYSEC-1, fixed in 1.1"),
    ],
)
def test_findings_fail_and_silence_is_told(packages, code, words):
    got, told = audit.judge(json.dumps({"dependencies": packages, "fixes": []}), "", bool(code))
    assert got == code and words in told


def test_a_finding_that_is_explained_passes(monkeypatch):
    monkeypatch.setitem(audit.IGNORED, "CVE-1", "not called")
    assert audit.judge(json.dumps({"dependencies": [BROKEN]}), "", 1)[0] == 0


def test_no_network_is_no_failure_and_another_failure_is():
    assert audit.judge("", "requests.exceptions.ConnectionError: api", 1) == (
        0, "NOTICE: not audited, since the vulnerability service did not answer."
    )  # fmt: skip
    assert audit.judge("", "No module named pip_audit", 1) == (1, "No module named pip_audit")
