import { describe, expect, it } from 'vitest';
import { applyDelta, applyEvent, applyHistory, applyLive, emptyLog, emptyState, type ItemRow, type Row, type State } from './state';
import type { Envelope, LogEvent, SessionView } from './types';

const S = 'sess_1';
const session = (): SessionView => ({ sessionId: S, status: 'idle', createdAt: 't0', lastActiveAt: 't0', cwd: '/w', turns: 0, pendingRequestCount: 0, lastSeq: 0 });

function fresh(): State {
  const state = emptyState();
  state.sessions[S] = session();
  state.logs[S] = emptyLog();
  return state;
}

const envelopes = (events: LogEvent[], from = 1): Envelope[] => events.map((event, i) => ({ seq: from + i, at: `t${from + i}`, event }));

function after(...events: LogEvent[]): State {
  const state = fresh();
  for (const envelope of envelopes(events)) applyEvent(state, S, envelope);
  return state;
}

const rows = (state: State): Row[] => state.logs[S]?.rows ?? [];
/** A timeline as short words, to compare at a glance. */
const outline = (state: State) => rows(state).map((it) => {
  switch (it.type) {
    case 'prompt': return `prompt ${it.how}: ${it.text}`;
    case 'item': return `${it.kind} ${it.item} ${it.state}${it.asks.length ? ` asks ${it.asks.join()}` : ''}`;
    case 'ask': return `ask ${it.requestId}`;
    case 'run': return `run ${it.requestId} ${it.result?.end.type ?? 'runs'}`;
    case 'plan': return `plan ${it.steps.map((step) => step.status).join()}`;
    case 'notice': return `${it.tone}: ${it.text}`;
    case 'turnEnd': return `end ${it.turn} ${it.status}${it.error ? `: ${it.error}` : ''}`;
  }
});

const prompt = (text: string, turn = 1): LogEvent => ({ type: 'turnRequested', turn, prompt: { text, overrides: {} }, by: { type: 'human', via: 'console', verified: true } });
const started = (turn = 1): LogEvent => ({ type: 'turnStarted', turn, name: `n${turn}` });
const ended = (outcome: LogEvent, turn = 1): LogEvent => ({ type: 'turnEnded', turn, outcome, report: {} });
const item = (phase: 'itemStarted' | 'itemCompleted', name: string, kind: string, body: Record<string, unknown> = {}): LogEvent => ({ type: phase, turn: 1, item: name, kind, body: { id: name, type: kind, ...body } });
const raised = (id: number, itemId?: string): LogEvent => ({ type: 'askRaised', ask: { id, key: 'k', ...(itemId ? { item: itemId } : {}), turn: 1, subject: { type: 'command', command: 'mkdir x', cwd: '/w' }, offers: [], digest: 'd', params: {}, raisedAt: 't' } });
const accepted = (id: number): LogEvent => ({ type: 'askSettled', ask: id, how: { type: 'answered', answer: { type: 'decided', decision: 'accept' }, by: { type: 'human', via: 'console', verified: true }, bound: true } });

it('keeps what is left of a picture that was too long for the log', () => {
  const image = { $blob: 'sha256:1', bytes: 2_000_000, head: 'data:image/png;base64,iV', tail: 'gg==' };
  const [row] = rows(after({ type: 'turnRequested', turn: 1, prompt: { text: 'look', images: ['data:image/png;base64,AA==', image] } }));
  expect(row).toMatchObject({ type: 'prompt', images: ['data:image/png;base64,AA==', { digest: 'sha256:1', bytes: 2_000_000, head: 'data:image/png;base64,iV', tail: 'gg==' }] });
});

