//! The rows of the table: a name of the contract, and the test that fails without it.

/// A name, and the test that shows it.
pub(super) type Row = (&'static str, &'static str);

/// By section of the contract. Names without spaces are the program's own.
pub(super) const ROWS: &[(&str, &[Row])] = &[
    (
        "Every result",
        &[
            ("the text alone is enough", "the_text_alone_is_enough_to_go_on"),
            (
                "clients without structured results read all as text",
                "clients_that_know_no_structured_results_read_all_of_it_as_text",
            ),
            (
                "a failure has a code, a sentence and what to do",
                "a_missing_codex_is_said_with_what_to_do",
            ),
            (
                "schemas are schemas, and no other field passes",
                "the_tools_are_small_and_their_schemas_are_schemas",
            ),
            ("all tools together under 6 KB", "the_tools_take_less_than_six_kilobytes"),
            (
                "no result over 64 KB, and what is cut can be read",
                "results_fit_and_make_progress_and_nothing_is_out_of_reach",
            ),
            (
                "a session with one approval under 2.5 KB",
                "a_real_session_with_one_approval_takes_few_bytes",
            ),
            (
                "results of an agent's tools are kept as they were",
                "what_a_tool_of_an_agents_server_gave_is_kept_as_it_was",
            ),
            (
                "a waiting call reports progress and can be taken back",
                "a_call_that_waits_says_so_and_can_be_taken_back",
            ),
            (
                "clients that wait for longer are kept for longer",
                "a_client_that_is_known_to_wait_is_kept_for_longer_and_never_to_its_end",
            ),
            (
                "a caller sees its own sessions, and others if it asks",
                "a_caller_sees_others_only_if_it_asks_and_never_answers_for_them",
            ),
            ("unknown arguments are ignored and named", "unknown_arguments_are_ignored_and_named"),
            ("a wrong type names its field", "arguments_are_checked_by_name"),
            (
                "a long change is asked for in few bytes",
                "an_approval_of_a_long_change_is_told_in_few_bytes_and_read_in_pages",
            ),
            (
                "bytes that are no text lose nothing around them",
                "bytes_that_are_no_text_are_marked_and_lose_nothing_around_them",
            ),
        ],
    ),
    (
        "Error codes",
        &[
            ("INVALID_ARGUMENT", "arguments_are_checked_by_name"),
            ("SESSION_NOT_FOUND", "unknown_sessions_tools_and_methods_are_said"),
            ("SESSION_BUSY", "answers_that_do_not_fit_leave_the_request_open"),
            ("SESSION_NOT_RUNNING", "answers_that_do_not_fit_leave_the_request_open"),
            ("REQUEST_NOT_FOUND", "answers_that_do_not_fit_leave_the_request_open"),
            ("ALREADY_SETTLED", "answers_that_do_not_fit_leave_the_request_open"),
            ("HUMAN_ONLY", "a_caller_sees_others_only_if_it_asks_and_never_answers_for_them"),
            ("TIMEOUT", "a_codex_that_does_not_answer_is_given_up_in_time"),
            ("CANCELLED", "what_is_being_said_is_shown_and_sessions_are_managed"),
            ("APP_SERVER_START_FAILED", "a_codex_that_dies_at_once_leaves_its_last_words"),
            (
                "THREAD_FORK_RESUME_FAILED",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "PROTOCOL_PARSE_ERROR",
                "a_program_that_speaks_another_protocol_and_goes_on_is_not_waited_for",
            ),
            (
                "WRITE_QUEUE_DROPPED",
                "a_codex_that_stops_reading_is_ended_and_the_next_reply_starts_it_anew",
            ),
            ("EXEC_NOT_SUPPORTED", "what_exec_has_no_way_to_do_is_refused_by_name"),
            ("INTERNAL", "a_store_that_cannot_be_opened_is_said_by_each_call"),
        ],
    ),
    (
        "`codex`",
        &[
            ("codex.prompt", "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn"),
            (
                "codex.approvalPolicy",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.approvalPolicy=untrusted",
                "a_command_is_accepted_a_change_declined_and_the_session_goes_on",
            ),
            (
                "codex.approvalPolicy=on-failure",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.approvalPolicy=on-request",
                "forms_and_questions_are_answered_and_an_approval_expires_without_being_declined",
            ),
            ("codex.approvalPolicy=never", "output_that_looks_like_noise_is_output"),
            ("codex.sandbox", "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn"),
            (
                "codex.sandbox=read-only",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex.sandbox=workspace-write",
                "a_command_is_accepted_a_change_declined_and_the_session_goes_on",
            ),
            (
                "codex.sandbox=danger-full-access",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            ("codex.effort", "the_effort_is_low_unless_someone_says_otherwise"),
            ("codex.cwd", "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn"),
            ("codex.model", "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn"),
            ("codex.profile", "a_profile_is_sent_as_the_threads_configuration"),
            ("codex.wait", "a_real_session_with_one_approval_takes_few_bytes"),
            ("codex.advanced", "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn"),
            (
                "codex.advanced.baseInstructions",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.advanced.developerInstructions",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.advanced.personality",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.advanced.summary",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.advanced.ephemeral",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.advanced.outputSchema",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.advanced.images",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.advanced.collaborationMode",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex.advanced.title",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            ("codex.advanced.config", "configuration_arrives_as_it_was_given"),
            (
                "codex.advanced.approvalTimeoutMs",
                "whoever_sleeps_as_long_as_it_is_told_is_back_before_an_ask_expires",
            ),
            ("codex.advanced.isolation", "a_session_has_a_process_of_its_own_if_it_wants_one"),
            ("codex.advanced.isolation=shared", "three_sessions_share_one_codex_and_do_not_mix"),
            (
                "codex.advanced.isolation=process",
                "a_session_has_a_process_of_its_own_if_it_wants_one",
            ),
            (
                "configuration and profile hold in the real Codex",
                "configuration_and_a_profile_hold_in_the_real_codex_as_they_were_given",
            ),
            (
                "a start that hangs returns with the handle",
                "a_codex_that_hangs_in_its_start_leaves_the_caller_its_handle",
            ),
            (
                "what Codex confirmed is told",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "an ask that nobody answers expires and is no refusal",
                "forms_and_questions_are_answered_and_an_approval_expires_without_being_declined",
            ),
        ],
    ),
    (
        "`codex_reply`",
        &[
            ("codex_reply.sessionId", "unknown_sessions_tools_and_methods_are_said"),
            (
                "codex_reply.prompt",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.model",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.approvalPolicy",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.effort",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.summary",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.personality",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.sandbox",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.cwd",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.outputSchema",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.images",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.wait",
                "what_a_reply_changes_reaches_its_turn_and_a_schema_makes_its_result_json",
            ),
            (
                "codex_reply.whenBusy",
                "a_prompt_while_a_turn_runs_is_added_to_it_or_waits_for_its_own",
            ),
            (
                "codex_reply.whenBusy=steer",
                "a_prompt_while_a_turn_runs_is_added_to_it_or_waits_for_its_own",
            ),
            (
                "codex_reply.whenBusy=queue",
                "a_prompt_while_a_turn_runs_is_added_to_it_or_waits_for_its_own",
            ),
            ("a bad argument changes nothing", "arguments_are_checked_by_name"),
            (
                "a sandbox override keeps what is configured",
                "a_sandbox_override_keeps_what_is_configured",
            ),
            (
                "a session whose Codex died goes on",
                "a_codex_that_dies_in_mid_turn_is_told_and_the_session_goes_on",
            ),
            (
                "a session that another process left goes on",
                "a_session_goes_on_in_the_console_after_its_client_has_left",
            ),
            (
                "a cancelled session takes nothing",
                "what_is_being_said_is_shown_and_sessions_are_managed",
            ),
        ],
    ),
    (
        "`codex_session`",
        &[
            ("codex_session.action", "unknown_sessions_tools_and_methods_are_said"),
            ("codex_session.sessionId", "what_is_being_said_is_shown_and_sessions_are_managed"),
            (
                "codex_session.includeSensitive",
                "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
            ),
            (
                "codex_session.scope",
                "a_caller_sees_others_only_if_it_asks_and_never_answers_for_them",
            ),
            (
                "codex_session.scope=own",
                "a_caller_sees_others_only_if_it_asks_and_never_answers_for_them",
            ),
            (
                "codex_session.scope=all",
                "a_caller_sees_others_only_if_it_asks_and_never_answers_for_them",
            ),
            ("codex_session.limit", "a_list_is_told_in_pages"),
            ("codex_session.cursor", "a_list_is_told_in_pages"),
            ("codex_session.title", "what_is_being_said_is_shown_and_sessions_are_managed"),
            ("codex_session.target", "what_is_managed_reaches_codex"),
            ("codex_session.action=get", "what_is_being_said_is_shown_and_sessions_are_managed"),
            ("codex_session.action=cancel", "what_is_being_said_is_shown_and_sessions_are_managed"),
            (
                "codex_session.action=interrupt",
                "what_is_being_said_is_shown_and_sessions_are_managed",
            ),
            ("codex_session.action=fork", "what_is_being_said_is_shown_and_sessions_are_managed"),
            ("codex_session.action=rename", "what_is_being_said_is_shown_and_sessions_are_managed"),
            ("codex_session.action=models", "what_is_being_said_is_shown_and_sessions_are_managed"),
            ("codex_session.adopt", "a_session_is_adopted_when_a_person_allows_it"),
            ("codex_session.action=adopt", "a_session_is_adopted_when_a_person_allows_it"),
            (
                "an adoption that a person declines or that has no right arguments",
                "a_session_that_nobody_gives_away_stays_where_it_is",
            ),
            ("codex_session.action=list", "a_list_is_told_in_pages"),
            ("codex_session.action=clean_background_terminals", "what_is_managed_reaches_codex"),
            ("codex_session.action=archive", "what_is_managed_reaches_codex"),
            ("codex_session.action=compact", "what_is_managed_reaches_codex"),
            ("codex_session.action=review", "what_is_managed_reaches_codex"),
            (
                "secrets in configuration are masked",
                "secrets_in_configuration_are_masked_wherever_they_are",
            ),
            (
                "interrupt also ends the commands that run",
                "an_interrupt_stops_the_turn_the_command_and_the_question",
            ),
            (
                "interrupt works at any moment",
                "a_session_can_be_interrupted_at_any_moment_and_goes_on",
            ),
            (
                "a fork leaves the source its thread",
                "what_is_being_said_is_shown_and_sessions_are_managed",
            ),
            ("each status is one word for all of it", "a_status_is_one_word_for_all_of_it"),
        ],
    ),
    (
        "`codex_check`",
        &[
            ("codex_check.action", "arguments_are_checked_by_name"),
            ("codex_check.action=poll", "a_waiting_poll_returns_with_the_change"),
            (
                "codex_check.action=respond_permission",
                "a_command_is_accepted_a_change_declined_and_the_session_goes_on",
            ),
            (
                "codex_check.action=respond_user_input",
                "forms_and_questions_are_answered_and_an_approval_expires_without_being_declined",
            ),
            (
                "codex_check.action=respond_elicitation",
                "forms_and_questions_are_answered_and_an_approval_expires_without_being_declined",
            ),
            (
                "codex_check.action=output",
                "megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages",
            ),
            ("codex_check.sessionId", "unknown_sessions_tools_and_methods_are_said"),
            ("codex_check.cursor", "events_have_numbers_without_gaps_and_each_reader_its_place"),
            ("codex_check.reader", "events_have_numbers_without_gaps_and_each_reader_its_place"),
            ("codex_check.maxEvents", "what_is_not_wanted_is_left_out_and_not_used_up"),
            ("codex_check.waitMs", "a_waiting_poll_returns_with_the_change"),
            ("codex_check.responseMode", "each_mode_tells_as_much_as_its_name_says"),
            ("codex_check.responseMode=minimal", "each_mode_tells_as_much_as_its_name_says"),
            ("codex_check.responseMode=delta_compact", "each_mode_tells_as_much_as_its_name_says"),
            ("codex_check.responseMode=full", "each_mode_tells_as_much_as_its_name_says"),
            ("codex_check.pollOptions", "what_is_not_wanted_is_left_out_and_not_used_up"),
            (
                "codex_check.pollOptions.includeEvents",
                "what_is_not_wanted_is_left_out_and_not_used_up",
            ),
            (
                "codex_check.pollOptions.includeActions",
                "what_is_not_wanted_is_left_out_and_not_used_up",
            ),
            (
                "codex_check.pollOptions.includeResult",
                "what_is_not_wanted_is_left_out_and_not_used_up",
            ),
            (
                "codex_check.pollOptions.maxBytes",
                "fewer_bytes_than_one_event_has_still_go_forward_through_all",
            ),
            ("codex_check.requestId", "answers_that_do_not_fit_leave_the_request_open"),
            ("codex_check.decision", "each_decision_reaches_the_agent_and_a_reason_is_read"),
            ("codex_check.decision=accept", "each_decision_reaches_the_agent_and_a_reason_is_read"),
            (
                "codex_check.decision=decline",
                "each_decision_reaches_the_agent_and_a_reason_is_read",
            ),
            ("codex_check.decision=cancel", "each_decision_reaches_the_agent_and_a_reason_is_read"),
            (
                "codex_check.decision=acceptForSession",
                "a_decision_for_the_session_or_for_good_is_not_asked_for_again",
            ),
            (
                "codex_check.decision=acceptWithExecpolicyAmendment",
                "a_decision_for_the_session_or_for_good_is_not_asked_for_again",
            ),
            ("codex_check.decision=acceptAlways", "a_tool_call_is_asked_for_as_an_elicitation"),
            (
                "codex_check.decision=applyNetworkPolicyAmendment",
                "a_host_must_be_the_one_that_was_proposed",
            ),
            (
                "codex_check.execpolicy_amendment",
                "a_decision_for_the_session_or_for_good_is_not_asked_for_again",
            ),
            ("codex_check.network_policy_amendment", "arguments_are_checked_by_name"),
            ("codex_check.network_policy_amendment.host", "arguments_are_checked_by_name"),
            (
                "codex_check.network_policy_amendment.action",
                "a_host_must_be_the_one_that_was_proposed",
            ),
            (
                "codex_check.network_policy_amendment.action=allow",
                "a_host_must_be_the_one_that_was_proposed",
            ),
            (
                "codex_check.network_policy_amendment.action=deny",
                "a_host_must_be_the_one_that_was_proposed",
            ),
            ("codex_check.denyMessage", "each_decision_reaches_the_agent_and_a_reason_is_read"),
            ("codex_check.reason", "each_decision_reaches_the_agent_and_a_reason_is_read"),
            (
                "codex_check.answers",
                "forms_and_questions_are_answered_and_an_approval_expires_without_being_declined",
            ),
            (
                "codex_check.content",
                "forms_and_questions_are_answered_and_an_approval_expires_without_being_declined",
            ),
            ("codex_check.digest", "answers_that_do_not_fit_leave_the_request_open"),
            (
                "codex_check.itemId",
                "megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages",
            ),
            (
                "codex_check.offset",
                "megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages",
            ),
            (
                "codex_check.limit",
                "megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages",
            ),
            ("each answer takes its own fields only", "arguments_are_checked_by_name"),
            (
                "a stale cursor of an answer is raised, with a warning",
                "answers_that_do_not_fit_leave_the_request_open",
            ),
            ("a poll that ends with nothing is tiny", "a_waiting_poll_returns_with_the_change"),
            (
                "whoever sleeps as long as advised loses no approval",
                "whoever_sleeps_as_long_as_it_is_told_is_back_before_an_ask_expires",
            ),
            (
                "events have ids without gaps, which survive restarts",
                "events_have_numbers_without_gaps_and_each_reader_its_place",
            ),
            (
                "delivered events never change",
                "text_that_comes_after_an_event_was_delivered_is_not_lost_with_it",
            ),
            (
                "nothing is lost behind a pinned event",
                "behind_an_approval_there_is_no_gap_however_much_follows",
            ),
            (
                "fewer bytes than one event has still go forward",
                "fewer_bytes_than_one_event_has_still_go_forward_through_all",
            ),
            ("output that looks like noise is output", "output_that_looks_like_noise_is_output"),
            ("the tail of open items is shown live", "each_mode_tells_as_much_as_its_name_says"),
            (
                "a result comes once per turn and reader",
                "a_prompt_while_a_turn_runs_is_added_to_it_or_waits_for_its_own",
            ),
            (
                "an amendment may be narrower, never wider",
                "an_amendment_may_be_narrower_but_not_wider",
            ),
            (
                "a second answer hears who was first",
                "an_answer_that_comes_second_hears_who_was_first_and_when",
            ),
            (
                "unknown requests of Codex are refused at once",
                "what_nobody_here_can_do_is_refused_at_once",
            ),
        ],
    ),
    (
        "Sub-agents",
        &[
            (
                "events and asks of a child are marked and end no turn",
                "a_sub_agent_is_known_by_the_turn_that_it_serves",
            ),
            (
                "asks of a child outlive the turn",
                "the_asks_of_a_sub_agent_outlive_the_turn_but_not_the_agent",
            ),
        ],
    ),
    (
        "`codex` and `codex-reply` of `--compat codex`",
        &[
            (
                "tools, results, errors and forms are the recorded server's",
                "the_recorded_server_and_this_one_say_the_same",
            ),
            (
                "the first progress names the thread",
                "the_first_progress_names_the_thread_and_the_next_where_to_answer",
            ),
            (
                "a client without forms is told of the inbox",
                "the_first_progress_names_the_thread_and_the_next_where_to_answer",
            ),
            (
                "a form that is answered elsewhere is withdrawn",
                "a_form_that_is_answered_elsewhere_is_withdrawn",
            ),
            (
                "a decline that nobody can have read leaves the ask open",
                "a_decline_that_no_person_can_have_given_leaves_the_ask_open",
            ),
            ("accept alone is a yes", "accept_alone_is_a_yes_as_mcp_means_it"),
            (
                "a call that is taken back interrupts its turn",
                "the_recorded_server_and_this_one_say_the_same",
            ),
        ],
    ),
    (
        "Resources",
        &[
            ("codex-mcp:///server-info", "resources_say_what_is_so"),
            ("codex-mcp:///compat-report", "resources_say_what_is_so"),
            ("codex-mcp:///config", "resources_say_what_is_so"),
            ("codex-mcp:///gotchas", "resources_say_what_is_so"),
            ("codex-mcp:///quickstart", "resources_say_what_is_so"),
            ("codex-mcp:///errors", "resources_say_what_is_so"),
            ("pilothouse:///server-info", "resources_say_what_is_so"),
            ("pilothouse:///compat-report", "resources_say_what_is_so"),
            ("pilothouse:///config", "resources_say_what_is_so"),
            ("pilothouse:///gotchas", "resources_say_what_is_so"),
            ("pilothouse:///quickstart", "resources_say_what_is_so"),
            ("pilothouse:///errors", "resources_say_what_is_so"),
            (
                "pilothouse:///sessions/{id}",
                "a_session_and_its_log_are_resources_that_tell_of_changes",
            ),
            (
                "pilothouse:///sessions/{id}/log",
                "a_session_and_its_log_are_resources_that_tell_of_changes",
            ),
            (
                "they are about the Codex that is installed",
                "resources_tell_of_the_codex_that_is_installed",
            ),
            (
                "changes of a session are told to clients of 2025",
                "a_session_and_its_log_are_resources_that_tell_of_changes",
            ),
            (
                "changes of a session are told to clients of 2026",
                "a_modern_client_listens_to_a_session",
            ),
        ],
    ),
    (
        "exec and proto",
        &[
            (
                "what exec has no way to do is refused by name",
                "what_it_cannot_honour_is_refused_by_name_before_and_after_it_began",
            ),
            (
                "an interrupt is interrupted, and the next turn goes on",
                "an_interrupt_before_codex_spoke_ends_its_process_and_not_the_next_turn",
            ),
            (
                "a killed process loses its turn, not the thread",
                "a_killed_process_loses_its_turn_and_not_the_thread",
            ),
            ("a schema reaches the model", "a_schema_reaches_the_model_and_its_file_does_not_stay"),
            (
                "steering is refused where a turn takes nothing",
                "nothing_is_added_to_a_turn_that_takes_nothing",
            ),
            (
                "the refusal to steer names what takes nothing",
                "what_cannot_be_added_to_a_turn_is_refused_by_the_name_of_what_takes_nothing",
            ),
            (
                "a process that names no thread is given up",
                "a_process_that_names_no_thread_is_given_up",
            ),
            (
                "a dialect that is wanted is never replaced",
                "a_dialect_that_is_wanted_is_never_replaced",
            ),
            (
                "a version that is not told otherwise has the dialect that it speaks best",
                "what_is_not_forced_is_chosen_by_the_version",
            ),
            (
                "a closed session of proto ends its process",
                "a_closed_session_of_proto_takes_its_process_along",
            ),
        ],
    ),
    (
        "Environment and start",
        &[
            (
                "a client that only looks leaves no trace",
                "a_client_that_only_asks_what_there_is_leaves_no_trace",
            ),
            (
                "a missing Codex is an error at the first call",
                "a_missing_codex_is_said_with_what_to_do",
            ),
            (
                "end of input and each signal end all that was started",
                "whatever_ends_it_takes_all_that_it_started_along",
            ),
            ("lines that are no messages are answered", "lines_that_are_no_messages_are_answered"),
            (
                "whoever was refused a handshake may try again",
                "a_client_whose_handshake_was_refused_may_try_again",
            ),
        ],
    ),
];

/// What was broken on purpose to see the test fail.
pub(super) const MUTATIONS: &[Row] = &[
    (
        "a poll advises 120 s while a turn runs",
        "whoever_sleeps_as_long_as_it_is_told_is_back_before_an_ask_expires",
    ),
    (
        "an event that does not fit is left out instead of cut",
        "fewer_bytes_than_one_event_has_still_go_forward_through_all",
    ),
    (
        "results of an agent's tools lose their `_meta`",
        "what_a_tool_of_an_agents_server_gave_is_kept_as_it_was",
    ),
    ("a decline is sent as an accept", "each_decision_reaches_the_agent_and_a_reason_is_read"),
    (
        "the effort is not sent unless it is given",
        "the_effort_is_low_unless_someone_says_otherwise",
    ),
    (
        "a list shows the sessions of all callers",
        "a_caller_sees_others_only_if_it_asks_and_never_answers_for_them",
    ),
    ("a poll returns at once whatever it waits for", "a_waiting_poll_returns_with_the_change"),
    (
        "pages of an item end after the first",
        "megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages",
    ),
    (
        "a profile is named and not sent",
        "configuration_and_a_profile_hold_in_the_real_codex_as_they_were_given",
    ),
    (
        "a turn that was lost does not say by what fault",
        "a_codex_that_stops_reading_is_ended_and_the_next_reply_starts_it_anew",
    ),
    (
        "lines without sense are listened to for ever",
        "a_program_that_speaks_another_protocol_and_goes_on_is_not_waited_for",
    ),
    (
        "what comes before a handshake is passed on",
        "a_client_whose_handshake_was_refused_may_try_again",
    ),
    (
        "the diff of a change is told whole",
        "an_approval_of_a_long_change_is_told_in_few_bytes_and_read_in_pages",
    ),
];
