//! Recordings of the real Codex, replayed into the logs that sessions would have kept.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod client;
mod desk;
mod exec;
mod lines;
mod proto;

use client::{Client, Replayed};
use pilothouse_testkit::recording::{self, Normaliser, Recording};
use serde_json::Value;

/// How a recording is replayed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// What our client says is compared with what the recorded one said.
    Both,
    /// The recorded client did what ours never does, so only Codex's half counts.
    In,
}
use Mode::{Both, In};

macro_rules! recordings {
    ($($name:ident $(= $file:literal)?: $mode:ident,)*) => {$(
        #[test]
        fn $name() {
            let files: &[&str] = &[$($file,)? stringify!($name)];
            replay(files[0], $mode);
        }
    )*};
}

recordings! {
    approval_bad_decision: In,
    approval_error_response: In,
    approval_string_id_mismatch: In,
    background_terminals: Both,
    cmd_approval_accept: Both,
    cmd_approval_accept_for_session: Both,
    cmd_approval_cancel: Both,
    cmd_approval_decline: Both,
    cmd_approval_execpolicy_amendment: Both,
    cmd_approval_non_experimental: Both,
    cmd_onrequest_escalated_accept: Both,
    cmd_onrequest_escalated_accept_for_session: Both,
    cmd_onrequest_escalated_decline: Both,
    cmd_onrequest_sandbox_denied: Both,
    cmd_output_deltas_exit3: Both,
    codemode_approval_slow_human: Both,
    codemode_approval_slow_human_model_waits: Both,
    codemode_command_and_patch: Both,
    codemode_js_error: Both,
    codemode_parallel_approvals: In,
    codemode_request_user_input_async: Both,
    codemode_request_user_input_plan: Both,
    codemode_send_message_async: Both,
    codemode_sleep: Both,
    codemode_spawn_agent: Both,
    context_compaction: Both,
    direct_tool_approval_slow_human: Both,
    dynamic_tool_failure: In,
    dynamic_tool_success: In,
    error_http_400: Both,
    error_http_401: Both,
    error_http_429_usage: Both,
    error_http_500: Both,
    error_http_500_request_retry: Both,
    error_response_failed_context_window: Both,
    error_response_failed_rate_limit: Both,
    error_response_incomplete: Both,
    error_stream_cut_no_retry: Both,
    error_stream_cut_retry_ok: Both,
    execpolicy_amendment_leaks_to_other_threads: Both,
    experimental_gating: In,
    file_change_accept: Both,
    file_change_accept_for_session: Both,
    file_change_accept_multi: Both,
    file_change_bad_patch: Both,
    file_change_decline: Both,
    file_change_onrequest_in_workspace_no_prompt: Both,
    file_change_onrequest_readonly: Both,
    image_inputs: Both,
    image_local_missing: Both,
    image_view_tool: Both,
    mcp_elicitation_form_accept: Both,
    mcp_elicitation_form_cancel: Both,
    mcp_elicitation_policy_never: Both,
    mcp_elicitation_url_accept: Both,
    mcp_tool_approval_policy_never: Both,
    mcp_tool_call_approve_persist_session: Both,
    mcp_tool_call_mutating_onrequest_accept: Both,
    mcp_tool_call_mutating_onrequest_decline: Both,
    mcp_tool_call_mutating_untrusted_accept: Both,
    mcp_tool_call_readonly: Both,
    mcp_tool_iserror: Both,
    mcp_tool_progress: Both,
    mcp_tool_rpc_error: Both,
    mcp_tool_structured: Both,
    model_list: Both,
    multi_thread_interleaved: Both,
    notification_optout: Both,
    output_schema: Both,
    overload_request_flood: Both,
    per_thread_config: Both,
    permissions_approval_grant_turn: Both,
    plain_turn: Both,
    plan_mode_proposed_plan: Both,
    plan_updates: Both,
    plan_updates_default_off: Both,
    protocol_errors: In,
    request_user_input_default_mode_feature: Both,
    request_user_input_default_mode_unavailable: Both,
    request_user_input_empty_answer: In,
    request_user_input_plan_mode: Both,
    request_user_input_policy_never: Both,
    review_start_detached: Both,
    review_start_inline: Both,
    sigint_streaming: Both,
    sigkill_command: Both,
    sigkill_command_fullaccess: Both,
    sigterm_command: Both,
    sigterm_streaming: Both,
    stdin_eof_approval: Both,
    stdin_eof_command: Both,
    stdin_eof_streaming: Both,
    streaming_deltas: Both,
    terminal_interaction_stdin_onrequest_escalated: Both,
    thread_ephemeral: Both,
    thread_lifecycle: Both,
    thread_resume_after_kill_streaming: Both,
    thread_resume_no_turns: Both,
    thread_revert: Both,
    thread_shell_command: Both,
    thread_unload_after_unsubscribe: Both,
    turn_interrupt_approval_pending: In,
    turn_interrupt_command: Both,
    turn_interrupt_streaming: Both,
    two_processes_same_thread_a = "two_processes_same_thread_A": Both,
    two_processes_same_thread_b = "two_processes_same_thread_B": Both,
    unix_two_clients_a = "unix_two_clients_A": Both,
    unix_two_clients_b = "unix_two_clients_B": Both,
    web_search: Both,
    web_search_openpage: Both,
    ws_late_attach_c = "ws_late_attach_C": Both,
    ws_reattach_d = "ws_reattach_D": Both,
    ws_reattach_e_pending_approval = "ws_reattach_E_pending_approval": Both,
    ws_two_clients_a = "ws_two_clients_A": In,
    ws_two_clients_b = "ws_two_clients_B": Both,
    battery: Both,
}

