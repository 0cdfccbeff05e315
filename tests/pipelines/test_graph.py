"""The asset graph as analysts see it. A change here is a change of what the Dagster UI shows: make it on purpose."""

import dagster as dg

from pipelines.definitions import defs

HOUSEKEEPING = {
    "orphan_objects", "kept_answers", "expired_access", "anonymised_addresses", "expired_docs", "old_runs",
    "old_snapshots",
}  # fmt: skip
GRAPH = {
    # asset: group, what it is made from, checks
    "uploaded_file": ("intake", [], []),
    "parsed_table": ("intake", ["uploaded_file"], ["contract"]),
    "typed_rows": ("intake", ["parsed_table", "uploaded_file"], ["contract"]),
    "graded_skus": ("grading", ["parsed_table", "typed_rows", "uploaded_file"], ["every_sku_has_a_grade_state"]),
    "import_report": ("grading", ["graded_skus", "typed_rows", "uploaded_file"], ["counts_add_up"]),
    "rule_set": ("reference", [], []),
    "regraded_skus": ("grading", ["graded_skus", "rule_set"], []),
    "catalogue_file": ("reference", [], []),
    "jurisdiction_catalogue": (
        "reference",
        ["catalogue_file"],
        ["codes_valid", "contract", "eu_and_gb_present", "no_amount_of_money", "sources_present"],
    ),
    "portfolio_snapshot": ("publication", ["graded_skus", "regraded_skus"], ["holds_every_sku", "holds_every_write"]),
    "portfolio_overview": ("publication", ["jurisdiction_catalogue", "portfolio_snapshot"], []),
    "portfolio": ("rollups", ["portfolio_snapshot"], ["portfolio_is_whole"]),
    "figures": ("rollups", ["jurisdiction_catalogue", "portfolio"], ["categories_add_up", "figures_stand_once"]),
    "obligations": ("rollups", ["figures"], []),
    **dict.fromkeys(HOUSEKEEPING, ("housekeeping", [], [])),
}
JOBS = {
    "import_file": {"uploaded_file", "parsed_table", "typed_rows", "graded_skus", "import_report"},
    "refresh_catalogue": {"jurisdiction_catalogue"},
    "publish_portfolio": {"portfolio_snapshot", "portfolio_overview", "portfolio", "figures", "obligations"},
    "roll_up": {"portfolio", "figures", "obligations"},
    "regrade_portfolios": {"regraded_skus"},
    "keep_house": HOUSEKEEPING,
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
        assert spec.owners == ["team:packaging-data"], spec.key
        assert spec.kinds, spec.key


def test_jobs_take_their_assets_in_one_process() -> None:
    for name, assets in JOBS.items():
        job = defs.resolve_job_def(name)
        assert {key.to_user_string() for key in job.asset_layer.selected_asset_keys} == assets
        assert job.executor_def is dg.in_process_executor


def test_only_daily_work_starts_by_itself() -> None:
    (sensor,) = defs.sensors or ()
    assert isinstance(sensor, dg.SensorDefinition)
    assert (sensor.name, sensor.default_status) == ("queued_imports", dg.DefaultSensorStatus.STOPPED)
    schedules = {
        schedule.name: schedule for schedule in defs.schedules or () if isinstance(schedule, dg.ScheduleDefinition)
    }
    assert set(schedules) == {"daily_housekeeping", "daily_catalogue"}
    assert {schedule.default_status for schedule in schedules.values()} == {dg.DefaultScheduleStatus.RUNNING}
