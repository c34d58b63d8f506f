// Plants faults among stories and sees that the stories' tests find each, and nothing else.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** What each story's test said, by the story's name; undefined where it passed. */
const failures = new Map();
let folder;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'pilothouse-planted-'));
  const report = path.join(folder, 'report.json');
  const vitest = path.join(web, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', '--config', 'vitest.stories.config.ts', '--reporter=json', `--outputFile=${report}`], {
    cwd: web, env: { ...process.env, PILOTHOUSE_PLANTED: '1', STORYBOOK_DISABLE_TELEMETRY: '1', NO_COLOR: '1' }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (it) => (said = (said + it).slice(-4000)));
  const [code] = await once(child, 'close');
  const text = await readFile(report, 'utf8').catch(() => assert.fail(`Vitest reported nothing: ${said}`));
  for (const it of JSON.parse(text).testResults.flatMap((file) => file.assertionResults)) {
    failures.set(it.title, it.status === 'passed' ? undefined : it.failureMessages.join('\n'));
  }
  assert.deepEqual([...failures.keys()].sort(), ['Contrast', 'Docs', 'Label', 'Sound', 'Type'], said);
  assert.equal(code, 1, 'a run with faults must not succeed');
});
after(() => rm(folder, { recursive: true, force: true }));

test('a story without a fault passes', () => assert.equal(failures.get('Sound'), undefined));
test('too little contrast fails', () => assert.match(failures.get('Contrast') ?? '', /color-contrast/));
test('an input without a label fails', () => assert.match(failures.get('Label') ?? '', /Form elements must have labels/));
test('docs that tell another type than the component has fail', () => assert.match(failures.get('Docs') ?? '', /count: the docs show string, recorded is number/));
test('a type that changed since it was recorded fails', () => assert.match(failures.get('Type') ?? '', /count: the docs show string, recorded is number/));
