// The whole loop: Codex has our MCP server for a tool, its model wants a command, a person sees one
// card in the browser and answers it, and the model goes on with what came of it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inaccessible, newSession, pendingCard, photograph, start, turnEnd } from './harness.mjs';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const programs = process.env.PILOTHOUSE_BIN_DIR ?? path.join(repository, 'target/debug');

let it;
before(async () => {
  it = await start();
  const home = path.dirname(it.project);
  // Codex passes no environment on to its MCP servers, and need not ask whether it may ask.
  await appendFile(path.join(home, 'codex/config.toml'), `
[mcp_servers.pilothouse]
command = ${JSON.stringify(path.join(programs, 'pilothouse'))}
args = ["mcp", "--tools", "command"]
default_tools_approval_mode = "approve"
env = { PILOTHOUSE_HOME = ${JSON.stringify(path.join(home, 'pilothouse'))} }
`);
});
after(async () => { await it?.close(); });

/** A session whose model calls the tool to remove a file, and then says something. */
async function removing(page, name) {
  const file = path.join(it.project, name);
  await writeFile(file, 'here');
  const call = { call: 'run_command', ns: 'mcp__pilothouse', args: { command: `rm ${file}` } };
  const session = await newSession(page, `Remove ${name}`, [[call], [{ msg: 'I have read it.' }]], { directory: it.project, policy: 'on-request' });
  return { file, session };
}

/** What is on record of a session. */
const log = (page, session) => page.evaluate(async (path) => (await (await fetch(path)).json()).events.map((it) => it.event), `/api/v1/sessions/${session}/events?after=0&limit=500`);

test('one card is shown, accept removes the file, and the model reads how it ended', async () => {
  const { page, bad } = it.first;
  const { file, session } = await removing(page, 'accepted.txt');
  await page.getByRole('link', { name: /^Inbox/ }).click();
  const card = pendingCard(page);
  await card.waitFor();
  assert.equal(await card.count(), 1);
  assert.match(await card.innerText(), new RegExp(`rm ${file}`));
  assert.equal(existsSync(file), true);
  await photograph(page, 'run-command-pending');
  assert.deepEqual(await inaccessible(page), []);
  await card.getByRole('button', { name: /^Accept once/ }).click();
  await page.goto(`${it.base}/sessions/${session}`);
  assert.equal(await turnEnd(page), 'completed');
  await page.getByText('I have read it.', { exact: true }).waitFor();
  assert.equal(existsSync(file), false);
  const types = (await log(page, session)).map((event) => event.type);
  assert.ok(types.includes('askEchoed') && !types.includes('askRaised'), 'the session of Codex asked nothing itself');
  assert.deepEqual(bad, []);
});

test('decline leaves the file, and the model goes on', async () => {
  const { page, bad } = it.first;
  const { file, session } = await removing(page, 'declined.txt');
  await page.getByRole('link', { name: /^Inbox/ }).click();
  const card = pendingCard(page);
  await card.waitFor();
  assert.equal(await card.count(), 1);
  await card.getByRole('button', { name: /^Decline/ }).click();
  await card.getByLabel('Why not?').fill('It is still needed.');
  await card.getByRole('button', { name: 'Send decline' }).click();
  await page.goto(`${it.base}/sessions/${session}`);
  assert.equal(await turnEnd(page), 'completed');
  const told = JSON.stringify(await log(page, session));
  assert.match(told, /Command was rejected by the user\./);
  assert.match(told, /It is still needed\./);
  assert.equal(existsSync(file), true);
  assert.deepEqual(bad, []);
});
