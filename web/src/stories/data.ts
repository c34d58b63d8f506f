/** Sample data in the shapes that Codex and Pilothouse really send, shared by all stories. */

import { emptyLog, type ItemRow, type Row, type RunRow, type SessionLog } from '../lib/state';
import type { Actor, AskKind, AskView, Json, Offer, Question, Segment, SessionView, Settlement, Subject } from '../lib/types';
import { ALL, BIDI, INVISIBLE, SCRIPT } from './hostile';

const LOADED = Date.now();
/** So many seconds before the stories were loaded; negative for later. */
export const ago = (seconds: number) => new Date(LOADED - seconds * 1000).toISOString();

/** A small graph. */
export const PICTURE = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="160" height="90"><rect width="160" height="90" fill="#eef"/><path d="M8 80 40 52 72 60 104 24 152 12" fill="none" stroke="#236" stroke-width="3"/></svg>')}`;

export const SESSION = 'sess_01a22d0e96894437aa7ddef1b71a3f5c';
export const PERSON: Actor = { type: 'human', via: 'console', verified: true };

export function session(over: Partial<SessionView> = {}): SessionView {
  return {
    sessionId: SESSION, title: 'Retry uploads that time out', status: 'running', createdAt: ago(900), lastActiveAt: ago(4), model: 'gpt-6.2-sol', approvalPolicy: 'untrusted',
    sandbox: 'workspace-write', effort: 'medium', cwd: '/home/dev/project', threadId: '01a22d0e-e9b4-72a2-8731-b4012d597351', openedBy: PERSON, agentVersion: '0.171.0',
    node: 'workshop', dialect: 'v2', turns: 2, pendingRequestCount: 0, lastSeq: 42, ...over,
  };
}

export const SESSIONS: SessionView[] = [
  session({ status: 'waiting_approval', pendingRequestCount: 1 }),
  session({ sessionId: 'sess_2', title: null, lastTurn: { turn: 1, status: 'started', prompt: 'Why does the nightly build need twice the memory it needed last week?' }, lastActiveAt: ago(75), cwd: '/home/dev/nightly/services/ingest/worker' }),
  session({ sessionId: 'sess_3', title: 'Write the release notes', status: 'idle', lastActiveAt: ago(5_400) }),
  session({ sessionId: 'sess_4', title: 'Upgrade the TLS library', status: 'error', lastActiveAt: ago(90_000), node: 'laptop' }),
  session({ sessionId: 'sess_5', title: 'Try another parser', status: 'cancelled', lastActiveAt: ago(500_000) }),
];

export const OFFERS: Offer[] = [
  { decision: 'accept', reach: 'once' },
  { decision: 'acceptForSession', reach: 'thread' },
  { decision: 'acceptWithExecpolicyAmendment', reach: 'always', execpolicyAmendment: ['cargo', 'test'] },
  { decision: 'decline', reach: 'once' },
  { decision: 'cancel', reach: 'turn' },
];
const YES_NO: Offer[] = [{ decision: 'accept', reach: 'once' }, { decision: 'decline', reach: 'once' }, { decision: 'cancel', reach: 'turn' }];

export const DIFF = '@@ -12,7 +12,9 @@ pub fn upload(file: &File) -> Result<()> {\n     let client = Client::new();\n-    client.put(file)?;\n+    for attempt in 0..MAX_ATTEMPTS {\n+        client.put(file).or_wait(attempt)?;\n+    }\n     Ok(())\n }\n';
export const longDiff = (lines: number) => `@@ -0,0 +1,${lines} @@\n${Array.from({ length: lines }, (_, i) => `+export const row${i} = ${i};\n`).join('')}`;

