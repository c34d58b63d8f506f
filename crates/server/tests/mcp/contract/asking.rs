//! The rows of the tools that ask people.

use super::rows::Row;

/// By section of the contract.
pub(super) const ASKING: &[(&str, &[Row])] = &[
    (
        "request_choice and request_form",
        &[
            ("request_choice.message", "a_person_chooses_in_a_form_of_either_version"),
            ("request_choice.questions", "a_form_comes_to_the_answers_that_it_holds"),
            ("request_choice.timeoutMs", "a_question_that_nobody_answered_in_time_is_no_refusal"),
            ("request_choice.askId", "without_forms_the_caller_is_told_where_a_person_can_answer"),
            ("request_form.message", "a_form_of_any_field_comes_back_as_it_was_filled_in"),
            ("request_form.requestedSchema", "a_form_of_any_field_comes_back_as_it_was_filled_in"),
            ("request_form.timeoutMs", "a_question_that_nobody_answered_in_time_is_no_refusal"),
            ("request_form.askId", "a_form_is_filled_in_at_the_console_too"),
            ("request_form.url", "a_page_of_the_callers_own_is_done_with_when_the_person_says_so"),
            (
                "wrong counts, ids and fields are named",
                "a_choice_that_is_none_is_refused_and_the_field_is_named",
            ),
            ("secrets are refused", "a_form_that_none_may_see_is_refused"),
            ("words of one's own are other", "free_text_of_a_person_elsewhere_is_other_too"),
            ("no and no answer have no answers", "what_is_no_answer_has_no_answers"),
        ],
    ),
    (
        "run_command",
        &[
            ("run_command.command", "what_only_reads_runs_at_once_and_its_three_fields_are_told"),
            ("run_command.args", "everything_else_is_a_form_of_one_yes_or_no_and_only_yes_runs_it"),
            ("run_command.cwd", "what_only_reads_runs_at_once_and_its_three_fields_are_told"),
            ("run_command.timeoutMs", "a_call_that_is_wrong_is_told_which_argument_is"),
            (
                "run_command.reason",
                "everything_else_is_a_form_of_one_yes_or_no_and_only_yes_runs_it",
            ),
            (
                "run_command.askId",
                "without_forms_a_person_answers_elsewhere_and_the_result_is_collected_again_and_again",
            ),
            (
                "the alias, what may run, and rules",
                "the_settings_offer_it_name_it_and_let_programs_run_and_a_rule_refuses_as_a_rule",
            ),
            (
                "inside Codex it is one card",
                "a_model_asks_for_a_command_a_person_answers_one_card_and_the_model_reads_the_result",
            ),
        ],
    ),
    (
        "Where a question is shown",
        &[
            (
                "a form on the connection, by version",
                "forms_on_a_connection_are_as_their_version_has_them",
            ),
            ("a result that asks", "a_call_returns_with_a_form_and_comes_back_with_the_choice"),
            (
                "its state is good for its own call",
                "a_request_state_is_worth_something_for_its_own_call_only",
            ),
            ("and for one store", "a_request_state_of_another_store_is_worth_nothing"),
            ("and for a time", "a_request_state_that_has_expired_accepts_nothing"),
            ("another process takes the reply", "a_reply_is_taken_by_the_process_that_it_comes_to"),
            (
                "the first answer wins",
                "one_of_a_hundred_answers_over_mcp_rest_and_terminals_reaches_the_agent",
            ),
            (
                "the form goes when another answered",
                "an_answer_given_elsewhere_takes_the_form_away",
            ),
            ("no reply is not shown", "a_client_that_ignores_its_form_does_not_show_it"),
            ("a no at once is not shown", "a_no_that_comes_at_once_is_no_persons"),
            (
                "what does not fit twice is not shown",
                "what_does_not_fit_is_asked_once_more_and_then_was_not_shown",
            ),
        ],
    ),
];
