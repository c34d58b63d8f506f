// The console stays right while things happen: logins, many tabs, interrupts, a server that goes and comes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inaccessible, newSession, open, pendingCard, photograph, start, streaming, turnEnd } from './harness.mjs';

let it;
before(async () => { it = await start(); });
after(async () => { await it?.close(); });

test('a used link says how to get a new one', async () => {
  const { context, page } = await open(it.browser, it.base);
  await page.goto(it.link);
  await page.getByRole('heading', { name: 'That link no longer works' }).waitFor();
  await page.getByText('pilothouse login').waitFor();
  assert.equal(page.url(), `${it.base}/`);
  assert.deepEqual(await inaccessible(page), []);
  await photograph(page, 'login');
  await context.close();
});

test('a link that is pasted into the tab that asks for it logs that tab in', async () => {
  const { context, page } = await open(it.browser, it.base);
  await page.goto(`${it.base}/`);
  await page.getByRole('heading', { name: 'This browser is not logged in' }).waitFor();
  await page.goto(await it.freshLink());
  await page.getByRole('navigation').first().waitFor();
  assert.equal(page.url(), `${it.base}/`);
  await context.close();
});

test('ten tabs are all live', async () => {
  const other = await it.another();
  const pages = [other.page];
  while (pages.length < 10) pages.push(await other.context.newPage());
  for (const page of pages) await page.goto(`${it.base}/`);
  await newSession(it.first.page, 'For ten', [[{ cmd: 'mkdir ten' }], [{ msg: 'Done.' }]], { directory: it.project });
  for (const page of pages) await pendingCard(page).waitFor();
  await pendingCard(pages.at(-1)).getByRole('button', { name: /^Accept once/ }).click();
  for (const page of pages) await page.getByTestId('settled').waitFor();
  assert.deepEqual(other.bad, []);
  await other.context.close();
});

test('text shows while it streams, and once when it is complete', async () => {
  const { page, bad } = it.first;
  await newSession(page, 'Talk', [streaming('talk', 'one two three ', 'half', 'four five six')], { directory: it.project });
  const message = page.locator('main .prose-agent');
  await message.filter({ hasText: 'one two three' }).waitFor();
  assert.doesNotMatch(await message.innerText(), /six/);
  it.openGate('half');
  assert.equal(await turnEnd(page), 'completed');
  const whole = 'one two three four five six';
  assert.deepEqual(await message.allInnerTexts(), [whole]);
  await page.reload();
  assert.equal(await turnEnd(page), 'completed');
  assert.deepEqual(await message.allInnerTexts(), [whole]);
  assert.deepEqual(bad, []);
});

test('a page that opens while text streams shows all of it', async () => {
  const other = await it.another();
  const { page } = it.first;
  await newSession(page, 'Talk on', [streaming('talk on', 'one two three ', 'opened', 'four five six')], { directory: it.project });
  await page.locator('main .prose-agent').filter({ hasText: 'one two' }).waitFor();
  await other.page.goto(page.url());
  await other.page.locator('main .prose-agent').filter({ hasText: /^one two three/ }).waitFor();
  it.openGate('opened');
  await other.page.getByText('one two three four five six', { exact: true }).waitFor();
  assert.equal(await turnEnd(other.page), 'completed');
  assert.deepEqual([...other.bad, ...it.first.bad], []);
  await other.context.close();
});

test('an interrupt ends the turn', async () => {
  const { page, bad } = it.first;
  await newSession(page, 'Wait', [[{ msg: 'Waiting.' }, { gate: 'never' }]], { directory: it.project });
  await page.getByText('Waiting.', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Interrupt' }).click();
  assert.equal(await turnEnd(page), 'interrupted');
  await page.locator('h1 + span', { hasText: 'Idle' }).waitFor();
  assert.deepEqual(bad, []);
});

test('steering adds to the turn that runs', async () => {
  const { page, bad } = it.first;
  await newSession(page, 'Steer me', [[{ msg: 'At work.' }, { gate: 'steer' }], [{ msg: 'Steered.' }]], { directory: it.project });
  await page.getByText('At work.', { exact: true }).waitFor();
  await page.getByLabel('Message to the agent').fill('Also look there');
  await page.getByRole('button', { name: 'Steer' }).click();
  await page.getByText('added to the running turn').waitFor();
  it.openGate('steer');
  assert.equal(await turnEnd(page), 'completed');
  assert.equal(await page.locator('main').getByText('Also look there', { exact: true }).count(), 1);
  assert.deepEqual(bad, []);
});

test('a message to a session at rest begins its next turn', async () => {
  const { page, bad } = it.first;
  await page.getByLabel('Message to the agent').fill('And again\nSCRIPT:[[{"msg":"Second answer."}]]');
  await page.getByRole('button', { name: 'Send' }).click();
  assert.equal(await turnEnd(page, 2), 'completed');
  await page.getByText('Second answer.', { exact: true }).waitFor();
  assert.deepEqual(bad, []);
});

test('the page says when it is not live, and catches up when the server is back', async () => {
  const { page } = it.first;
  await page.getByRole('link', { name: /^Inbox/ }).click();
  await it.stopServer();
  await page.getByTestId('not-live').waitFor();
  await photograph(page, 'not-live');
  await it.startServer();
  await page.getByRole('button', { name: 'Try now' }).click({ noWaitAfter: true, timeout: 2000 }).catch(() => undefined); // it may have come back by itself
  await page.getByTestId('not-live').waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
});
