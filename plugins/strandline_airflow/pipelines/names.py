"""What the DAGs and pools that are not written down anywhere else are called."""

from strandline.sources.source import Source

WATCH = "watch__freshness"
REFUSED = "refused-files"  # its task for source files that are not right; no source is called so
POOLS = "strandline__"


def pool_name(source: Source) -> str:
    """The pool of one slot that everything which writes a source's histories shares."""
    return f"{POOLS}{source.name}"
