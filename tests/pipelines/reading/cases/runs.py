"""Cases 51 to 54: what a whole import does, and which tests hold it."""

HELD_BY = {
    51: (
        "tests.contract.test_imports:test_the_bounds_are_ten_mebibytes_and_fifty_thousand_rows",
        "tests.api.test_import_cases:test_a_row_more_than_fifty_thousand_is_refused_before_the_202",
        "tests.pipelines.reading.test_bounds:test_a_file_is_read_or_refused_within_bounds",
    ),
    52: (
        "tests.api.test_import_cases:test_a_double_click_is_one_import",
        "tests.api.test_idempotency:test_an_import_is_replayed_with_its_id_whatever_the_boundary",
        "tests.pipelines.test_import_run:test_sending_the_same_file_again_changes_nothing",
    ),
    53: (
        "tests.pipelines.test_claims:test_what_breaks_off_between_chunks_is_continued_without_a_row_twice",
        "tests.pipelines.test_queued_imports:test_an_import_with_an_unfinished_run_is_not_asked_for_until_that_has_ended",
        "tests.journeys.test_kill:test_an_import_survives_every_kill",
    ),
    54: (
        "tests.contract.test_imports:test_a_file_past_the_plan_is_refused_and_its_dry_run_is_not",
        "tests.api.test_import_cases:test_a_full_plan_takes_what_it_holds_already",
    ),
}
