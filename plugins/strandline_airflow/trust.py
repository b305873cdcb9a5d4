"""Which certificates a connection trusts and shows: `ca`, `certificate` and `key` of its extra."""

import ssl
from collections.abc import Mapping
from typing import Any

from strandline.errors import Terminal


def context(name: str, extra: Mapping[str, Any]) -> ssl.SSLContext:
    """Whom to trust, and what to show; `Terminal` where a file of it cannot be read.

    `ca` is a file of certificates to trust, without it the system's own count. `certificate`, `key`
    and `key_password` are shown to a server that asks for one. Files are those of the worker.
    """
    try:
        made = ssl.create_default_context(cafile=extra.get("ca"))
        if extra.get("certificate"):
            made.load_cert_chain(
                extra["certificate"], extra.get("key"), extra.get("key_password") or ""
            )
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(str(extra[of]) for of in ("ca", "certificate", "key") if extra.get(of))
        raise Terminal(
            f"Airflow connection '{name}': a file that its extra names is no certificate, or "
            f"cannot be read on this worker ({files}): {error.strerror or error}"
        ) from error
    return made