export const SCHEMA = {
  type: 'object',
  required: ['title', 'email', 'areas'],
  properties: {
    title: { type: 'string', title: 'Title', description: 'A short line.', minLength: 5, maxLength: 80 },
    email: { type: 'string', title: 'Notify', format: 'email' },
    due: { type: 'string', title: 'Due', format: 'date' },
    estimate: { type: 'number', title: 'Estimate in hours', minimum: 0.5 },
    priority: { type: 'integer', title: 'Priority', minimum: 1, maximum: 5, default: 3 },
    draft: { type: 'boolean', title: 'As a draft', default: true },
    kind: { type: 'string', title: 'Kind', oneOf: [{ const: 'bug', title: 'Bug report' }, { const: 'feature', title: 'Feature' }], default: 'bug' },
    areas: { type: 'array', title: 'Areas', minItems: 1, maxItems: 2, items: { anyOf: [{ const: 'ui', title: 'User interface' }, { const: 'api', title: 'API' }, { const: 'docs', title: 'Documentation' }] } },
  },
} satisfies { [key: string]: Json };

export const QUESTIONS: Question[] = [
  { id: 'store', header: 'Storage', question: 'Where should sessions be kept?', isOther: true, options: [{ label: 'SQLite', description: 'One file, nothing to run.' }, { label: 'PostgreSQL', description: 'For more than one machine.' }] },
  { id: 'name', header: 'Name', question: 'What should the table be called?' },
  { id: 'token', header: 'Token', question: 'A token that may read the registry', isSecret: true },
];

/** What `request_choice` asks: options with names, one of them recommended. */
export const CHOICES: Question[] = [
  { id: 'store', header: 'Storage', question: 'Where should sessions be kept?', isOther: true, default: 'sqlite', options: [{ id: 'sqlite', label: 'SQLite', description: 'One file, nothing to run.' }, { id: 'redis', label: 'Redis', description: 'For more than one machine.' }, { id: 'memory', label: 'In memory', description: 'Gone with the process.' }] },
  { id: 'checks', header: 'Checks', question: 'Which checks should run before each commit?', multiple: true, isOther: true, otherLabel: 'Another one', options: [{ id: 'fmt', label: 'Formatting' }, { id: 'lint', label: 'Lints' }, { id: 'test', label: 'Fast tests', description: 'About 20 s.' }] },
];

export const PROGRAM: Actor = { type: 'caller', id: 'release-notes' };
export const ASKED_BY_PROGRAM: Partial<AskView> = { askedBy: PROGRAM, turn: null, offers: [{ decision: 'accept', reach: 'once' }, { decision: 'decline', reach: 'once' }, { decision: 'cancel', reach: 'once' }] };

export const SEGMENTS: Segment[] = [
  { argv: ['git', 'status', '--short'], text: 'git status --short', verdict: 'safe', class: 'reads only', reason: '' },
  { argv: ['rm', '-r', 'target dir'], text: "rm -r 'target dir'", verdict: 'ask', class: 'writes', reason: 'rm removes files' },
  { argv: ['curl', '-fsS', 'https://uploads.example/ping'], text: 'curl -fsS https://uploads.example/ping', verdict: 'ask', class: 'network', reason: 'curl talks to other machines' },
  { argv: ['xargs', 'sh', '-c', ''], text: "xargs sh -c ''", verdict: 'ask', class: 'runs a program it names', reason: 'xargs runs sh' },
];
export const LINE = "git status --short && rm -r 'target dir' && curl -fsS https://uploads.example/ping | xargs sh -c ''";
export const OPAQUE: Segment[] = [{ argv: [], text: 'eval "$(cat setup.sh)"', verdict: 'ask', class: 'not understood', reason: 'the line was not understood: eval runs what it is given' }];

