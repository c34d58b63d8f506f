/** What the feed brings about a session while its history is read: nothing of it may be missed or doubled. */

import { applyDelta, applyEvent, streamed, type State } from './state';
import type { Delta, FeedEvent } from './types';

/** More than this is not kept: the history is read again instead. */
const MAX_HELD = 20_000;

export interface Held {
  events: FeedEvent[];
  deltas: Delta[];
  /** Something was not kept. */
  full: boolean;
}

export const emptyHeld = (): Held => ({ events: [], deltas: [], full: false });

export function hold(held: Held, message: FeedEvent | Delta): void {
  if (held.events.length + held.deltas.length >= MAX_HELD) held.full = true;
  else if ('event' in message) held.events.push(message);
  else held.deltas.push(message);
}

/** Brings a log that was read to where the feed is. Says whether it is all there. */
export function applyHeld(state: State, sessionId: string, held: Held): boolean {
  for (const event of held.events) applyEvent(state, sessionId, event);
  const log = state.logs[sessionId];
  if (!log) return true;
  const streams = new Map<string, Delta[]>();
  for (const delta of held.deltas) {
    const key = JSON.stringify([delta.itemId, delta.kind]);
    const stream = streams.get(key);
    if (stream) stream.push(delta);
    else streams.set(key, [delta]);
  }
  for (const deltas of streams.values()) {
    const [first] = deltas;
    const known = first ? streamed(log, first.itemId, first.kind) : '';
    for (const delta of deltas.slice(overlap(known, deltas))) applyDelta(state, delta);
  }
  return !held.full && !log.gap && (state.sessions[sessionId]?.lastSeq ?? 0) <= log.lastSeq;
}

/** How many of the pieces the text ends with already: the server's tail of a stream, or what was shown, may hold some. */
function overlap(known: string, deltas: Delta[]): number {
  let whole = deltas.map((it) => it.text).join('');
  for (let n = deltas.length; n > 0; n -= 1) {
    if (known.endsWith(whole)) return n;
    whole = whole.slice(0, whole.length - (deltas[n - 1]?.text.length ?? 0));
  }
  return 0;
}