describe('a turn with an approval', () => {
  const events = [
    prompt('make x'), started(), item('itemStarted', 'u', 'userMessage', { content: [{ type: 'text', text: 'make x' }] }), item('itemCompleted', 'u', 'userMessage', { content: [{ type: 'text', text: 'make x' }] }),
    item('itemStarted', 'c', 'commandExecution', { status: 'inProgress' }), raised(1, 'c'), accepted(1), item('itemCompleted', 'c', 'commandExecution', { status: 'completed', exitCode: 0 }),
    item('itemStarted', 'm', 'agentMessage', { text: '' }), item('itemCompleted', 'm', 'agentMessage', { text: 'Done.' }), ended({ type: 'completed' }),
  ];

  it('reads as a person saw it happen, each prompt once', () => {
    expect(outline(after(...events))).toEqual(['prompt start: make x', 'commandExecution c done asks req_1_1', 'agentMessage m done', 'end 1 completed']);
  });

  it('moves the status of the session along', () => {
    const seen: string[] = [];
    const state = fresh();
    for (const envelope of envelopes(events)) {
      applyEvent(state, S, envelope);
      const status = `${state.sessions[S]?.status} ${state.sessions[S]?.pendingRequestCount}`;
      if (seen.at(-1) !== status) seen.push(status);
    }
    expect(seen).toEqual(['running 0', 'waiting_approval 1', 'running 0', 'idle 0']);
    expect(state.sessions[S]?.lastTurn).toMatchObject({ turn: 1, status: 'completed', endedAt: 't11' });
  });

  it('settles the ask, with who did it', () => {
    const state = after(...events.slice(0, 6));
    expect(state.asks['req_1_1']).toMatchObject({ state: 'pending', itemId: 'c', digest: 'd' });
    applyEvent(state, S, { seq: 7, at: 't7', event: accepted(1) });
    expect(state.asks['req_1_1']).toMatchObject({ state: 'settled', settlement: { how: 'answered', at: 't7', by: { via: 'console' } } });
  });

  it('is the same when events come twice, or as history first', () => {
    const twice = fresh();
    const all = envelopes(events);
    for (const envelope of [...all, ...all]) applyEvent(twice, S, envelope);
    const paged = fresh();
    applyHistory(paged, S, all.slice(0, 6));
    for (const envelope of all.slice(3)) applyEvent(paged, S, envelope);
    expect(rows(twice)).toEqual(rows(after(...events)));
    expect(rows(paged)).toEqual(rows(after(...events)));
  });

  it('is known to have a gap when an event is missing, and takes nothing more', () => {
    const state = after(...events.slice(0, 2));
    applyEvent(state, S, { seq: 9, at: 't9', event: item('itemStarted', 'm', 'agentMessage') });
    expect(state.logs[S]?.gap).toBe(true);
    expect(outline(state)).toEqual(['prompt start: make x']);
  });
});

describe('streaming', () => {
  const open = () => after(prompt('hi'), started(), item('itemStarted', 'm', 'agentMessage', { text: '' }));
  const live = (state: State) => (rows(state).find((it) => it.type === 'item') as ItemRow).live;

  it('gathers deltas until the completed item replaces them', () => {
    const state = open();
    for (const text of ['Hel', 'lo']) applyDelta(state, { sessionId: S, itemId: 'm', kind: 'text', text });
    expect(live(state)).toEqual({ text: 'Hello' });
    applyEvent(state, S, { seq: 4, at: 't4', event: item('itemCompleted', 'm', 'agentMessage', { text: 'Hello!' }) });
    expect(live(state)).toEqual({});
    applyDelta(state, { sessionId: S, itemId: 'm', kind: 'text', text: 'late' });
    expect(live(state)).toEqual({});
  });

  it("starts from the server's tail and keeps a bound", () => {
    const state = open();
    const log = state.logs[S];
    if (!log) throw new Error('no log');
    applyLive(log, [{ itemId: 'm', kind: 'text', text: 'so far ' }, { itemId: 'gone', kind: 'text', text: 'x' }]);
    applyDelta(state, { sessionId: S, itemId: 'm', kind: 'text', text: 'more' });
    expect(live(state)).toEqual({ text: 'so far more' });
    applyDelta(state, { sessionId: S, itemId: 'm', kind: 'text', text: 'x'.repeat(300_000) });
    expect(live(state).text).toHaveLength(200_000);
  });

  it('for a session that is not open here is passed over', () => {
    const state = emptyState();
    applyDelta(state, { sessionId: 'sess_2', itemId: 'm', kind: 'text', text: 'x' });
    expect(state).toEqual(emptyState());
  });
});

describe('odd orders', () => {
  it('a second start does not open a completed item again', () => {
    const state = after(prompt('x'), item('itemStarted', 'c', 'commandExecution'), item('itemCompleted', 'c', 'commandExecution', { exitCode: 0 }), item('itemStarted', 'c', 'commandExecution'));
    expect(outline(state)).toEqual(['prompt start: x', 'commandExecution c done']);
  });
  it('an item may complete without a start, and after its turn', () => {
    const state = after(prompt('x'), item('itemStarted', 'c', 'commandExecution'), ended({ type: 'interrupted' }), item('itemCompleted', 'c', 'commandExecution', { exitCode: -1 }), item('itemCompleted', 'm', 'agentMessage'));
    expect(outline(state)).toEqual(['prompt start: x', 'commandExecution c done', 'end 1 interrupted', 'agentMessage m done']);
  });
  it('what was open when the turn ended is unfinished', () => {
    expect(outline(after(prompt('x'), item('itemStarted', 'm', 'agentMessage'), { type: 'itemAbandoned', item: 'm' }, ended({ type: 'interrupted' })))).toEqual(['prompt start: x', 'agentMessage m abandoned', 'end 1 interrupted']);
  });
  it('an ask without an item stands by itself', () => {
    expect(outline(after(prompt('x'), raised(1)))).toEqual(['prompt start: x', 'ask req_1_1']);
  });
});

