"""Ask whether the packages beside this Python have known vulnerabilities: 1 if one has, 0 if none or nobody knows.

``make audit`` runs it. Where the service cannot be reached, that is said and is no failure, so that a machine without a
network can run all else; what was not audited is counted, so that nobody takes silence for an answer.
"""

import json
import subprocess
import sys

IGNORED: dict[str, str] = {}
"""Findings that do not concern this package, by id, with the reason."""
COMMAND = [sys.executable, "-m", "pip_audit", "--local", "--skip-editable", "--progress-spinner", "off",
           "--timeout", "10", "--format", "json"]  # fmt: skip
_NO_SERVICE = ("ConnectionError", "Could not connect", "ServiceError", "Max retries", "Name or service not known")


def judge(output: str, errors: str, code: int) -> tuple[int, str]:
    """Return the exit code and what to print for a run of pip-audit."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        if any(sign in errors for sign in _NO_SERVICE):
            return 0, "NOTICE: not audited, since the vulnerability service did not answer."
        return code or 1, errors
    audited = [package for package in packages if "skip_reason" not in package]
    if not audited:
        return 0, f"NOTICE: not audited, since the vulnerability service knew none of {len(packages)} packages."
    found = [
        f"{package['name']} {package['version']}: {one['id']}, fixed in {', '.join(one['fix_versions']) or 'nothing'}"
        for package in audited
        for one in package["vulns"]
        if not {one["id"], *one.get("aliases", ())} & IGNORED.keys()
    ]
    skipped = f"; {len(packages) - len(audited)} are unknown to the service" if len(packages) > len(audited) else ""
    return bool(found), "\n".join([*found, f"{len(found)} vulnerabilities in {len(audited)} packages{skipped}."])


if __name__ == "__main__":
    ended = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    exit_code, words = judge(ended.stdout, ended.stderr, ended.returncode)
    print(words)
    sys.exit(exit_code)
