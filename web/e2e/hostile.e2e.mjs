// Text from an agent is shown for what it is: never as markup, never as something it only looks like.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inaccessible, newSession, pendingCard, photograph, start, turnEnd } from './harness.mjs';

let it;
before(async () => { it = await start(); });
after(async () => { await it?.close(); });

test('direction marks and invisible characters in a command are visible, with a warning', async () => {
  const { page, bad } = it.first;
  await newSession(page, 'Hide something', [[{ cmd: "touch 'a\u202etxt.sh' 'dep\u200bloy'" }], [{ msg: 'ok' }]], { directory: it.project });
  const card = pendingCard(page);
  await card.waitFor();
  const shown = await card.getByLabel('Command', { exact: true }).innerText();
  assert.match(shown, /a\\u\{202E\}txt\.sh/);
  assert.match(shown, /dep\\u\{200B\}loy/);
  assert.doesNotMatch(shown, /[\u202e\u200b]/);
  await card.getByTestId('hidden-warning').filter({ hasText: 'right-to-left override' }).first().waitFor();
  await photograph(page, 'hostile-command');
  await card.getByRole('button', { name: /^Decline and end the turn/ }).click();
  assert.equal(await turnEnd(page), 'interrupted');
  assert.deepEqual(bad, []);
});

test('padding, escapes and marks leave the whole command in sight, with each command that it would run', async () => {
  const { page, bad } = it.first;
  await newSession(page, 'Push something out of sight', [[{ cmd: `ls${' '.repeat(4000)}; touch 'x\u001b[8m' \u202e\u200b` }], [{ msg: 'ok' }]], { directory: it.project });
  const card = pendingCard(page);
  const command = card.getByLabel('Command', { exact: true });
  await command.filter({ hasText: '4000 spaces; touch' }).waitFor();
  const shown = await command.innerText();
  assert.match(shown, /\\e\[8m/);
  assert.doesNotMatch(shown, /[\u001b\u200b\u202e]/);
  assert.ok(await command.evaluate((box) => box.scrollHeight <= box.clientHeight), 'something of it must be scrolled to');
  await card.getByTestId('hidden-warning').filter({ hasText: '4000 spaces in a row, padding' }).waitFor();
  await card.getByLabel('What it would run', { exact: true }).getByText('not understood', { exact: true }).first().waitFor();
  await photograph(page, 'padded-command');
  assert.deepEqual(await inaccessible(page), []);
  await card.getByRole('button', { name: /^Decline and end the turn/ }).click();
  assert.equal(await turnEnd(page), 'interrupted');
  assert.deepEqual(bad, []);
});

test('markup in messages, commands and prompts stays text', async () => {
  const { page, bad } = it.first;
  const markup = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';
  const picture = '![p](https://example.com/p.png) [c](javascript:document.title=1) **bold**';
  await newSession(page, `${markup} please`, [[{ cmd: `printf '%s' '${markup.replaceAll("'", '')}' > /dev/null` }], [{ msg: `${markup} ${picture}` }]], { directory: it.project });
  await pendingCard(page).getByRole('button', { name: /^Accept once/ }).click();
  assert.equal(await turnEnd(page), 'completed');
  await page.locator('strong', { hasText: 'bold' }).waitFor();
  assert.equal(await page.locator('main img, main script').count(), 0);
  assert.equal(await page.locator('main a[href^="javascript:"]').count(), 0);
  assert.match(await page.locator('main').innerText(), /<script>document\.title/);
  assert.match(await page.title(), /Pilothouse$/);
  assert.deepEqual(bad, []);
});