describe('endings', () => {
  it.each([
    [{ type: 'failed', error: { message: 'No more quota' } }, 'end 1 failed: No more quota', 'error'],
    [{ type: 'lost', cause: 'the process exited with 9' }, 'end 1 lost: the process exited with 9', 'error'],
    [{ type: 'interrupted' }, 'end 1 interrupted', 'idle'],
  ])('%j', (outcome, line, status) => {
    const state = after(prompt('x'), started(), ended(outcome));
    expect(outline(state).at(-1)).toBe(line);
    expect(state.sessions[S]?.status).toBe(status);
  });
});

describe('notes', () => {
  const note = (method: string, body: Record<string, unknown>): LogEvent => ({ type: 'noted', method, body });
  it('a plan is one row that changes', () => {
    const state = after(prompt('x'), note('turn/plan/updated', { plan: [{ step: 'a', status: 'inProgress' }, { step: 'b', status: 'pending' }] }), note('turn/plan/updated', { plan: [{ step: 'a', status: 'completed' }, { step: 'b', status: 'inProgress' }] }));
    expect(outline(state)).toEqual(['prompt start: x', 'plan completed,inProgress']);
  });
  it('retries warn, failures are failures, unknown notes are silent', () => {
    const state = after(prompt('x'), note('error', { error: { message: 'Reconnecting... 1/2' }, willRetry: true }), note('error', { error: { message: 'Gone' }, willRetry: false }), note('some/new/thing', { x: 1 }));
    expect(outline(state)).toEqual(['prompt start: x', 'warn: Reconnecting... 1/2', 'bad: Gone']);
  });
  it('token use is the last that was told', () => {
    const state = after(note('thread/tokenUsage/updated', { tokenUsage: { total: { totalTokens: 1497, inputTokens: 1397, cachedInputTokens: 200, outputTokens: 100 }, last: { totalTokens: 304 }, modelContextWindow: 258400 } }));
    expect(state.logs[S]?.usage).toEqual({ total: 1497, input: 1397, cached: 200, output: 100, context: 304, window: 258400 });
  });
  it("the turn's diff stands at its end", () => {
    const state = after(prompt('x'), note('turn/diff/updated', { diff: 'old' }), note('turn/diff/updated', { diff: 'new' }), ended({ type: 'completed' }));
    expect(rows(state).at(-1)).toMatchObject({ type: 'turnEnd', diff: 'new', requestedAt: 't1' });
  });
});

describe('prompts', () => {
  it('a queued prompt becomes its turn where it is the last row, else it moves', () => {
    const queued: LogEvent = { type: 'promptQueued', prompt: { text: 'next' }, by: { type: 'human' } };
    const again: LogEvent = { ...prompt('next', 2), queued: true };
    expect(outline(after(prompt('x'), ended({ type: 'completed' }), queued, again))).toEqual(['prompt start: x', 'end 1 completed', 'prompt start: next']);
    const state = after(prompt('x'), queued, item('itemStarted', 'm', 'agentMessage'), ended({ type: 'completed' }), again, item('itemCompleted', 'm', 'agentMessage'));
    expect(outline(state)).toEqual(['prompt start: x', 'agentMessage m done', 'end 1 completed', 'prompt start: next']);
  });
  it('a prompt too long for the log is still shown once', () => {
    const long = 'y'.repeat(70_000);
    const state = after(prompt(long), item('itemStarted', 'u1', 'userMessage', { content: [{ type: 'text', text: { $blob: 'd', bytes: 70_000, head: 'y'.repeat(2048), tail: 'y'.repeat(2048) } }] }));
    expect(rows(state)).toHaveLength(1);
  });
  it('a steer is shown once, with the message that the agent repeats', () => {
    const state = after(prompt('x'), { type: 'steered', turn: 1, prompt: { text: 'also y' }, by: { type: 'human' } }, item('itemStarted', 'u1', 'userMessage', { content: [{ type: 'text', text: 'x' }] }), item('itemStarted', 'u2', 'userMessage', { content: [{ type: 'text', text: 'also y' }] }));
    expect(outline(state)).toEqual(['prompt start: x', 'prompt steer: also y']);
  });
});

