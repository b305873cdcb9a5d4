"""What the DAGs and pools that are not written down anywhere else are called."""

from strandline.sources.source import Source

WATCH = "watch__freshness"
REFUSED = "_refused_files"  # its task for what is no source; the names of sources begin otherwise
POOLS = "strandline__"


def pool_name(source: Source) -> str:
    """The pool of one slot that everything which writes a source's histories shares."""
    return f"{POOLS}{source.name}"
