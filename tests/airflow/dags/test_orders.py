"""The fields that forms share, and what becomes of what somebody writes into them."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from airflow.sdk import Param
from airflow.sdk.exceptions import AirflowSkipException, ParamValidationError
from airflow.sdk.execution_time.context import set_current_context
from strandline_airflow.forms import maintain, requeue
from strandline_airflow.runs import orders
from strandline_airflow.runs.manifests import Manifests

from strandline.errors import SpecError, Terminal, Transient

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
FIELDS = {"tables": Param([], type="array"), "dry_run": orders.dry_run()}


def during(run_type="manual", **conf):
    """Within the first task of a run of `replay__shop` that was triggered with this."""
    run = SimpleNamespace(dag_id="replay__shop", run_type=run_type, conf=conf, run_after=NOON)
    defaults = {name: param.resolve() for name, param in FIELDS.items()}
    return set_current_context({"dag_run": run, "params": {**defaults, **conf}})


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-20T12:00:00Z",
        "2026-11-20T12:00:00.000Z",  # as the form's own field has it
        "2026-11-20T12:00Z",
        "2026-11-20 13:00:00+01:00",
    ],
)
def test_a_moment_with_an_offset_is_taken_by_the_form_and_by_the_plan(written):
    assert orders.moment("Since", "From when.").resolve(written) == written
    assert orders.instant(written, "since") == NOON


@pytest.mark.parametrize("empty", [None, ""])
def test_a_moment_may_be_left_empty(empty):
    assert orders.moment("Since", "From when.").resolve(empty) == empty
    assert orders.instant(empty, "since") is None


@pytest.mark.parametrize(
    "written", ["yesterday", "2026-11-20", "2026-11-20T12:00:00", "2026-11-20T12:00:00 UTC", "now"]
)
def test_what_is_no_moment_is_refused_by_the_form_itself(written):
    with pytest.raises(ParamValidationError, match="does not match"):
        orders.moment("Since", "From when.").resolve(written)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("yesterday", "must be like 2026-11-21T12:00:00Z, not 'yesterday'"),
        ("2026-13-20T12:00:00Z", "must be like 2026-11-21T12:00:00Z"),
        ("2026-11-20T12:00:00", "needs an offset from UTC"),
        ("9999-12-31T23:59:59-05:00", "lies outside the years 1970 to 2261"),
        ("9999-12-31T23:59:59Z", "leave it empty where there is no bound"),
        ("0001-01-01T00:00:00+05:00", "lies outside the years 1970 to 2261"),
        ("1970-01-01T00:00:00+05:00", "lies outside the years 1970 to 2261"),
    ],
)
def test_what_is_no_moment_is_refused_by_the_plan_with_what_to_write(written, says):
    with pytest.raises(SpecError, match=says) as refused:
        orders.instant(written, "since")
    assert str(refused.value).startswith("'since' ")


def test_a_moment_that_has_to_be_over_may_not_be_later_than_the_run():
    assert orders.instant("2026-11-20T12:00:00Z", "since", by=NOON) == NOON
    with pytest.raises(SpecError, match=r"'since' \(2026-11-20 12:00:01\+00:00\) is later than"):
        orders.instant("2026-11-20T12:00:01Z", "since", by=NOON)


def test_a_dry_run_is_looked_up_in_the_log_of_whichever_task_is_the_first():
    assert "the log of the first task" in orders.dry_run().description


# ---------------------------------------------------- a form that somebody has filled in


def test_a_form_has_what_was_filled_in_and_the_defaults_of_the_rest():
    with during(tables=["t"]), orders.filled_in(FIELDS) as (params, run_after):
        assert params == {"tables": ["t"], "dry_run": True}
        assert run_after == NOON


def test_empty_lines_of_a_list_are_no_lines():
    with during(tables=["t", "", " u "]), orders.filled_in(FIELDS) as (params, _):
        assert params["tables"] == ["t", "u"]


def test_a_scheduled_run_has_what_nobody_could_fill_in():
    with during("scheduled"), orders.filled_in(FIELDS, {"dry_run": False}) as (params, _):
        assert params == {"tables": [], "dry_run": False}
    with during("operator_triggered"), orders.filled_in(FIELDS, {"dry_run": False}) as (params, _):
        assert params["dry_run"]


@pytest.mark.parametrize("name", ["table", "dry-run", "Tables"])
def test_a_field_that_the_form_does_not_have_is_refused_with_the_closest(name):
    with (
        during(**{name: False, "dry_run": False}),
        pytest.raises(
            SpecError, match=f"replay__shop has no field '{name}'; the closest of 2 (is|are)"
        ),
        orders.filled_in(FIELDS),
    ):
        pytest.fail("it was planned")


def test_what_airflow_itself_adds_to_a_run_is_no_field():
    with during(openlineage={"parentRunId": "1"}), orders.filled_in(FIELDS) as (params, _):
        assert params["tables"] == []


@pytest.mark.parametrize(("kind", "lines"), [(SpecError, 1), (Terminal, 1), (Transient, 0)])
def test_what_is_refused_stands_in_one_line_of_the_log_before_the_traceback(kind, lines, caplog):
    with during(), pytest.raises(kind), orders.filled_in(FIELDS):
        raise kind("write it so")
    assert [record.getMessage() for record in caplog.records] == ["write it so"] * lines


@pytest.fixture
def plan(source, source_path):
    """Plans a run of `maintain__shop` of this type, into whose form nobody has written."""

    def plan(run_type):
        task = maintain.dag(source, source_path).get_task("plan")
        params = {name: param.resolve() for name, param in maintain.FORM.params.items()}
        run = SimpleNamespace(dag_id="maintain__shop", run_type=run_type, conf={}, run_after=NOON)
        with set_current_context({"dag_run": run, "params": params}):
            return task.python_callable()

    return plan


def test_maintenance_by_hand_is_a_dry_run_until_somebody_unticks_it(plan, lake):
    with pytest.raises(AirflowSkipException, match="dry run"):
        plan("manual")
    assert Manifests(lake).numbered(1) is None


def test_maintenance_on_schedule_is_no_dry_run(plan):
    assert plan("scheduled").endswith("/runs/00000001/manifest.json")


@pytest.mark.usefixtures("published")
def test_a_misspelt_reason_is_answered_with_those_that_there_are(source, quarantine):
    quarantine("orders", "invalid_json", "no_key")
    asked = {"tables": [], "since": None, "until": None}
    with pytest.raises(SpecError, match=r"nothing is refused as 'invalid_jsn'; .*invalid_json"):
        requeue.order(source, {**asked, "reason": "invalid_jsn"}, NOON)
    assert requeue.order(source, {**asked, "reason": "no_key"}, NOON).lines == (
        "orders: 1 records, no_key",
    )


def test_maintenance_that_is_asked_for_nothing_says_what_to_tick(source):
    asked = {"tables": [], "optimize": False, "vacuum": False, "retention": True}
    assert maintain.order(source, asked, NOON).lines[1].startswith("nothing to do: tick optimize")