describe('text that comes before the log tells of its item', () => {
  const delta = (itemId: string, words: string) => ({ sessionId: S, itemId, kind: 'text' as const, text: words });
  const live = (state: State, name: string) => (rows(state).find((it) => it.type === 'item' && it.item === name) as ItemRow | undefined)?.live.text;

  it('is shown with the item, and goes on', () => {
    const state = after(prompt('talk'), started());
    applyDelta(state, delta('m', 'one '));
    applyDelta(state, delta('m', 'two '));
    for (const envelope of envelopes([item('itemStarted', 'm', 'agentMessage')], 3)) applyEvent(state, S, envelope);
    applyDelta(state, delta('m', 'three'));
    expect(live(state, 'm')).toBe('one two three');
    expect(state.logs[S]?.early).toEqual({});
  });

  it('is forgotten when the item comes complete, or never in its turn', () => {
    const state = after(prompt('talk'), started());
    applyDelta(state, delta('m', 'one'));
    applyDelta(state, delta('n', 'two'));
    for (const envelope of envelopes([item('itemCompleted', 'm', 'agentMessage', { text: 'one' }), ended({ type: 'completed' })], 3)) applyEvent(state, S, envelope);
    expect(live(state, 'm')).toBeUndefined();
    expect(state.logs[S]?.early).toEqual({});
  });

  it('has a bound', () => {
    const state = after(prompt('talk'), started());
    for (let n = 0; n < 100; n += 1) applyDelta(state, delta(`m${n}`, 'x'));
    expect(Object.keys(state.logs[S]?.early ?? {})).toHaveLength(64);
  });
});

describe('what a program asks and runs itself', () => {
  const by = { type: 'caller', id: 'workshop' };
  const asked: LogEvent = { type: 'askRaised', ask: { id: 1, key: 'k', subject: { type: 'command', command: 'touch x', argv: ['touch', 'x'], cwd: '/w' }, offers: [], digest: 'd', params: null, askedBy: by, raisedAt: 't' } };
  const began: LogEvent = { type: 'commandStarted', ask: 1, by };
  const over = (end: Record<string, unknown>): LogEvent => ({ type: 'commandEnded', ask: 1, result: { end, stdout: 'a\n', stderr: '', truncated: false } });

  it('reads as asked, allowed, run and ended, in one line', () => {
    const state = after({ type: 'opened', spec: { agentless: true } }, asked, accepted(1), began, over({ type: 'exited', code: 0 }));
    expect(outline(state)).toEqual(['ask req_1_1', 'run req_1_1 exited']);
    expect(rows(state)[1]).toMatchObject({ by, at: 't4', endedAt: 't5', result: { end: { type: 'exited', code: 0 }, stdout: 'a\n', truncated: false } });
    expect(state.sessions[S]).toMatchObject({ agentless: true, status: 'idle', pendingRequestCount: 0 });
    expect(state.asks['req_1_1']?.askedBy).toEqual(by);
  });

  it('runs until it is over, and an end without a beginning is shown, too', () => {
    expect(outline(after(asked, accepted(1), began))[1]).toBe('run req_1_1 runs');
    expect(outline(after(over({ type: 'lost' })))).toEqual(['run req_1_1 lost']);
  });

  it('keeps both ends of what was too long for the log', () => {
    const state = after(began, { type: 'commandEnded', ask: 1, result: { end: { type: 'exited', code: 0 }, stdout: { $blob: 'sha256:1', bytes: 100_000, head: 'first', tail: 'last' } } });
    const [row] = rows(state);
    expect(row?.type === 'run' && row.result).toMatchObject({ stdout: expect.stringMatching(/^first\n… 99,991 bytes are not shown here …\nlast$/) as string, truncated: true });
  });

  it('says who did not show a question, and which one is asked already', () => {
    const state = after({ type: 'askNotShown', ask: 1, via: 'Some Client', why: 'it declined within a second' }, { type: 'askEchoed', key: 'g1:2', ask: 'req_2_7' }, { type: 'adopted', caller: 'other', by: { type: 'human', via: 'console', verified: true } });
    expect(outline(state)).toEqual([
      'info: Not shown by Some Client: it declined within a second',
      'info: The agent passed on a question that is asked already by another session.',
      'info: Given to the calling program other by a person in the console.',
    ]);
    expect(rows(state)[1]).toMatchObject({ sessionId: 'sess_2' });
    expect(state.sessions[S]?.openedBy).toEqual({ type: 'caller', id: 'other' });
  });
});
