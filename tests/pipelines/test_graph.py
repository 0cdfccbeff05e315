"""The asset graph as analysts see it. A change here is a change of what the Dagster UI shows: make it on purpose."""

import csv
from pathlib import Path

import dagster as dg

from pipelines import definitions
from pipelines.definitions import defs
from pipelines.defs.catalogue import DAILY
from pipelines.metadata import columns

ROOT = Path(__file__).parents[2]
HOUSEKEEPING = {
    "orphan_objects",
    "kept_answers",
    "expired_access",
    "anonymised_addresses",
    "audit_heads",
    "expired_docs",
    "old_runs",
    "old_snapshots",
}
"""Ops, because nothing that they do is data."""
GRAPH = {
    # asset: group, what it is made from, checks
    "uploaded_file": ("intake", [], []),
    "parsed_table": ("intake", ["uploaded_file"], ["contract"]),
    "typed_rows": ("intake", ["parsed_table", "uploaded_file"], ["contract"]),
    "graded_skus": ("grading", ["parsed_table", "typed_rows", "uploaded_file"], ["every_sku_has_a_grade_state"]),
    "import_report": ("grading", ["graded_skus", "typed_rows", "uploaded_file"], ["counts_add_up"]),
    "ledger": ("intake", [], []),
    "rule_set": ("reference", [], ["contract", "no_company_held_by_older_rules"]),
    "regraded_skus": ("grading", ["rule_set"], ["contract"]),
    "catalogue_file": ("reference", [], []),
    "jurisdiction_catalogue": (
        "reference",
        ["catalogue_file"],
        ["codes_valid", "contract", "eu_and_gb_present", "no_amount_of_money", "sources_present"],
    ),
    "portfolio_snapshot": (
        "publication",
        ["graded_skus", "ledger", "regraded_skus"],
        ["contract", "holds_every_sku", "holds_every_write", "weights_add_up"],
    ),
    "portfolio_overview": ("publication", ["jurisdiction_catalogue", "portfolio_snapshot"], []),
    "portfolio": ("rollups", ["portfolio_snapshot"], ["portfolio_is_whole"]),
    "figures": (
        "rollups",
        ["jurisdiction_catalogue", "portfolio"],
        ["categories_add_up", "contract", "figures_stand_once"],
    ),
    "obligations": ("rollups", ["figures"], ["contract"]),
    "declarations": ("declarations", ["figures", "obligations"], ["contract"]),
}
JOBS = {
    "import_file": {"uploaded_file", "parsed_table", "typed_rows", "graded_skus", "import_report"},
    "refresh_catalogue": {"jurisdiction_catalogue"},
    "publish_portfolio": {"ledger", "portfolio_snapshot", "portfolio_overview", "portfolio", "figures", "obligations"},
    "roll_up": {"portfolio", "figures", "obligations"},
    "regrade_portfolios": {"regraded_skus"},
    "read_rule_set": {"rule_set"},
    "what_would_be_filed": {"declarations"},
}


def test_assets_groups_lineage_and_checks() -> None:
    graph = defs.resolve_asset_graph()
    found = {
        key.to_user_string(): (
            graph.get(key).group_name,
            sorted(parent.to_user_string() for parent in graph.get(key).parent_keys),
            sorted(check.name for check in graph.get_check_keys_for_assets({key})),
        )
        for key in graph.get_all_asset_keys()
    }
    assert found == GRAPH


def test_every_asset_says_what_it_is_and_whose() -> None:
    for spec in defs.resolve_all_asset_specs():
        assert len(spec.description or "") > 40, spec.key
        assert spec.group_name == GRAPH[spec.key.to_user_string()][0], spec.key
        assert spec.owners == ["team:packaging-data"], spec.key
        assert spec.kinds, spec.key


def test_the_code_server_finds_one_location() -> None:
    """It refuses a module with two objects of definitions, which a test that imports one of them does not see."""
    assert [name for name, value in vars(definitions).items() if isinstance(value, dg.Definitions)] == ["defs"]


def test_every_asset_that_we_make_links_to_the_function_that_makes_it() -> None:
    """By a path from the repository's top: a page of Dagster names no path of a machine."""
    for spec in defs.resolve_all_asset_specs():
        if spec.key.to_user_string() == "catalogue_file":  # nobody makes it here
            continue
        [link] = spec.metadata["dagster/code_references"].code_references
        source = (ROOT / link.file_path).read_text(encoding="utf-8").splitlines()
        assert not Path(link.file_path).is_absolute()
        assert source[link.line_number - 1].startswith(("@dg.", "@asset(")), spec.key


