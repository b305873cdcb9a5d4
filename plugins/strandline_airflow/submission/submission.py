"""How a manifest gets to Spark: by `spark-submit`, or by the operator that the source file names.

An operator by import path is any that submits an application and waits for its end. Where its
arguments say `{{ manifest }}` they get the manifest's URI when the task runs.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.module_loading import import_string

from strandline.errors import SpecError
from strandline.sources.component import Component
from strandline.sources.source import Source
from strandline_airflow.application import APPLICATION
from strandline_airflow.submission.operators import StrandlineSparkOperator

_MANIFEST = "{{ ti.xcom_pull(task_ids='plan') }}"
_SHORT = re.compile(r"\{\{\s*manifest\s*\}\}")
_UNNAMED = ("self", "args", "kwargs")


def submission(source: Source, task_id: str, pool: str) -> BaseOperator:
    """The task that has Spark work off the manifest of the task `plan`.

    Raises `SpecError` where the operator that the source file names cannot be made, or would not
    be told the manifest.
    """
    if source.spark_operator is None:
        return StrandlineSparkOperator(
            task_id=task_id,
            source=source,
            app=APPLICATION,
            application_args=["--manifest", _MANIFEST],
            pool=pool,
        )
    where = f"{source.name}.toml: [spark]"
    made = _made(source.spark_operator, where, {"task_id": task_id, "pool": pool})
    rendered = (getattr(made, name, None) for name in made.template_fields)
    if not any(_MANIFEST in text for value in rendered for text in _texts(value)):
        raise SpecError(
            f"{where}: 'arguments' must hand on '{{{{ manifest }}}}' to {APPLICATION}, in one that "
            f"{source.spark_operator.path} fills in; it fills in {', '.join(made.template_fields)}"
        )
    return made


def _made(operator: Component, where: str, own: Mapping[str, Any]) -> BaseOperator:
    try:
        kind = import_string(operator.path)
    except Exception as error:  # what a module does when it is imported is its own affair
        raise SpecError(
            f"{where}: 'operator' {operator.path} cannot be imported ({error}): install its "
            "provider in every component of Airflow, or correct the path"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, BaseOperator)):
        raise SpecError(f"{where}: 'operator' {operator.path} is no operator of Airflow")
    arguments = {name: _with_manifest(value) for name, value in operator.arguments.items()}
    try:
        return kind(**arguments, **own)
    except Exception as error:  # noqa: BLE001 - its text may repeat a secret
        known = inspect.signature(kind.__init__).parameters
        names = ", ".join(operator.arguments) or "none"
        raise SpecError(
            f"{where}: {operator.path} refuses its 'arguments' ({names}) with "
            f"{type(error).__name__}; task_id and pool are given, and it takes "
            f"{', '.join(name for name in known if name not in _UNNAMED)}"
        ) from None


def _with_manifest(value: Any) -> Any:
    match value:
        case str():
            return _SHORT.sub(lambda _: _MANIFEST, value)
        case list():
            return [_with_manifest(each) for each in value]
        case dict():
            return {name: _with_manifest(each) for name, each in value.items()}
        case _:
            return value


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for each in value:
                yield from _texts(each)
        case dict():
            yield from _texts(list(value.values()))
