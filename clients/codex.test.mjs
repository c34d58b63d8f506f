// The official TypeScript SDK, which checks every result against the tool's schema.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

import { prompt, setStage } from "./stage.mjs";

const COMMAND = prompt([{ cmd: "mkdir -p sub && echo hi > sub/f.txt" }], [{ msg: "finished" }]);
const PATCH = prompt(
  [{ patch: "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n" }],
  [{ msg: "patched" }],
);

let stage;
let client;

before(async () => {
  stage = await setStage();
  client = new Client({ name: "typescript-sdk", version: "1" });
  await client.connect(new StdioClientTransport({ ...stage, stderr: "inherit" }));
  // It knows the schemas of tools only once it has listed them.
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((it) => it.name),
    ["codex", "codex_reply", "codex_session", "codex_check"],
  );
});

after(async () => {
  await client?.close();
  await stage?.close();
});

async function done(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result));
  return result.structuredContent;
}

const start = (text) =>
  done("codex", {
    prompt: text,
    approvalPolicy: "untrusted",
    sandbox: "workspace-write",
    cwd: stage.project,
  });

async function pollUntil(sessionId, wanted, more = {}) {
  for (;;) {
    const poll = { action: "poll", sessionId, waitMs: 20_000, maxEvents: 100, ...more };
    const found = await done("codex_check", poll);
    if (wanted(found)) return found;
  }
}

const action = async (sessionId) =>
  (await pollUntil(sessionId, (it) => it.actions?.length)).actions[0];
const outcome = async (sessionId) => (await pollUntil(sessionId, (it) => it.result)).result;
const decide = (sessionId, { requestId, digest }, decision) =>
  done("codex_check", { action: "respond_permission", sessionId, requestId, digest, decision });

test("a command is accepted, a change declined, and the session goes on", async () => {
  const { sessionId, status, threadId } = await start(COMMAND);
  assert.match(sessionId, /^sess_[0-9a-f]{32}$/);
  assert.equal(status, "running");
  assert.ok(threadId);
  const command = await action(sessionId);
  assert.equal(command.kind, "command");
  assert.ok(command.availableDecisions.includes("accept"));
  await decide(sessionId, command, "accept");
  const first = await outcome(sessionId);
  assert.deepEqual([first.status, first.output], ["completed", "finished"]);
  assert.equal(readFileSync(join(stage.project, "sub/f.txt"), "utf8"), "hi\n");

  const replied = await done("codex_reply", { sessionId, prompt: PATCH, wait: true });
  const [change] = replied.actions;
  assert.equal(change.kind, "fileChange");
  assert.match(change.diff, /\+hello/);
  await decide(sessionId, change, "decline");
  assert.equal((await outcome(sessionId)).output, "patched");
  assert.ok(!existsSync(join(stage.project, "hello.txt")));
});

test("an interrupted session is as good as new", async () => {
  const { sessionId } = await start(COMMAND);
  const pending = await action(sessionId);
  await done("codex_session", { action: "interrupt", sessionId });
  assert.equal((await outcome(sessionId)).status, "interrupted");
  const late = await client.callTool({
    name: "codex_check",
    arguments: {
      action: "respond_permission",
      sessionId,
      requestId: pending.requestId,
      decision: "accept",
    },
  });
  assert.ok(late.isError);
  assert.equal(late.structuredContent.error.code, "ALREADY_SETTLED");
  const text = prompt([{ msg: '{"answer": 42}' }]);
  const outputSchema = {
    type: "object",
    properties: { answer: { type: "integer" } },
    required: ["answer"],
    additionalProperties: false,
  };
  const replied = await done("codex_reply", { sessionId, prompt: text, outputSchema, wait: true });
  assert.deepEqual(replied.result.structuredOutput, { answer: 42 });
});

test("every form of a result meets its schema", async () => {
  const { sessionId } = await start(prompt([{ reason: "hm" }, { msg: "hello" }]));
  await pollUntil(sessionId, (it) => it.result);
  for (const responseMode of ["minimal", "delta_compact", "full"]) {
    const all = { action: "poll", sessionId, cursor: 0, maxEvents: 500, responseMode };
    const found = await done("codex_check", all);
    assert.deepEqual(
      found.events.map((it) => it.id),
      found.events.map((_, index) => index),
    );
    assert.equal(found.result.output, "hello");
    const message = found.events.findLast((it) => it.type === "output");
    const itemId = message.data.itemId;
    const { output } = await done("codex_check", { action: "output", sessionId, itemId });
    assert.equal(output.text, "hello");
    const cut = await done("codex_check", { ...all, pollOptions: { maxBytes: 900 } });
    assert.ok(cut.nextCursor > 0);
  }
  const includeSensitive = true;
  await done("codex_session", { action: "list" });
  await done("codex_session", { action: "get", sessionId, includeSensitive });
  await done("codex_session", { action: "rename", sessionId, title: "hello" });
  const { models } = await done("codex_session", { action: "models" });
  assert.ok(models.length > 0);
  const fork = await done("codex_session", { action: "fork", sessionId });
  assert.notEqual(fork.sessionId, sessionId);
  await done("codex_session", { action: "cancel", sessionId: fork.sessionId });
});

test("resources are read", async () => {
  const { resources } = await client.listResources();
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri });
    assert.ok(contents[0].text.length > 0, uri);
  }
});
