//! What users of other bridges reported, and what holds it here; `docs/field-reports.md` says so.
//!
//! The numbers are those of our own collection of reports. The file is written anew by
//!
//! ```text
//! PILOTHOUSE_RECORD=1 cargo nextest run -p pilothouse-server --test mcp field_report
//! ```

mod asking;

use std::fs;

use pilothouse_testkit::workspace_root;

use crate::contract::tests;

/// A report: its number, what went wrong, what we do, and the tests that hold it.
struct Report(u32, &'static str, &'static str, &'static [&'static str]);

const STREAMS: &[Report] = &[
    Report(
        106,
        "Output in another code page came out garbled on Windows.",
        "Codex decodes what its commands print. Bytes in its own lines that are no UTF-8 become U+FFFD; all around them stays, wherever the stream was cut.",
        &[
            "bytes_that_are_no_text_are_marked_and_lose_nothing_around_them",
            "every_way_to_cut_a_stream_gives_the_same_lines",
            "a_character_in_two_pieces_is_told_once_it_is_whole",
        ],
    ),
    Report(
        107,
        "The same in the command that a person was asked to allow.",
        "The question is raised, with U+FFFD where the bytes were.",
        &["bytes_that_are_no_text_are_marked_and_lose_nothing_around_them"],
    ),
    Report(
        108,
        "`codex exec` waited for more input because it inherited an open stdin.",
        "Its stdin is always a pipe of ours, closed after the prompt.",
        &["the_pinned_codex_as_exec", "large_and_odd_prompts_go_by_standard_input"],
    ),
    Report(
        109,
        "Started from a desktop, the npm wrapper found no node and exited with 127.",
        "The native program behind the wrapper is started; where there is none, the missing node is named.",
        &["a_wrapper_without_its_native_program_needs_node"],
    ),
    Report(
        110,
        "The wrapper looked for the native program where an older package had it.",
        "Every layout of the package is known.",
        &["the_native_program_is_found_in_every_layout"],
    ),
    Report(
        112,
        "Keys with dots or quotes were lost on the command line without a word.",
        "Configuration is sent as JSON with the thread; where only a command line can carry it, such keys are refused by name.",
        &[
            "configuration_arrives_as_it_was_given",
            "configuration_and_a_profile_hold_in_the_real_codex_as_they_were_given",
            "keys_that_would_be_read_otherwise_are_refused",
        ],
    ),
    Report(
        114,
        "A backslash and a t in a Windows path became a tab.",
        "Nothing is pasted into TOML: values are JSON, or written as TOML by one function.",
        &[
            "configuration_and_a_profile_hold_in_the_real_codex_as_they_were_given",
            "values_are_written_on_one_line",
        ],
    ),
    Report(
        115,
        "An app-server ignored MCP servers that were configured on its command line.",
        "They are the thread's configuration, and a real Codex calls a tool of one.",
        &["forms_and_questions_are_answered_and_an_approval_expires_without_being_declined"],
    ),
    Report(
        116,
        "A policy was removed from Codex, and from then on every request failed.",
        "What each version has is known in one place; a removed policy becomes the nearest one, and the result says so.",
        &[
            "spellings_follow_the_version",
            "every_parameter_of_a_start_reaches_the_thread_or_its_first_turn",
        ],
    ),
    Report(
        117,
        "`codex mcp-server` is gone, and its clients see a closed connection.",
        "`pilothouse mcp --compat codex` says what its last version said, call by call.",
        &["the_recorded_server_and_this_one_say_the_same"],
    ),
    Report(
        118,
        "Its users need the same tool names, and a check that the server will start.",
        "The names are the same; a start that fails names the Codex that was found, with Codex's last words.",
        &[
            "the_recorded_server_and_this_one_say_the_same",
            "a_codex_that_dies_at_once_leaves_its_last_words",
        ],
    ),
    Report(
        119,
        "There was no way to stop a thread.",
        "Taking back the call interrupts the turn; `interrupt` and `cancel` do it by name.",
        &[
            "the_recorded_server_and_this_one_say_the_same",
            "three_sessions_share_one_codex_and_do_not_mix",
        ],
    ),
    Report(
        120,
        "Some of what Codex can do was out of reach over MCP.",
        "Callers get no way to speak Codex's own protocol, since that would go around what people are asked. Programs that embed the crate have one.",
        &["a_raw_request_is_about_the_session_s_thread_and_is_always_answered"],
    ),
    Report(
        121,
        "An old Codex rejected a new method, and the button did nothing.",
        "What a version cannot do is refused by name and version, and what Codex rejects stands in the log.",
        &[
            "old_versions_say_that_they_cannot_fork",
            "what_is_managed_goes_out_and_its_failure_is_noted",
            "what_cannot_be_added_to_a_turn_is_refused_by_the_name_of_what_takes_nothing",
        ],
    ),
    Report(
        122,
        "Events of a sub-agent ended or replaced the turn of its parent.",
        "They are marked with their thread, and only the session's own turn ends it.",
        &[
            "a_sub_agent_is_known_by_the_turn_that_it_serves",
            "the_asks_of_a_sub_agent_outlive_the_turn_but_not_the_agent",
        ],
    ),
    Report(
        124,
        "A bridge over `codex exec` forced a policy that the company forbids.",
        "The app-server is spoken to wherever there is one. Where `codex exec` forces `never`, the session says so, and Codex's own requirements still hold.",
        &["what_is_not_forced_is_chosen_by_the_version", "a_forced_policy_is_said"],
    ),
    Report(
        125,
        "A permission tool was not there yet when a session began, and all sessions failed.",
        "Cannot happen: Codex asks over its own protocol, and our tools are listed before anything is started.",
        &["a_client_that_only_asks_what_there_is_leaves_no_trace"],
    ),
    Report(
        126,
        "Without a browser nothing was opened, no address was shown, and the call never came back.",
        "No browser is opened. Where a person is needed the text says where, a console or `pilothouse inbox`, and no call waits for ever.",
        &[
            "a_session_is_adopted_when_a_person_allows_it",
            "the_first_progress_names_the_thread_and_the_next_where_to_answer",
            "a_codex_that_hangs_in_its_start_leaves_the_caller_its_handle",
        ],
    ),
];

