//! Reports on approvals, questions and forms: asked, decided, delivered.

use super::Report;

pub(super) const ASKING: &[Report] = &[
    Report(
        3,
        "The agent said that it waits for an approval, no request ever came, and the turn stalled in silence.",
        "A thread that says so without a request is noted in the log after 10 s, and every surface shows the note.",
        &["a_thread_that_waits_without_a_request_is_noted"],
    ),
    Report(
        5,
        "One surface showed that something waits, but not what.",
        "Whoever comes late sees the whole ask, from the store.",
        &["an_ask_is_shown_whole_before_and_after_it_is_settled"],
    ),
    Report(
        6,
        "A request of an unexpected kind got no answer, or a wrong one.",
        "What nobody here can do is refused at once, and each request of each recording has its outcome.",
        &[
            "what_nobody_here_can_do_is_refused_at_once",
            "a_request_by_a_thread_that_stays_unknown_is_refused",
        ],
    ),
    Report(
        7,
        "Calls of MCP tools are approved by an elicitation, which was overlooked.",
        "It is an approval with server, tool and arguments, under every policy.",
        &["a_tool_call_is_asked_for_as_an_elicitation"],
    ),
    Report(
        8,
        "The same, as Codex changed the way in which it asks.",
        "Nine versions and dialects are driven through their approvals.",
        &["every_supported_version_asks_and_ends_its_turns"],
    ),
    Report(
        9,
        "The answer had the wrong shape and was read as a refusal.",
        "The exact reply to each kind of request is held by a test.",
        &[
            "a_form_is_answered_with_an_action_and_its_content",
            "questions_are_answered_by_name",
            "permissions_are_granted_as_requested_or_not_at_all",
        ],
    ),
    Report(
        10,
        "A form without fields was declined by itself.",
        "It is a yes or no.",
        &["an_empty_form_is_a_yes_or_no"],
    ),
    Report(
        11,
        "A card had nothing on it.",
        "What a request does not name is taken from its item.",
        &["a_request_that_names_no_command_shows_that_of_its_item"],
    ),
    Report(
        12,
        "A second click was told that there is no such request, for ever.",
        "It is told who was first, and when.",
        &[
            "an_answer_that_comes_second_hears_who_was_first_and_when",
            "of_a_hundred_answers_at_once_one_reaches_the_agent_and_the_rest_hear_who_was_first",
        ],
    ),
    Report(
        13,
        "A tool of the wrapper's own needed an approval that no surface showed.",
        "Codex does not ask about our own tools, and what they ask is one card.",
        &["a_model_asks_for_a_command_a_person_answers_one_card_and_the_model_reads_the_result"],
    ),
    Report(
        14,
        "A policy was sent that Codex no longer has.",
        "What each version has is known in one place; what it lacks is replaced with a word, or refused.",
        &["spellings_follow_the_version", "a_forced_policy_is_said"],
    ),
    Report(
        15,
        "The page showed another policy than the one in force.",
        "Every surface shows what Codex confirmed.",
        &["a_session_with_its_agent_shows_what_the_agent_confirmed"],
    ),
    Report(
        16,
        "A click was not delivered, and nobody said so.",
        "The answer is on record first. If the agent is gone by then, its turn is lost, and says so.",
        &["a_killed_agent_loses_the_turn_and_the_thread_remembers_the_earlier_ones"],
    ),
    Report(
        18,
        "A stop left what was pending hanging.",
        "What was pending is withdrawn with the turn.",
        &[
            "interrupt_while_an_ask_is_pending",
            "an_interrupt_stops_the_turn_the_command_and_the_question",
        ],
    ),
    Report(
        19,
        "Requests other than approvals were ignored, and the turn stalled.",
        "See 6.",
        &["what_nobody_here_can_do_is_refused_at_once"],
    ),
    Report(
        21,
        "Full access was used although read-only was asked for.",
        "What was asked for is sent, always, and what Codex made of it is shown.",
        &["every_parameter_of_a_start_reaches_the_thread_or_its_first_turn"],
    ),
    Report(
        22,
        "Nobody had seen it, and the transcript said that the person declined.",
        "The real model never reads of a refusal.",
        &["nobody_answers_and_the_model_never_reads_of_a_refusal"],
    ),
    Report(
        23,
        "The agent asked the same thing for ever, as nobody answered.",
        "After the third time the turn is stopped.",
        &["what_nobody_answers_three_times_stops_the_turn"],
    ),
    Report(
        24,
        "A yes that came too late was ignored without a word.",
        "It is told that the request expired, and when; a new prompt has it asked again.",
        &["an_answer_that_comes_second_hears_who_was_first_and_when"],
    ),
    Report(
        25,
        "No answer was taken for \"as you think best\".",
        "Only a rule that a person wrote chooses for them, and never a yes to an approval.",
        &["silence_says_what_a_rule_lets_it_say_and_never_yes"],
    ),
    Report(
        27,
        "Questions answered themselves with nothing after a minute.",
        "A question waits as long as any ask; see 25.",
        &[
            "patience_has_its_end_fixed_when_the_ask_is_raised",
            "silence_says_what_a_rule_lets_it_say_and_never_yes",
        ],
    ),
    Report(
        29,
        "A question did not survive until the person came back.",
        "A kept agent waits without Pilothouse, and its question reaches the same turn.",
        &[
            "an_answer_on_record_is_told_to_who_asks_again",
            "the_answer_after_a_kill_reaches_the_same_turn_once",
        ],
    ),
    Report(
        30,
        "There was no structured question that blocks, takes free text, and can be cancelled.",
        "`request_choice` is one.",
        &["an_option_is_meant_by_its_name_and_anything_else_is_written_apart"],
    ),
    Report(
        31,
        "A tool was listed and could not be used.",
        "What is not offered is not listed, and what is listed is called by these tests.",
        &["tools_that_are_not_offered_are_not_there"],
    ),
    Report(
        32,
        "The caller was told to come back later than the deadline.",
        "It is told a time that lies before half of the shortest deadline.",
        &["whoever_sleeps_as_long_as_it_is_told_is_back_before_an_ask_expires"],
    ),
];

