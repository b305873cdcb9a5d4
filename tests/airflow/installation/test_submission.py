"""The operator that the source file names: made as written, and told the manifest."""

import pytest
from airflow.providers.apache.livy.operators.livy import LivyOperator
from strandline_airflow.submission.operators import StrandlineSparkOperator
from strandline_airflow.submission.submission import submission

from strandline.errors import SpecError
from strandline.sources import source as source_file

LIVY = "airflow.providers.apache.livy.operators.livy.LivyOperator"
MANIFEST = "{{ ti.xcom_pull(task_ids='plan') }}"


@pytest.fixture
def submitted(source_path):
    """The task of a source file whose `[spark]` is this."""

    def submitted(spark):
        source_path.write_text(f"{source_path.read_text()}[spark]\n{spark}\n")
        return submission(source_file.load(source_path), "compact", "strandline__shop")

    return submitted


def test_without_a_word_it_is_spark_submit(submitted):
    task = submitted("")
    assert type(task) is StrandlineSparkOperator
    assert task.pool == "strandline__shop"


def test_an_operator_is_made_with_its_arguments_in_the_pool_of_the_source(submitted):
    task = submitted(
        f'operator = "{LIVY}"\n[spark.arguments]\nfile = "s3a://code/compact.py"\n'
        'args = ["--manifest", "{{ manifest }}"]\nconf = {"spark.executor.memory" = "4g"}'
    )
    assert type(task) is LivyOperator
    assert (task.task_id, task.pool) == ("compact", "strandline__shop")
    assert task.spark_params["args"] == ["--manifest", MANIFEST]
    assert task.spark_params["conf"] == {"spark.executor.memory": "4g"}


@pytest.mark.parametrize(
    ("section", "what"),
    [
        ('operator = "nowhere.Operator"', "nowhere.Operator cannot be imported.*install its prov"),
        ('operator = "pathlib.Path"', "'operator' pathlib.Path is no operator of Airflow"),
        (
            f'operator = "{LIVY}"\narguments = {{file = "x", fil = "secret"}}',
            r"refuses its 'arguments' \(file, fil\) with .*it takes file, class_name",
        ),
        (
            f'operator = "{LIVY}"\narguments = {{file = "x", pool = "own"}}',
            "task_id and pool are given",
        ),
        (
            f'operator = "{LIVY}"\narguments = {{file = "x"}}',
            r"must hand on '\{\{ manifest \}\}' to compact.py.*fills in spark_params",
        ),
        (
            f'operator = "{LIVY}"\narguments = {{file = "x", livy_conn_id = "{{{{ manifest }}}}"}}',
            "must hand on",
        ),
    ],
)
def test_an_operator_that_would_not_do_is_refused(submitted, section, what):
    with pytest.raises(SpecError, match=rf"(?s)^shop.toml: \[spark\].*{what}") as refused:
        submitted(section)
    assert "secret" not in str(refused.value)