const SIZES: &[Report] = &[
    Report(
        128,
        "One tool result took four times the tokens that its client takes.",
        "A default result of a turn with 5 MB of output is under 8 KB, and the rest is read in pages.",
        &["megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages"],
    ),
    Report(
        129,
        "The state of one approval was as large as its whole change.",
        "A change of 300 KB is asked for in under 8 KB; all of it is read by its item.",
        &["an_approval_of_a_long_change_is_told_in_few_bytes_and_read_in_pages"],
    ),
    Report(
        130,
        "One large event kept the list of sessions from loading.",
        "A list has no events in it; a session that holds 5 MB is a line like any other.",
        &[
            "megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages",
            "results_fit_and_make_progress_and_nothing_is_out_of_reach",
        ],
    ),
    Report(
        132,
        "Asked for everything, codex-mcp sent 5 MB of output twice in one result.",
        "No result is over 64 KB unless the caller asks for that.",
        &["megabytes_of_output_and_a_long_diff_are_told_in_few_bytes_and_read_in_pages"],
    ),
];

#[test]
fn every_field_report_has_its_tests() {
    let tests = tests(&workspace_root().join("crates"));
    let mut lines = vec![
        "# Field reports\n".to_owned(),
        "What users of other bridges between agents and people reported, as far as it is about \
         asking, streams, platforms, versions and sizes, and what holds it here. Written by the test \
         `every_field_report_has_its_tests`, which fails if a test that is named here is missing."
            .to_owned(),
    ];
    for (section, reports) in [
        ("Questions that hang, vanish or answer themselves", asking::ASKING),
        ("Wrong, double, blind or too wide decisions", asking::DECIDING),
        ("Forms, and delivery between processes", asking::FORMS),
        ("Streams, platforms, configuration, versions", STREAMS),
        ("Sizes", SIZES),
    ] {
        lines.push(format!("\n## {section}\n"));
        lines.push("| No. | What went wrong | What holds here | Tests |\n|---|---|---|---|".into());
        for Report(number, symptom, answer, shown) in reports {
            for test in *shown {
                assert!(tests.contains_key(*test), "{number}: there is no test {test}");
            }
            let shown = shown.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
            lines.push(format!("| {number} | {symptom} | {answer} | {shown} |"));
        }
    }
    let written = lines.join("\n") + "\n";
    let path = workspace_root().join("docs/field-reports.md");
    if std::env::var_os("PILOTHOUSE_RECORD").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == written, "docs/field-reports.md is stale; this file says how to write it");
}