pub(super) const DECIDING: &[Report] = &[
    Report(
        33,
        "The second approval showed the first one's change.",
        "A change is joined with its own item, and an answer names the digest of what was shown.",
        &["a_file_change_shows_the_diff_of_its_own_item", "an_answer_is_bound_to_what_was_shown"],
    ),
    Report(
        36,
        "Two approvals shared an idempotency key.",
        "There are none: an answer names its ask and the ask's digest.",
        &["an_answer_is_bound_to_what_was_shown"],
    ),
    Report(
        37,
        "A retrying agent piled up cards for one action.",
        "A request that is heard again, and what a caller asks again while it waits, is no new ask. What an agent asks anew is one, and at most 256 wait.",
        &[
            "a_request_that_is_heard_again_is_no_new_ask",
            "what_is_asked_again_while_it_waits_is_the_same_ask_and_afterwards_another",
            "too_many_asks_are_refused_at_once",
        ],
    ),
    Report(
        38,
        "After a reconnect what had been answered came back.",
        "The inbox is the store's, and the store is the fold of the log.",
        &[
            "rules_hold_in_every_history",
            "a_reader_gets_events_and_deltas_and_resumes_where_it_was",
        ],
    ),
    Report(
        39,
        "Several approvals shared an id, and their answers became one.",
        "Each has its own.",
        &["each_of_several_requests_about_one_item_has_its_own_answer"],
    ),
    Report(
        40,
        "What had been settled was asked again after a restart.",
        "An agent that asks again is told what was said.",
        &["an_answer_on_record_is_told_to_who_asks_again"],
    ),
    Report(
        41,
        "The first protocol's approvals reached the wrong thread.",
        "They reach their own.",
        &["the_first_protocol_s_approvals_reach_their_session"],
    ),
    Report(
        43,
        "A card had no detail when the agent gave no reason.",
        "The card is made of the subject, never of the reason.",
        &["a_file_change_shows_the_diff_of_its_own_item"],
    ),
    Report(
        44,
        "Rules did not see which files a change is about.",
        "They see each.",
        &[
            "a_path_is_refused_wherever_the_rule_may_mean",
            "files_are_allowed_all_together_and_refused_for_one",
        ],
    ),
    Report(
        47,
        "\"Don't ask again\" remembered one exact line.",
        "A rule is about words that begin a command, and `pilothouse rules preview` shows what it would have answered.",
        &[
            "other_settings_are_not_looked_at",
            "a_line_is_allowed_if_each_command_is_allowed_or_only_reads",
        ],
    ),
    Report(
        48,
        "Nobody could say whether a grant holds here or everywhere.",
        "A rule says where it holds, and none is written in a person's place.",
        &[
            "a_rule_holds_in_the_directory_of_the_session_and_in_no_other",
            "a_rule_of_a_session_holds_in_no_other",
        ],
    ),
    Report(
        49,
        "Grants could neither be seen nor taken back.",
        "`pilothouse rules list` and `revoke`; what was taken back answers no more.",
        &["a_rule_that_is_taken_back_answers_no_more"],
    ),
    Report(
        51,
        "The buttons of a group acted on the last of it.",
        "There are none: each ask has its own answer, and its own line in the log.",
        &["each_of_several_requests_about_one_item_has_its_own_answer"],
    ),
];

pub(super) const FORMS: &[Report] = &[
    Report(
        94,
        "A choice of several made a client fail.",
        "On the wire it is a yes or no for each option, which every client that shows forms can show.",
        &["a_person_chooses_in_a_form_of_either_version"],
    ),
    Report(
        96,
        "`anyOf` in a form was not understood.",
        "Each spelling that a form may have is.",
        &["a_field_takes_values_of_its_type_within_its_bounds"],
    ),
    Report(
        98,
        "A client that only opens pages was sent a form.",
        "It is sent to a page, or told where a person can answer.",
        &["a_client_that_only_opens_pages_is_sent_to_the_console"],
    ),
    Report(
        99,
        "What a client says that it can show was read wrongly.",
        "An empty word means forms, and each request of the newest protocol has its own.",
        &["each_request_says_what_its_client_can_show"],
    ),
    Report(
        100,
        "The SDK misread declined forms and forms without a reply.",
        "Its version is pinned, and yes, no, dismissed and nothing at all are tests in both eras of the protocol.",
        &["a_no_that_took_its_time_is_a_no", "a_retry_without_a_reply_is_asked_again"],
    ),
    Report(
        102,
        "The two halves of a question had to meet in one process.",
        "Any process of the store takes the answer, and the one that waits hears of it at once.",
        &[
            "a_waiting_poll_hears_of_an_answer_in_the_console_at_once",
            "of_two_answers_at_the_same_instant_one_wins_and_the_other_is_told_who",
            "whoever_waits_for_an_ask_hears_of_its_end_on_whichever_node_it_comes",
        ],
    ),
    Report(
        103,
        "A session that another process had was an error in a loop.",
        "There are no protocol sessions on standard input; handles are arguments, and hold in every process of the store.",
        &["a_session_of_one_node_is_listed_and_answered_over_another"],
    ),
];
