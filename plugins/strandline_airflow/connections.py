"""Airflow connections that sections of a source file name."""

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from strandline.errors import Terminal


def named(name: str, section: str, options: str) -> Connection:
    """The connection; `Terminal` where there is none.

    `options` are what creates one: those of `airflow connections add` behind its name.
    """
    try:
        found: Connection = BaseHook.get_connection(name)
    except AirflowNotFoundException as error:
        raise Terminal(
            f"there is no Airflow connection '{name}', which {section} names: create it: airflow "
            f"connections add {name} {options}, or set the variable AIRFLOW_CONN_{name.upper()}"
        ) from error
    return found
