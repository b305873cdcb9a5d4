"""The errors of the project. Whether a retry can help is part of an error's type."""


class StrandlineError(Exception):
    """Base of every error that Strandline raises on purpose; its text says what to do."""


class Terminal(StrandlineError):
    """Retrying cannot help: somebody has to change something first, and the text says what."""


class BeyondAloneError(Terminal):
    """A table is one that cannot be done in one process without Spark, and Spark can."""


class Transient(StrandlineError):
    """The same call may succeed later: Airflow retries it."""


class SpecError(Terminal):
    """A source file, or a capture given on the command line, is not what it has to be."""


class AuditError(Terminal):
    """A batch would break a law (README.md, "The law"); its table is not committed."""


class UndecodableError(StrandlineError):
    """One record cannot be read; it goes to quarantine with `reason` and `detail`.

    `reason` is a short stable word for grouping, `detail` a sentence for a person.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class UnknownSchemaError(UndecodableError):
    """The record names its schema by one of these `ids`, of which nobody knows any yet."""

    def __init__(self, ids: tuple[str, ...], detail: str) -> None:
        super().__init__("unknown_schema", detail)
        self.ids = ids