export const SUBJECTS = {
  command: { type: 'command', command: "/bin/bash -lc 'cargo test -p uploader -- --nocapture'", cwd: '/home/dev/project' },
  network: { type: 'command', command: "/bin/bash -lc 'cargo fetch'", cwd: '/home/dev/project', host: 'index.crates.example' },
  line: { type: 'command', command: `/bin/bash -lc "${LINE}"`, cwd: '/home/dev/project' },
  argv: { type: 'command', command: "touch 'release notes.md' ''", argv: ['touch', 'release notes.md', ''], cwd: '/home/dev/project' },
  stdin: { type: 'command', command: 'yes\n', cwd: '/home/dev/project', writeStdin: true },
  fileChange: { type: 'fileChange', changes: [{ path: 'src/upload.rs', kind: 'update', diff: DIFF }, { path: 'src/retry.rs', kind: 'add', diff: 'pub const MAX_ATTEMPTS: u32 = 4;\n' }] },
  grant: { type: 'fileChange', changes: [], grantRoot: '/home/dev/shared' },
  permissions: { type: 'permissions', permissions: { network: { enabled: true }, fileSystem: { read: ['/etc/ssl/certs'], write: ['/home/dev/shared'] } }, cwd: '/home/dev/project' },
  question: { type: 'question', questions: QUESTIONS },
  choice: { type: 'question', questions: CHOICES },
  form: { type: 'form', server: 'issues', message: 'How should the issue be filed?', schema: SCHEMA },
  emptyForm: { type: 'form', server: 'issues', message: 'Publish the draft now?', schema: { type: 'object', properties: {} } },
  url: { type: 'url', server: 'issues', message: 'Allow Pilothouse to read your issues.', url: 'https://issues.example/oauth/authorize?client=pilothouse' },
  tool: { type: 'tool', server: 'issues', message: 'Allow this call?', tool: 'create_issue', params: { title: 'Uploads time out', labels: ['bug', 'network'], body: 'Seen on slow links.\nHappens after 30 s.' } },
  adoption: { type: 'adoption', caller: 'caller_5b1f', client: 'Some Editor' },
} satisfies Record<string, Subject>;

export const HOSTILE: Record<string, Subject> = {
  padded: { type: 'command', command: `/bin/bash -lc 'ls${' '.repeat(4_000)}; \u001b[8mrm -rf ~\u001b[0m\u200b # \u202edliub\u202c'`, cwd: '/home/dev/project' },
  argv: { type: 'command', command: 'x', argv: [`ls${' '.repeat(4_000)}`, SCRIPT, BIDI, INVISIBLE, ''], cwd: '/home/dev' },
  command: { type: 'command', command: `/bin/bash -lc '${BIDI}'`, cwd: `/home/dev/${INVISIBLE}` },
  fileChange: { type: 'fileChange', changes: [{ path: `src/${BIDI}.rs`, kind: 'update', diff: `@@ -1 +1 @@\n-${SCRIPT}\n+${ALL.replaceAll('\n', ' ')}\n` }] },
  url: { type: 'url', server: SCRIPT, message: ALL, url: 'javascript:globalThis.pwned=1' },
  lookalike: { type: 'url', server: 'issues', message: 'Log in.', url: 'http://xn--pilothuse-57a.example/login' },
  tool: { type: 'tool', server: BIDI, message: ALL, tool: `delete_${INVISIBLE}`, params: { [SCRIPT]: ALL } },
  form: { type: 'form', server: BIDI, message: ALL, schema: { type: 'object', required: [SCRIPT], properties: { [SCRIPT]: { type: 'string', title: ALL, description: ALL }, choice: { type: 'string', enum: [SCRIPT, BIDI] } } } },
  question: { type: 'question', questions: [{ id: 'q', header: SCRIPT, question: ALL, isOther: true, options: [{ label: BIDI, description: ALL }, { label: INVISIBLE }] }] },
};

const KINDS: Record<string, AskKind> = { command: 'command', fileChange: 'fileChange', permissions: 'permissions', adoption: 'permissions', question: 'user_input' };

export function ask(subject: Subject = SUBJECTS.command, over: Partial<AskView> = {}): AskView {
  return {
    requestId: 'req_01a22d0e96894437aa7ddef1b71a3f5c_1', sessionId: SESSION, kind: KINDS[subject.type] ?? 'elicitation', state: 'pending', raisedAt: ago(40), turn: 2, digest: 'sha256:41d0', subject,
    offers: subject.type === 'command' ? OFFERS : subject.type === 'question' ? [] : YES_NO, ...over,
  };
}

export const settledAsk = (settlement: Settlement, over: Partial<AskView> = {}) => ask(SUBJECTS.command, { state: 'settled', settlement: { at: ago(5), ...settlement }, ...over });

