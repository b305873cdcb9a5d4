"""Where things are in Airflow: the page, below its prefix, and its views."""

from urllib.parse import urlencode

from strandline_airflow.notifiers import address

PREFIX = "/strandline"


def overview() -> str:
    """The address of the page."""
    return address(f"{PREFIX.removeprefix('/')}/")


def page_of(source: str, table: str = "") -> str:
    """The address of the page about a source or one of its tables."""
    query = urlencode({"source": source, **({"table": table} if table else {})})
    return address(f"{PREFIX.removeprefix('/')}/{'table' if table else 'source'}?{query}")