/// The same conversation with each version that is supported: something is asked, every turn
/// that Codex ended is over, and it goes on after the process was killed.
#[test]
fn every_supported_version_asks_and_ends_its_turns() {
    for version in ["0.63.0", "0.77.0", "0.104.0", "0.125.0", "0.148.0", "0.169.0", "0.171.0"] {
        let recording = recording::named(&format!("app-server-{version}"), "battery").unwrap();
        let n_completed =
            recording.from_codex().filter(|it| it["method"] == "turn/completed").count();
        let replayed = Client::replay(&recording);
        let count = |word: &str| replayed.log.lines().filter(|it| it.contains(word)).count();
        assert!(count("AskRaised") >= 2, "{version}\n{}", replayed.log);
        assert!(replayed.log.contains("mkdir -p vv"), "{version}\n{}", replayed.log);
        assert!(replayed.log.contains("hello.txt"), "{version}\n{}", replayed.log);
        let n_lost = count("Lost");
        assert_eq!(count("TurnEnded") - n_lost, n_completed, "{version}\n{}", replayed.log);
        let end = replayed.log.lines().rfind(|it| it.contains("TurnEnded")).unwrap();
        assert!(end.contains("Completed") && end.contains("back"), "{version}: {end}");
    }
}

#[test]
fn a_version_that_never_ends_a_turn_is_refused() {
    let recording = recording::named("app-server-0.57.0", "battery").unwrap();
    let replayed = Client::replay(&recording);
    assert!(
        replayed.log.contains("Broken: Codex 0.57.0 does not say when a turn is over"),
        "{}",
        replayed.log
    );
}

#[test]
fn recordings_of_the_other_dialects_are_listed_and_tell_no_place() {
    let readme = std::fs::read_to_string(recording::fixtures().join("README.md")).unwrap();
    let folders = ["exec-0.40.0", "exec-0.42.0", "exec-0.44.0", "exec-0.47.0", "exec-0.171.0"];
    for folder in folders.into_iter().chain(["proto-0.42.0"]) {
        for recording in recording::all(folder).unwrap() {
            let name = &recording.scenario;
            assert!(readme.contains(&format!("`{name}`")), "{folder}/{name}");
            for line in recording.lines() {
                let text = line.msg.to_string();
                for place in ["/root/", "/work/", "/Users/", "Bearer ", "\"/tmp/"] {
                    assert!(!text.contains(place), "{folder}/{name}: {text}");
                }
            }
        }
    }
}

fn replay(name: &str, mode: Mode) {
    let recording = recording::named("app-server-0.171.0", name).unwrap();
    let replayed = Client::replay(&recording);
    if mode == Both {
        compare(&recording, &replayed);
    }
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(name, replayed.log);
    });
}

/// Compares line by line, without who the client is and what ours adds of its own accord.
fn compare(recording: &Recording, replayed: &Replayed) {
    let mut normaliser = Normaliser::default();
    let mut normal = |it: &Value| {
        let mut it = it.clone();
        if it["method"] == "initialize" {
            it["params"] = Value::Null;
        }
        if let Some(params) = it.get_mut("params").and_then(Value::as_object_mut) {
            params.remove("excludeTurns");
            params.remove("delivery");
            for part in params.get_mut("input").and_then(Value::as_array_mut).into_iter().flatten()
            {
                part.as_object_mut().unwrap().remove("text_elements");
            }
        }
        if it["params"].as_object().is_some_and(serde_json::Map::is_empty) {
            it["params"] = Value::Null;
        }
        if let Some(meta) = it.get_mut("result").and_then(Value::as_object_mut)
            && meta
                .get("content")
                .is_some_and(|it| it.as_object().is_some_and(serde_json::Map::is_empty))
        {
            // To a yes or no, no content and empty content are the same.
            meta.remove("content");
        }
        normaliser.message(&it)
    };
    let theirs: Vec<_> = recording.from_client().map(&mut normal).collect();
    // Both halves name the same threads, so one normaliser serves both; its numbers of requests
    // must not go on counting, though.
    let mut ours: Vec<_> = replayed.said.iter().map(&mut normal).collect();
    let n_requests =
        theirs.iter().filter(|it| it.get("method").is_some() && it.get("id").is_some()).count();
    for it in &mut ours {
        if it.get("method").is_some()
            && let Some(id) = it.get("id").and_then(Value::as_u64)
        {
            it["id"] = (id - n_requests as u64).into();
        }
    }
    let name = &recording.scenario;
    for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "{name}: message {}", n + 1);
    }
    let rest = [&ours[theirs.len().min(ours.len())..], &theirs[ours.len().min(theirs.len())..]];
    assert!(rest.concat().is_empty(), "{name}: only ours or only theirs: {rest:?}");
}