export function item(kind: string, body: Record<string, unknown> = {}, over: Partial<ItemRow> = {}): ItemRow {
  const id = over.item ?? `call_d976c_${kind}`;
  return { key: `item:${id}`, type: 'item', item: id, turn: 2, kind, body: { id, type: kind, ...body }, state: 'done', at: ago(60), endedAt: ago(50), asks: [], live: {}, ...over };
}

export const OUTPUT = '\u001b[1m\u001b[32m   Compiling\u001b[0m uploader v0.3.1 (/home/dev/project)\n\u001b[1m\u001b[32m    Finished\u001b[0m `test` profile in 4.20s\n\nrunning 2 tests\ntest retries_after_a_timeout ... \u001b[32mok\u001b[0m\ntest gives_up_in_the_end ... \u001b[31mFAILED\u001b[0m\n';
export const MARKDOWN = 'The upload gave up at the **first** timeout. Now `upload` tries four times:\n\n1. at once,\n2. after 1 s, 2 s and 4 s.\n\n```rust\nfor attempt in 0..MAX_ATTEMPTS {\n    client.put(file).or_wait(attempt)?;\n}\n```\n\n| try | wait |\n|---|---|\n| 1 | 0 s |\n| 2 | 1 s |\n\nSee [the guide](https://example.org/retries).';

export const command = (body: Record<string, unknown> = {}, over: Partial<ItemRow> = {}) =>
  item('commandExecution', { command: "/bin/bash -lc 'cargo test -p uploader'", cwd: '/home/dev/project', source: 'agent', status: 'completed', aggregatedOutput: OUTPUT, exitCode: 0, durationMs: 4_200, ...body }, over);

export function log(rows: Row[], over: Partial<SessionLog> = {}): SessionLog {
  return { ...emptyLog(), rows, index: Object.fromEntries(rows.map((it, i) => [it.key, i])), lastSeq: rows.length, ...over };
}

/** A command that a program was allowed to run. */
export function run(over: Partial<RunRow> = {}): RunRow {
  const requestId = 'req_01a22d0e96894437aa7ddef1b71a3f5c_1';
  return { key: `run:${requestId}`, type: 'run', requestId, at: ago(60), by: PROGRAM, endedAt: ago(56), result: { end: { type: 'exited', code: 0 }, stdout: OUTPUT, stderr: '', truncated: false }, ...over };
}

/** A turn from prompt to end, with a bit of everything. */
export const TURN: Row[] = [
  { key: 'prompt:1', type: 'prompt', turn: 2, at: ago(120), how: 'start', by: PERSON, text: 'Uploads of large files fail on slow links. Make them try again.', images: [PICTURE] },
  item('reasoning', { summary: ['**Looking for the timeout** It must be in the client.'] }),
  { key: 'plan:2', type: 'plan', explanation: 'Retry first, then test.', steps: [{ step: 'Find the timeout', status: 'completed' }, { step: 'Retry with growing waits', status: 'inProgress' }, { step: 'Test with a slow server', status: 'pending' }] },
  item('webSearch', { query: 'exponential backoff jitter', action: { type: 'search', query: 'exponential backoff jitter', queries: ['exponential backoff jitter'] } }),
  item('fileChange', { status: 'completed', changes: [{ path: 'src/upload.rs', kind: { type: 'update', move_path: null }, diff: DIFF }] }),
  command({}, { item: 'call_test' }),
  { key: 'prompt:9', type: 'prompt', turn: 2, at: ago(55), how: 'steer', by: PERSON, text: 'Four attempts are enough.', images: [] },
  { key: 'note:10', type: 'notice', at: ago(52), tone: 'warn', text: 'Reconnecting… 1/5', detail: 'stream disconnected before completion' },
  item('agentMessage', { text: MARKDOWN }),
  { key: 'end:2', type: 'turnEnd', turn: 2, status: 'completed', at: ago(20), requestedAt: ago(120), files: ['src/upload.rs'], diff: `diff --git a/src/upload.rs b/src/upload.rs\n--- a/src/upload.rs\n+++ b/src/upload.rs\n${DIFF}` },
];
