"""Why a cell is no value of its column."""


class UnfitError(ValueError):
    """The cell is no value of its column's type."""


class UnheldError(ValueError):
    """The cell is a value of its type, and the history column cannot hold it."""
