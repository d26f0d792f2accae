"""By which names a server may be asked: a page in a browser can let a name of its own lead to this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_known(host: str | None, names: frozenset[str] | None) -> bool:
    """Tell whether a request is for this server.

    Args:
        host: The header ``Host``, if there is one; a browser always sends it.
        names: Names beside those of this machine; None if any will do.
    """
    if names is None or host is None:
        return True
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name in names or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
