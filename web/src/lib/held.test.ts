import { describe, expect, it } from 'vitest';
import { applyHeld, emptyHeld, hold } from './held';
import { applyDelta, applyHistory, applyLive, emptyLog, emptyState, itemRow, type State } from './state';
import type { Delta, Envelope, FeedEvent, LogEvent, SessionView } from './types';

const S = 'sess_1';
const item = (phase: 'itemStarted' | 'itemCompleted', text = ''): LogEvent => ({ type: phase, turn: 1, item: 'm', kind: 'agentMessage', body: { text } });
const envelope = (seq: number, event: LogEvent): Envelope => ({ seq, at: `t${seq}`, event });
const told = (seq: number, event: LogEvent): FeedEvent => ({ ...envelope(seq, event), cursor: `c${seq}`, sessionId: S });
const delta = (text: string): Delta => ({ sessionId: S, itemId: 'm', kind: 'text', text });
const opened = envelope(1, { type: 'opened', spec: {} });

/** A history that was read, with the server's tails; then what the feed brought meanwhile. */
function read(events: Envelope[], live: string | undefined, meanwhile: (FeedEvent | Delta)[]): { state: State; whole: boolean } {
  const state = emptyState();
  state.sessions[S] = { sessionId: S, status: 'idle', createdAt: '', lastActiveAt: '', cwd: '/', turns: 0, pendingRequestCount: 0, lastSeq: events.length } as SessionView;
  const log = emptyLog();
  state.logs[S] = log;
  applyHistory(state, S, events);
  applyLive(log, live === undefined ? [] : [{ itemId: 'm', kind: 'text', text: live }]);
  const held = emptyHeld();
  for (const it of meanwhile) hold(held, it);
  return { state, whole: applyHeld(state, S, held) };
}

const shown = (state: State) => {
  const log = state.logs[S];
  const row = log && itemRow(log, 'm');
  return row?.state === 'done' ? row.body['text'] : row?.live.text;
};

describe('what streams in while a history is read', () => {
  it.each<[string, Envelope[], string | undefined, (FeedEvent | Delta)[], string]>([
    ['an item that began after it was read', [opened], undefined, [told(2, item('itemStarted')), delta('one '), delta('two')], 'one two'],
    ['an item that had no text yet', [opened, envelope(2, item('itemStarted'))], undefined, [delta('one '), delta('two')], 'one two'],
    ['text that the server had not sent', [opened, envelope(2, item('itemStarted'))], 'one ', [delta('two '), delta('three')], 'one two three'],
    ['text of which the server had sent a part', [opened, envelope(2, item('itemStarted'))], 'zero one two ', [delta('one '), delta('two '), delta('three')], 'zero one two three'],
    ['text of which the server had sent all', [opened, envelope(2, item('itemStarted'))], 'zero one two', [delta('one '), delta('two')], 'zero one two'],
    ['an item that ended meanwhile', [opened, envelope(2, item('itemStarted'))], 'one ', [delta('two'), told(3, item('itemCompleted', 'one two'))], 'one two'],
  ])('%s', (_, events, live, meanwhile, expected) => {
    const { state, whole } = read(events, live, meanwhile);
    expect(shown(state)).toBe(expected);
    expect(whole).toBe(true);
  });
});

it('a history that is behind what the feed told is not whole', () => {
  const { state, whole } = read([opened], undefined, [told(3, item('itemStarted'))]);
  expect(state.logs[S]?.gap).toBe(true);
  expect(whole).toBe(false);
});

it('more than is kept makes it be read again', () => {
  expect(read([opened], undefined, Array.from({ length: 20_001 }, () => delta('x'))).whole).toBe(false);
});

it('what was shown already, or waits for its item, is not doubled', () => {
  for (const events of [[opened], [opened, envelope(2, item('itemStarted'))]]) {
    const { state } = read(events, undefined, []);
    const held = emptyHeld();
    for (const it of [delta('one '), delta('two')]) {
      applyDelta(state, it);
      hold(held, it);
    }
    expect(applyHeld(state, S, held)).toBe(true);
    const log = state.logs[S];
    expect(log && (itemRow(log, 'm')?.live ?? log.early['m'])).toEqual({ text: 'one two' });
  }
});
