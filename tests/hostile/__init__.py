# ruff: noqa: E501 - a row of a table is a line
"""Hostile input through the command line: what is tried, and the test that tries it.

Every test asserts how the command ends, that no traceback is printed, that a JSON report keeps to
its schema, and that what was not read is said. A name in the table is a module of `tests` and a
function in it; `test_all_covered.py` holds that each exists.

| what | test |
|---|---|
| cut at every byte: log, trace, gzip, zip, tar, package | hostile.test_truncated::test_log_cut_anywhere_tells_what_is_left_of_it |
| | hostile.test_truncated::test_trace_cut_anywhere_never_takes_its_payload_for_a_failure |
| | hostile.test_truncated::test_failure_in_a_trace_is_told_when_its_record_is_whole |
| | hostile.test_truncated::test_gzip_cut_anywhere_gives_what_came_and_says_so |
| | hostile.test_truncated::test_zip_cut_anywhere_is_said_to_be_broken |
| | hostile.test_truncated::test_tar_cut_anywhere_gives_what_came_and_says_so |
| | hostile.test_truncated::test_package_cut_anywhere_is_a_problem_and_the_log_is_read |
| | hostile.test_truncated::test_record_of_a_run_cut_anywhere_is_no_other_failure |
| bits flipped | hostile.test_flipped::test_flipped_text_is_read |
| | hostile.test_flipped::test_flipped_packed_log_is_whole_or_said_to_be_damaged |
| | hostile.test_flipped::test_flipped_package_costs_its_log_nothing |
| | hostile.test_flipped::test_flipped_archives_are_read_as_far_as_they_go |
| lines shuffled | hostile.test_mixed::test_shuffled_lines_are_read_and_evidence_is_where_it_says |
| | hostile.test_mixed::test_failure_of_one_line_is_found_wherever_it_is_shuffled_to |
| two logs in one stream | hostile.test_mixed::test_two_logs_cut_into_each_other_are_read |
| | hostile.test_mixed::test_two_logs_line_by_line_give_a_cause_of_one_of_them |
| one line of a gigabyte; of anchors, escapes, JSON, marks | hostile.test_long_lines::test_line_of_hundreds_of_megabytes_is_read_in_bounded_memory |
| millions of names in a zip, also in a package and inside a zip | hostile.test_listings::test_zip_of_millions_of_names_is_refused_before_it_is_listed |
| | hostile.test_listings::test_zip_that_claims_ten_million_names_is_refused |
| | hostile.test_listings::test_zip_beyond_what_is_read_gives_its_first_members_and_says_so |
| | hostile.test_listings::test_zip_of_names_in_a_zip_is_refused |
| millions of headers in a tar | hostile.test_listings::test_tar_of_a_million_headers_is_cut_and_its_first_log_read |
| | hostile.test_listings::test_tar_of_many_members_is_cut_and_its_first_log_read |
| names of a gigabyte, extended headers that cost their square | hostile.test_listings::test_name_of_a_gigabyte_is_not_held |
| | hostile.test_listings::test_what_is_passed_over_is_not_held |
| | hostile.test_listings::test_extended_header_costs_no_more_than_its_length |
| | hostile.test_listings::test_extended_header_without_end_is_read_to_its_end |
| | hostile.test_listings::test_name_of_a_member_is_shown_from_its_end |
| | hostile.test_listings::test_name_of_a_member_may_be_any_bytes |
| sizes that no file has, holes | hostile.test_listings::test_member_of_more_bytes_than_there_are_is_not_skipped_for_ever |
| | hostile.test_listings::test_size_in_an_extended_header_may_be_anything |
| | hostile.test_listings::test_holes_of_a_sparse_member_are_not_filled |
| bombs: gzip, bzip2, xz, zstd, in archives, in archives in archives | hostile.test_bombs::test_file_that_expands_too_often_is_cut |
| | hostile.test_bombs::test_archive_that_expands_too_often_is_cut_though_nothing_of_it_is_a_log |
| | hostile.test_bombs::test_bomb_in_a_tar_in_a_zip_is_cut_and_the_rest_is_read |
| | hostile.test_bombs::test_inner_zip_of_a_gigabyte_is_not_held |
| | test_streams::test_bomb_in_an_archive_is_a_problem_and_the_rest_is_read |
| | test_streams::test_archive_in_an_archive_is_opened_and_one_in_that_is_not |
| overlapping members | hostile.test_bombs::test_members_that_share_their_bytes_are_read_once |
| | hostile.test_bombs::test_entries_of_a_package_that_share_their_bytes_are_read_once |
| packages and code that are bombs, or gigabytes long | hostile.test_bombs::test_package_of_lines_without_end_is_cut |
| | hostile.test_bombs::test_package_of_code_that_is_not_packed_is_read |
| | hostile.test_bombs::test_package_with_a_bomb_still_names_its_input |
| | hostile.test_bombs::test_code_of_gigabytes_is_cut |
| | hostile.test_bombs::test_package_of_terabytes_is_not_held |
| | hostile.test_bombs::test_package_longer_than_memory_is_read_where_it_lies |
| | hostile.test_bombs::test_code_of_all_artifacts_has_a_limit |
| | hostile.test_bombs::test_code_in_an_archive_counts_towards_its_limit |
| names that lead out of an archive | hostile.test_paths_in_archives::test_names_that_lead_out_are_only_names |
| | hostile.test_paths_in_archives::test_member_without_a_name_is_read |
| | test_streams::test_member_that_climbs_out_is_only_a_name |
| links, devices and pipes in an archive | hostile.test_paths_in_archives::test_links_lead_nowhere |
| | hostile.test_paths_in_archives::test_devices_and_pipes_in_an_archive_are_not_opened |
| | hostile.test_paths_in_archives::test_link_in_a_zip_is_the_text_of_its_target |
| | test_streams::test_links_and_devices_in_an_archive_are_not_read |
| links on disk | hostile.test_paths_in_archives::test_link_on_disk_to_a_file_is_followed_and_to_a_folder_is_not |
| | hostile.test_special_files::test_links_in_a_circle_are_not_followed |
| devices, pipes, sockets | hostile.test_special_files::test_device_is_not_read |
| | hostile.test_special_files::test_socket_and_pipe_in_a_folder_are_passed_over |
| | hostile.test_special_files::test_device_in_a_folder_is_passed_over |
| | hostile.test_special_files::test_device_is_no_package_and_no_folder |
| files and folders without permission | hostile.test_special_files::test_what_may_not_be_read_is_said_and_the_rest_is_read |
| | hostile.test_special_files::test_what_may_not_be_read_alone_is_one_line |
| folders in folders | hostile.test_special_files::test_folder_of_folders_without_end_is_walked |
| | hostile.test_special_files::test_folder_of_folders_without_end_is_measured_for_the_progress_line |
| | hostile.test_special_files::test_folder_whose_path_is_too_long_is_said |
| files that shrink, grow, vanish, are replaced | hostile.test_changing_files::test_file_that_shrinks_is_read_as_far_as_it_goes |
| | hostile.test_changing_files::test_file_that_is_emptied_keeps_what_was_read |
| | hostile.test_changing_files::test_file_that_grows_is_read_to_its_new_end |
| | hostile.test_changing_files::test_file_that_is_replaced_is_read_as_it_was |
| | hostile.test_changing_files::test_file_that_is_gone_when_its_turn_comes_is_said |
| | hostile.test_changing_files::test_package_that_is_gone_when_its_turn_comes_is_said |
| | hostile.test_changing_files::test_saved_tensor_that_vanishes_is_said |
| | hostile.test_changing_files::test_packed_file_that_shrinks_says_so |
| | hostile.test_changing_files::test_archive_that_shrinks_says_so |
| | hostile.test_changing_files::test_archive_that_vanishes_is_read_as_it_was |
| | hostile.test_changing_files::test_folder_that_vanishes_is_said |
| UTF-16 and UTF-32, with and without a mark | hostile.test_encodings::test_utf16_with_a_mark_is_read |
| | hostile.test_encodings::test_wide_text_without_a_mark_is_said_to_be_hardly_text |
| | hostile.test_encodings::test_utf32_with_a_mark_is_said_to_be_hardly_text |
| | hostile.test_encodings::test_utf8_with_the_mark_of_utf16_is_said_to_be_hardly_text |
| | hostile.test_encodings::test_utf16_of_other_scripts_is_text |
| | hostile.test_encodings::test_utf16_that_goes_on_as_utf8_gives_its_first_part |
| invalid UTF-8, NUL | hostile.test_encodings::test_odd_bytes_around_a_failure_hide_it_not |
| | hostile.test_encodings::test_odd_bytes_anywhere_in_a_failure_never_make_another |
| JSON nested without end: trace, package, provenance, run.json, printer | hostile.test_nesting::test_nested_trace_envelope_costs_nothing_else |
| | hostile.test_nesting::test_nested_failure_reason_is_read_or_said |
| | hostile.test_nesting::test_nested_file_of_a_package_is_a_problem |
| | hostile.test_nesting::test_nested_provenance_in_a_trace_is_passed_over |
| | hostile.test_nesting::test_nested_record_of_a_run_is_said |
| | hostile.test_nesting::test_nested_text_in_failures_is_text |
| expressions nested without end | hostile.test_nesting::test_expression_without_end_is_decided_all_the_same |
| | hostile.test_nesting::test_plain_expression_is_followed_to_the_size_that_fails |
| | hostile.test_nesting::test_code_of_many_kernels_is_read |
| numbers beyond 64 bits | hostile.test_numbers::test_every_number_of_a_log_may_be_large |
| | hostile.test_numbers::test_some_numbers_of_a_log_may_be_anything |
| | hostile.test_numbers::test_number_at_its_place_may_be_anything |
| | hostile.test_numbers::test_numbers_in_a_package_may_be_anything |
| | hostile.test_numbers::test_rank_of_an_option_may_be_anything |
| | hostile.test_numbers::test_numbers_in_names_of_files_may_be_anything |
| regexes of users that backtrack | test_user_patterns::test_regex_that_backtracks_is_cut_off_and_told |
| patterns that match everything | hostile.test_user_patterns::test_pattern_that_matches_everything_claims_its_lines_only |
| | hostile.test_user_patterns::test_pattern_on_a_letter_of_a_line_without_end_is_bounded |
| | hostile.test_user_patterns::test_hundreds_of_patterns_are_used |
| patterns and rules that are broken | hostile.test_user_patterns::test_broken_pattern_is_told_and_stops_nothing |
| | hostile.test_user_patterns::test_check_tells_all_broken_patterns |
| | hostile.test_user_patterns::test_pattern_that_is_no_file_is_told_and_not_waited_for |
| | hostile.test_user_patterns::test_pattern_whose_file_has_any_name_is_told |
| | hostile.test_user_patterns::test_broken_rule_of_redaction_is_one_line |
| escapes and markup in texts of logs, names of files | test_injection::test_no_character_acts_on_a_terminal |
| | test_injection::test_markdown_is_only_our_markup |
| | test_injection::test_page_is_only_our_markup |
| | test_injection::test_no_character_of_an_attachment_acts |
| in names of members, packages, patterns, in errors | hostile.test_injected_names::test_name_of_a_member_acts_nowhere |
| | hostile.test_injected_names::test_name_of_a_package_and_of_its_entries_acts_nowhere |
| | hostile.test_injected_names::test_names_of_what_is_not_read_act_nowhere |
| | hostile.test_injected_names::test_texts_of_a_pattern_act_nowhere |
| | hostile.test_injected_names::test_pattern_acts_nowhere_where_it_is_listed |
| | hostile.test_injected_names::test_errors_about_a_name_act_nowhere |
| | hostile.test_injected_names::test_name_of_a_command_acts_nowhere |
| full disk: stdout, stderr, -o, --attach, --tlparse | hostile.test_full_disk::test_full_disk_on_standard_output_is_one_line |
| | hostile.test_full_disk::test_full_disk_under_an_output_file_is_one_line |
| | hostile.test_full_disk::test_full_disk_under_an_attachment_costs_no_report_and_no_device |
| | hostile.test_full_disk::test_full_disk_under_standard_error_changes_no_status |
| | hostile.test_full_disk::test_disk_that_fills_up_keeps_what_was_there |
| | hostile.test_full_disk::test_file_that_may_not_grow_is_one_line |
| | hostile.test_full_disk::test_report_needs_no_file |
| | hostile.test_full_disk::test_tlparse_without_room_for_its_copies_says_so |
| full disk: run | test_run_command::test_full_disk_is_said_and_the_command_runs_on |
| | test_run_command::test_output_on_a_full_disk_is_said_and_the_command_runs_on |
| | test_run_command::test_command_runs_where_nothing_can_be_written |
| | hostile.test_full_disk::test_diagnosis_of_a_run_on_a_full_disk_keeps_its_status |
| | hostile.test_full_disk::test_recording_that_cannot_be_written_is_said_and_the_status_kept |
| broken pipes | test_cli::test_reader_that_goes_away_is_no_error |
| | hostile.test_closed_ends::test_reader_that_goes_away_is_no_error |
| | hostile.test_closed_ends::test_writer_that_goes_away_is_the_end_of_the_log |
| | test_run_command::test_reader_that_goes_away_ends_neither_command_nor_recording |
| stdin, stdout, stderr closed | test_cli::test_closed_stdin_named_by_dash_is_one_line |
| | hostile.test_closed_ends::test_closed_output_is_one_line_or_nothing |
| | hostile.test_closed_ends::test_closed_standard_error_changes_no_status |
| | hostile.test_closed_ends::test_everything_closed_gives_its_status |
| | hostile.test_closed_ends::test_first_file_takes_the_place_of_closed_standard_error |
| | test_run_command::test_closed_descriptors_are_no_harm |
| signals | hostile.test_closed_ends::test_request_to_end_leaves_no_traceback |
| locales | test_cli::test_plain_locale_changes_nothing |
| | hostile.test_surroundings::test_locale_changes_no_report_and_no_error |
| | hostile.test_surroundings::test_locale_changes_no_status |
| home, PATH, TMPDIR, terminal, user | hostile.test_surroundings::test_setting_changes_no_report |
| | hostile.test_surroundings::test_folders_that_may_not_be_written_change_no_report |
| the working folder is gone | hostile.test_surroundings::test_folder_that_is_gone_changes_no_report |
| | hostile.test_surroundings::test_output_into_a_folder_that_is_gone_is_one_line |
| | hostile.test_surroundings::test_run_in_a_folder_that_is_gone_keeps_its_status |
| few descriptors | hostile.test_surroundings::test_few_descriptors_are_enough |
| | hostile.test_surroundings::test_fewest_descriptors_are_enough |
| little memory, a small stack | hostile.test_surroundings::test_two_gigabytes_of_addresses_are_enough |
| | hostile.test_surroundings::test_stack_of_a_megabyte_is_enough |
"""
