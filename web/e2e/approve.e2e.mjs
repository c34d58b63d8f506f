// A person answers what an agent asks: accept, decline, and the same ask open in two browsers.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { inaccessible, newSession, pendingCard, photograph, start, turnEnd } from './harness.mjs';

let it;
before(async () => { it = await start(); });
after(async () => { await it?.close(); });

test('the login code leaves the address and the history', async () => {
  const { page } = it.first;
  assert.equal(page.url(), `${it.base}/`);
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  assert.equal(await page.evaluate(() => location.hash + history.length), await page.evaluate(() => String(history.length)));
});

test('accept runs the command, and the turn completes', async () => {
  const { page, bad } = it.first;
  await newSession(page, 'Make a directory', [[{ cmd: 'mkdir accepted' }], [{ msg: 'It is **made**.' }]], { directory: it.project });
  const card = pendingCard(page);
  await card.getByRole('heading', { name: 'Run this command?' }).waitFor();
  assert.match(await card.getByLabel('Command', { exact: true }).innerText(), /mkdir accepted/);
  // What Pilothouse reads from it comes after it, if it was told of by the feed.
  const reading = card.getByLabel('What it would run', { exact: true });
  await reading.getByText('writes', { exact: true }).waitFor();
  assert.deepEqual(await reading.getByLabel('Words').getByRole('listitem').allInnerTexts(), ['mkdir', 'accepted']);
  assert.match(await page.title(), /^\(1\) /);
  assert.equal(existsSync(path.join(it.project, 'accepted')), false);
  await photograph(page, 'session-pending');
  assert.deepEqual(await inaccessible(page), []);
  await card.getByRole('button', { name: /^Accept once/ }).click();
  assert.equal(await turnEnd(page), 'completed');
  assert.equal(existsSync(path.join(it.project, 'accepted')), true);
  await page.getByTestId('settled').filter({ hasText: 'Accepted by you' }).waitFor();
  await page.locator('strong', { hasText: 'made' }).waitFor();
  await page.getByText('exit 0').waitFor();
  await photograph(page, 'session-completed');
  assert.deepEqual(bad, []);
});

test('decline with a reason leaves things as they were, and the turn goes on to its end', async () => {
  const { page, bad } = it.first;
  await newSession(page, 'Make another', [[{ cmd: 'mkdir declined' }], [{ msg: 'Then not.' }]], { directory: it.project });
  await page.getByRole('link', { name: /^Inbox/ }).click();
  const card = pendingCard(page);
  await card.waitFor();
  await photograph(page, 'inbox');
  assert.deepEqual(await inaccessible(page), []);
  await card.getByRole('button', { name: /^Decline and go on/ }).click();
  await card.getByLabel('Why not?').fill('Use the one that exists.');
  await card.getByRole('button', { name: 'Send decline' }).click();
  const settled = page.getByTestId('settled').filter({ hasText: 'Declined by you' });
  await settled.waitFor();
  await settled.click();
  await page.getByText('Use the one that exists.').waitFor();
  await page.getByRole('link', { name: 'Make another' }).first().click();
  assert.equal(await turnEnd(page), 'completed');
  await page.getByText('Then not.', { exact: true }).waitFor();
  assert.equal(existsSync(path.join(it.project, 'declined')), false);
  assert.deepEqual(bad, []);
});

test('a file change shows its content before it is made', async () => {
  const { page, bad } = it.first;
  const patch = '*** Begin Patch\n*** Add File: note.txt\n+first line\n+second line\n*** End Patch';
  await newSession(page, 'Write a note', [[{ patch }], [{ msg: 'Written.' }]], { directory: it.project });
  const card = pendingCard(page);
  await card.getByRole('heading', { name: 'Change these files?' }).waitFor();
  await card.getByText('second line').waitFor();
  await card.getByRole('button', { name: /^Accept once/ }).click();
  assert.equal(await turnEnd(page), 'completed');
  assert.equal(await readFile(path.join(it.project, 'note.txt'), 'utf8'), 'first line\nsecond line\n');
  assert.deepEqual(bad, []);
});

test('the keyboard is enough', async () => {
  const { page, bad } = it.first;
  await newSession(page, 'By keyboard', [[{ cmd: 'mkdir typed' }], [{ msg: 'Done.' }]], { directory: it.project });
  await page.getByRole('link', { name: /^Inbox/ }).click();
  await pendingCard(page).waitFor();
  await page.keyboard.press('j');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-state')), 'pending');
  await pendingCard(page).locator('[data-decide="accept"]:not([aria-disabled])').waitFor();
  await page.keyboard.press('a');
  await page.getByTestId('settled').filter({ hasText: 'Accepted by you' }).waitFor();
  await page.getByRole('link', { name: 'By keyboard' }).first().click();
  assert.equal(await turnEnd(page), 'completed');
  assert.equal(existsSync(path.join(it.project, 'typed')), true);
  assert.deepEqual(bad, []);
});

test('another browser sees that the ask was answered elsewhere', async () => {
  const { page } = it.first;
  const other = await it.another();
  await other.page.goto(`${it.base}/`);
  await newSession(page, 'For two', [[{ cmd: 'mkdir shared' }], [{ msg: 'Done.' }]], { directory: it.project });
  await pendingCard(other.page).waitFor();
  await pendingCard(page).getByRole('button', { name: /^Accept once/ }).click();
  await other.page.getByTestId('settled').filter({ hasText: 'Accepted by a person in the console' }).waitFor();
  await photograph(other.page, 'answered-elsewhere');
  assert.deepEqual([...it.first.bad, ...other.bad], []);
  await other.context.close();
});