def test_what_is_made_once_a_day_is_expected_once_a_day() -> None:
    policies = {spec.key.to_user_string(): spec.freshness_policy for spec in defs.resolve_all_asset_specs()}
    daily = {"jurisdiction_catalogue"}
    assert {name for name, policy in policies.items() if policy == DAILY} == daily
    assert {name for name, policy in policies.items() if policy is not None} == daily


def test_tables_say_what_each_column_means_and_is_made_from() -> None:
    """Those without a table are a file as it came, a ledger, a report and a picture."""
    specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    assert specs.keys() - columns.TABLES.keys() == {
        "uploaded_file",
        "import_report",
        "catalogue_file",
        "portfolio_overview",
        "ledger",
    }
    for name, table in columns.TABLES.items():
        schema = specs[name].metadata["dagster/column_schema"]
        assert isinstance(schema, dg.TableSchema)
        assert [column.name for column in schema.columns] == [*table]
        assert not [column.name for column in schema.columns if not column.description], name
        lineage = specs[name].metadata["dagster/column_lineage"]
        assert isinstance(lineage, dg.TableColumnLineage)
        for parents in lineage.deps_by_column.values():
            for parent in parents:
                assert parent.column_name in columns.TABLES[parent.asset_key.to_user_string()]


def test_the_list_of_columns_holds_nothing_that_no_asset_has() -> None:
    with Path(columns.__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        listed = [(row["asset"], row["column"]) for row in csv.DictReader(file)]
    assert len(set(listed)) == len(listed)
    assert [(asset, name) for asset, name in listed if name not in columns.TABLES[asset]] == []


def test_grams_lead_back_to_the_line_of_a_file() -> None:
    """From a declared quantity to what somebody uploaded, column by column."""
    reached, ahead = set(), {("declarations", "tonnes")}
    while ahead:
        asset, name = ahead.pop()
        reached.add((asset, name))
        parents = columns.lineage(asset).deps_by_column.get(name, ())
        ahead |= {(parent.asset_key.to_user_string(), parent.column_name) for parent in parents} - reached
    assert {
        ("portfolio_snapshot", "weight_g"),
        ("graded_skus", "components"),
        ("parsed_table", "components"),
    } <= reached


def test_jobs_take_their_assets_in_one_process() -> None:
    for name, assets in JOBS.items():
        job = defs.resolve_job_def(name)
        assert {key.to_user_string() for key in job.asset_layer.selected_asset_keys} == assets
        assert job.executor_def is dg.in_process_executor


def test_the_house_is_kept_by_ops() -> None:
    job = defs.resolve_job_def("keep_house")
    assert {node.name for node in job.nodes} >= HOUSEKEEPING
    assert not job.asset_layer.selected_asset_keys


def test_what_follows_writes_and_rules_and_the_day_starts_by_itself() -> None:
    sensors = {sensor.name: sensor for sensor in defs.sensors or () if isinstance(sensor, dg.SensorDefinition)}
    assert {name: {job.name for job in sensor.jobs} for name, sensor in sensors.items()} == {
        "queued_imports": {"import_file"},
        "due_companies": {
            *("publish_portfolio", "regrade_portfolios", "read_rule_set"),
            *("export_portfolio", "send_mails", "send_webhooks"),
        },
        "overdue_work": {"publish_portfolio", "read_rule_set", "refresh_catalogue", "keep_house"},
        "watched_folders": {"import_folders"},
    }
    assert {sensor.default_status for sensor in sensors.values()} == {dg.DefaultSensorStatus.RUNNING}
    schedules = {
        schedule.name: schedule for schedule in defs.schedules or () if isinstance(schedule, dg.ScheduleDefinition)
    }
    assert set(schedules) == {"daily_housekeeping", "daily_catalogue"}
    assert {schedule.default_status for schedule in schedules.values()} == {dg.DefaultScheduleStatus.RUNNING}


def test_bad_data_goes_no_further() -> None:
    graph = defs.resolve_asset_graph()
    specs = [graph.get_check_spec(key) for key in graph.asset_check_keys]
    assert {(spec.asset_key.to_user_string(), spec.name) for spec in specs if spec.blocking} >= {
        ("parsed_table", "contract"),
        ("typed_rows", "contract"),
        ("import_report", "counts_add_up"),
        ("portfolio_snapshot", "holds_every_sku"),
    }
