// The official TypeScript SDKs as clients whose people are asked: the one of old, and today's in
// both eras.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client as Today } from "@modelcontextprotocol/client";
import { StdioClientTransport as TodayTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { setStage } from "./stage.mjs";

const NAME = "typescript-sdk";
const COLOUR = {
  message: "Paint the shed?",
  questions: [
    {
      id: "colour",
      header: "Colour",
      question: "Which colour?",
      options: [
        { id: "red", label: "Red", description: "As it was." },
        { id: "blue", label: "Blue", description: "As the door is." },
      ],
    },
  ],
};
const BLUE = {
  action: "accept",
  answers: [
    { questionId: "colour", selectedId: "blue", selectedLabel: "Blue", otherText: null },
  ],
};

let stage;

before(async () => {
  stage = await setStage();
});

after(() => stage?.close());

const server = () => ({
  ...stage,
  args: ["mcp", "--tools", "codex,choice,form"],
  stderr: "inherit",
});

/** The SDK of old: asked on its connection. */
async function ofOld(elicitation, answer) {
  const client = new Client({ name: NAME, version: "1" }, { capabilities: { elicitation } });
  client.setRequestHandler(ElicitRequestSchema, answer);
  await client.connect(new StdioClientTransport(server()));
  return client;
}

/** Today's SDK, in either era. */
const ofToday = (mode) => async (elicitation, answer) => {
  const client = new Today(
    { name: NAME, version: "1" },
    { capabilities: { elicitation }, versionNegotiation: { mode } },
  );
  client.setRequestHandler("elicitation/create", answer);
  await client.connect(new TodayTransport(server()));
  return client;
};

const clients = {
  "the SDK of old": ofOld,
  "today's SDK with a handshake": ofToday("legacy"),
  "today's SDK without one": ofToday("auto"),
};

for (const [name, connect] of Object.entries(clients)) {
  test(`${name}: a choice, a form and a page`, async () => {
    const asked = [];
    const client = await connect({ form: {}, url: {} }, async ({ params }) => {
      asked.push(params);
      if (params.mode === "url") return { action: "accept" };
      const content = params.requestedSchema.properties.q1 ? { q1: "blue" } : { name: "Jo" };
      return { action: "accept", content };
    });
    const names = (await client.listTools()).tools.map((it) => it.name);
    assert.ok(names.includes("request_choice") && names.includes("request_form"), names);
    const choice = await client.callTool({ name: "request_choice", arguments: COLOUR });
    assert.deepEqual(choice.structuredContent, BLUE);
    const requestedSchema = {
      type: "object",
      properties: { name: { type: "string", minLength: 1 } },
      required: ["name"],
    };
    const form = { message: "Who are you?", requestedSchema };
    const filled = await client.callTool({ name: "request_form", arguments: form });
    assert.deepEqual(filled.structuredContent.content, { name: "Jo" });
    const page = { message: "Give us a key.", url: "https://example.com/key" };
    const opened = await client.callTool({ name: "request_form", arguments: page });
    assert.equal(opened.structuredContent.action, "accept");
    assert.deepEqual(
      asked.map((it) => it.mode),
      ["form", "form", "url"],
    );
    await client.close();
  });

  test(`${name}: what does not fit is asked once more and is no answer`, async () => {
    let asked = 0;
    const client = await connect({ form: {} }, async () => {
      asked += 1;
      return { action: "accept", content: { q1: "green" } };
    });
    await client.listTools();
    const pending = await client.callTool({ name: "request_choice", arguments: COLOUR });
    assert.equal(pending.structuredContent.action, "pending");
    assert.ok(pending.structuredContent.where);
    assert.equal(asked, 2);
    await client.close();
  });

  test(`${name}: a no that comes at once is no person's`, async () => {
    const client = await connect({ form: {} }, async () => ({ action: "decline" }));
    await client.listTools();
    const question = { ...COLOUR, message: `Paint it, ${name}?` };
    const pending = await client.callTool({ name: "request_choice", arguments: question });
    assert.equal(pending.structuredContent.action, "pending");
    assert.deepEqual(pending.structuredContent.answers, []);
    await client.close();
  });
}
