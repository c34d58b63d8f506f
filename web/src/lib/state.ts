/** Folds events into what the console shows; changes the given state and does nothing else. */

import { actorWords, askFromEvent, requestIdOf, sessionIdOf, settlementFromEvent } from './asks';
import { blobOf, textOf, type Blob } from './blob';
import type { Actor, AskView, Delta, DeltaKind, Envelope, LogEvent, SessionStatus, SessionView, TurnStatus } from './types';

export interface State {
  sessions: Record<string, SessionView>;
  asks: Record<string, AskView>;
  /** The timelines of sessions that were opened. */
  logs: Record<string, SessionLog>;
}

export interface SessionLog {
  rows: Row[];
  /** Where each row stands, by its key. */
  index: Record<string, number>;
  /** Events up to here are folded in. */
  lastSeq: number;
  /** The first event that is folded in, minus one: what came before was not loaded. */
  after: number;
  /** An event was missed; the rest must be read again. */
  gap: boolean;
  /** What streamed in of items before the log told that they began: the feed's deltas don't wait for what is recorded. */
  early: Record<string, Partial<Record<DeltaKind, string>>>;
  turn?: OpenTurn;
  usage?: Usage;
}

export interface OpenTurn {
  turn: number;
  requestedAt: string;
  diff?: string;
}

export interface Usage {
  total: number;
  input: number;
  cached: number;
  output: number;
  /** What the last call sent, against what the model can hold. */
  context?: number;
  window?: number;
}

export type Row = PromptRow | ItemRow | AskRow | RunRow | PlanRow | NoticeRow | TurnEndRow;

export interface PromptRow {
  key: string;
  type: 'prompt';
  turn?: number;
  at: string;
  text: string;
  images: (string | Blob)[];
  by?: Actor;
  how: 'start' | 'steer' | 'queued';
  /** The agent's own record of this message, once it came. */
  item?: string;
}

export type ItemState = 'open' | 'done' | 'abandoned';

export interface ItemRow {
  key: string;
  type: 'item';
  item: string;
  turn?: number;
  kind: string;
  body: Record<string, unknown>;
  state: ItemState;
  at: string;
  endedAt?: string;
  agent?: { threadId: string; path?: string | null };
  /** The asks that it raised. */
  asks: string[];
  /** What streams in while it is open. */
  live: Partial<Record<DeltaKind, string>>;
}

export interface AskRow {
  key: string;
  type: 'ask';
  requestId: string;
}

/** A command that a caller was allowed to run, and runs itself. */
export interface RunRow {
  key: string;
  type: 'run';
  /** The ask that allowed it, and says what it is. */
  requestId: string;
  at: string;
  by?: Actor;
  endedAt?: string;
  result?: RunResult;
}

export interface RunResult {
  end: { type: string; code?: number; signal?: number; afterMs?: number; problem?: string };
  stdout: string;
  stderr: string;
  truncated: boolean;
}

export interface PlanRow {
  key: string;
  type: 'plan';
  explanation?: string;
  steps: { step: string; status: string }[];
}

export interface NoticeRow {
  key: string;
  type: 'notice';
  at: string;
  tone: 'info' | 'warn' | 'bad';
  text: string;
  detail?: string;
  /** Another session that it is about. */
  sessionId?: string;
}

export interface TurnEndRow {
  key: string;
  type: 'turnEnd';
  turn: number;
  status: TurnStatus;
  error?: string;
  at: string;
  requestedAt?: string;
  files: string[];
  diff?: string;
}

/** Live text of one item beyond this is cut at its beginning; the completed item holds it whole. */
const MAX_LIVE = 200_000;
/** Items whose text may come before they do. */
const MAX_EARLY = 64;

export const emptyState = (): State => ({ sessions: {}, asks: {}, logs: {} });
export const emptyLog = (after = 0): SessionLog => ({ rows: [], index: {}, lastSeq: after, after, gap: false, early: {} });

type Loose = Record<string, unknown>;
const obj = (value: unknown): Loose => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {});
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** An event that just happened, of any session. */
export function applyEvent(state: State, sessionId: string, envelope: Envelope): void {
  const session = state.sessions[sessionId];
  if (session && envelope.seq > session.lastSeq) applyToHead(session, envelope);
  applyToAsks(state, sessionId, envelope);
  const log = state.logs[sessionId];
  if (log) applyToLog(log, sessionId, envelope);
}

/** Events of a session's history, in order; what is known already is passed over. */
export function applyHistory(state: State, sessionId: string, events: Envelope[]): void {
  const log = state.logs[sessionId];
  for (const envelope of events) {
    applyToAsks(state, sessionId, envelope);
    if (log) applyToLog(log, sessionId, envelope);
  }
}

/** A piece of an open item's stream. Never on record: it is dropped when the item is over, and kept for an item that is yet to come. */
export function applyDelta(state: State, delta: Delta): void {
  const log = state.logs[delta.sessionId];
  if (!log) return;
  const row = itemRow(log, delta.itemId);
  if (row && row.state !== 'open') return;
  if (!row && !log.early[delta.itemId]) {
    if (Object.keys(log.early).length >= MAX_EARLY) return;
    log.early[delta.itemId] = {};
  }
  const live = row?.live ?? log.early[delta.itemId] ?? {};
  const whole = (live[delta.kind] ?? '') + delta.text;
  live[delta.kind] = whole.length > MAX_LIVE ? whole.slice(-MAX_LIVE) : whole;
}

/** What streamed in of an item so far. */
export const streamed = (log: SessionLog, item: string, kind: DeltaKind) => (itemRow(log, item)?.live ?? log.early[item])?.[kind] ?? '';

/** The server's tail of an open item's stream takes the place of what was gathered here. */
export function applyLive(log: SessionLog, live: { itemId: string; kind: DeltaKind; text: string }[]): void {
  for (const { itemId, kind, text: whole } of live) {
    const row = itemRow(log, itemId);
    if (row?.state === 'open') row.live[kind] = whole;
  }
}

function applyToHead(session: SessionView, { seq, at, event }: Envelope): void {
  session.lastSeq = seq;
  session.lastActiveAt = at;
  const turn = number(event['turn']);
  switch (event.type) {
    case 'turnRequested':
      session.status = 'running';
      if (turn !== undefined) {
        session.turns = Math.max(session.turns, turn);
        session.lastTurn = { turn, status: 'requested', prompt: promptText(event['prompt']), requestedAt: at };
      }
      break;
    case 'turnStarted':
      session.status = session.pendingRequestCount > 0 ? 'waiting_approval' : 'running';
      if (session.lastTurn && session.lastTurn.turn === turn) session.lastTurn.status = 'started';
      break;
    case 'turnEnded': {
      const { status, error } = outcomeOf(event['outcome']);
      session.status = status === 'failed' || status === 'lost' ? 'error' : 'idle';
      if (session.lastTurn && session.lastTurn.turn === turn) Object.assign(session.lastTurn, { status, error: error === undefined ? null : { message: error }, endedAt: at });
      break;
    }
    case 'askRaised':
      session.pendingRequestCount += 1;
      session.status = 'waiting_approval';
      break;
    case 'askSettled': {
      session.pendingRequestCount = Math.max(0, session.pendingRequestCount - 1);
      const turn = session.lastTurn?.status;
      if (session.pendingRequestCount === 0 && session.status === 'waiting_approval') session.status = turn === 'requested' || turn === 'started' ? 'running' : 'idle';
      break;
    }
    case 'opened':
      session.agentless = obj(event['spec'])['agentless'] === true;
      break;
    case 'adopted':
      session.openedBy = { type: 'caller', id: text(event['caller']) ?? '' };
      break;
    case 'attached': {
      const facts = obj(event['facts']);
      for (const key of ['model', 'approvalPolicy', 'sandbox', 'effort', 'cwd', 'dialect'] as const) {
        const value = text(facts[key]);
        if (value) session[key] = value;
      }
      session.threadId = text(event['thread']) ?? session.threadId ?? null;
      break;
    }
    case 'attachFailed':
      session.status = 'error';
      break;
    case 'renamed':
      session.title = text(event['title']) ?? session.title ?? null;
      break;
    case 'closed':
      session.status = 'cancelled' satisfies SessionStatus;
      break;
  }
}

function applyToAsks(state: State, sessionId: string, { at, event }: Envelope): void {
  if (event.type === 'askRaised') {
    const ask = askFromEvent(sessionId, event['ask']);
    if (ask && !state.asks[ask.requestId]) state.asks[ask.requestId] = ask;
  } else if (event.type === 'askSettled') {
    const id = number(event['ask']);
    const ask = id === undefined ? undefined : state.asks[requestIdOf(sessionId, id)];
    if (ask && ask.state === 'pending') {
      ask.state = 'settled';
      ask.settlement = settlementFromEvent(event['how'], at);
    }
  }
}

function applyToLog(log: SessionLog, sessionId: string, envelope: Envelope): void {
  const { seq, at, event } = envelope;
  if (log.gap || seq <= log.lastSeq) return;
  if (seq > log.lastSeq + 1) {
    log.gap = true;
    return;
  }
  log.lastSeq = seq;
  const turn = number(event['turn']);
  switch (event.type) {
    case 'turnRequested':
      log.turn = { turn: turn ?? 0, requestedAt: at };
      if (event['queued'] === true && takeQueued(log, promptText(event['prompt']), turn)) break;
      push(log, promptRow(seq, at, event, 'start'));
      break;
    case 'promptQueued':
      push(log, promptRow(seq, at, event, 'queued'));
      break;
    case 'steered':
      push(log, promptRow(seq, at, event, 'steer'));
      break;
    case 'turnEnded':
      endTurn(log, envelope);
      break;
    case 'itemStarted':
    case 'itemCompleted':
      applyItem(log, envelope);
      break;
    case 'itemAbandoned': {
      const row = itemRow(log, text(event['item']) ?? '');
      if (row?.state === 'open') {
        row.state = 'abandoned';
        row.endedAt = at;
      }
      break;
    }
    case 'askRaised':
      placeAsk(log, sessionId, event);
      break;
    case 'noted':
      applyNote(log, envelope);
      break;
    case 'commandStarted':
    case 'commandEnded':
      applyRun(log, sessionId, envelope);
      break;
    default:
      applyNotice(log, sessionId, envelope);
  }
}

function push(log: SessionLog, row: Row): void {
  log.index[row.key] = log.rows.length;
  log.rows.push(row);
}

export function itemRow(log: SessionLog, item: string): ItemRow | undefined {
  const at = log.index[`item:${item}`];
  const row = at === undefined ? undefined : log.rows[at];
  return row?.type === 'item' ? row : undefined;
}

function promptText(prompt: unknown): string {
  return text(prompt) ?? text(obj(prompt)['text']) ?? '';
}

function promptRow(seq: number, at: string, event: LogEvent, how: PromptRow['how']): PromptRow {
  const images = obj(event['prompt'])['images'];
  const turn = number(event['turn']);
  return {
    key: `prompt:${seq}`, type: 'prompt', at, how, text: promptText(event['prompt']),
    images: Array.isArray(images) ? images.map((it) => blobOf(it) ?? String(it)) : [],
    ...(turn === undefined ? {} : { turn }),
    ...(event['by'] ? { by: event['by'] as Actor } : {}),
  };
}

/** A prompt that waited in the queue becomes its turn's prompt where it stands, if nothing came after it. */
function takeQueued(log: SessionLog, prompt: string, turn: number | undefined): boolean {
  const at = log.rows.findIndex((it) => it.type === 'prompt' && it.how === 'queued' && it.text === prompt);
  const row = log.rows[at];
  if (row?.type !== 'prompt') return false;
  if (at === log.rows.length - 1) {
    row.how = 'start';
    if (turn !== undefined) row.turn = turn;
    return true;
  }
  log.rows.splice(at, 1);
  log.rows.forEach((it, i) => (log.index[it.key] = i));
  delete log.index[row.key];
  return false;
}

function applyItem(log: SessionLog, { at, event }: Envelope): void {
  const item = text(event['item']) ?? '';
  const kind = text(event['kind']) ?? 'unknown';
  const done = event.type === 'itemCompleted';
  const body = obj(event['body']);
  const turn = number(event['turn']) ?? log.turn?.turn;
  const agent = event['agent'] as ItemRow['agent'] | undefined;
  const row = itemRow(log, item);
  if (row) {
    // Codex may start an item twice; what was completed stays completed.
    if (!done && row.state === 'done') return;
    row.kind = kind;
    row.body = body;
    if (done) {
      row.state = 'done';
      row.endedAt = at;
      row.live = {};
    }
    return;
  }
  const early = log.early[item] ?? {};
  delete log.early[item];
  if (kind === 'userMessage' && !agent && isPrompt(log, item, body)) return;
  push(log, {
    key: `item:${item}`, type: 'item', item, kind, body, at, state: done ? 'done' : 'open', asks: [], live: done ? {} : { ...early },
    ...(done ? { endedAt: at } : {}),
    ...(turn === undefined ? {} : { turn }),
    ...(agent ? { agent } : {}),
  });
}

/** The agent repeats each prompt as an item of its own; one of them is enough. */
function isPrompt(log: SessionLog, item: string, body: Loose): boolean {
  const content = Array.isArray(body['content']) ? body['content'] : [];
  const parts = content.map((it) => obj(it)['text']);
  const words = parts.map(textOf).join('').trim();
  const head = parts.map(blobOf).find(Boolean)?.head;
  const same = (prompt: string) => (head === undefined ? prompt.trim() === words : prompt.startsWith(head));
  for (let i = log.rows.length - 1; i >= 0; i--) {
    const row = log.rows[i];
    if (row?.type !== 'prompt') continue;
    if (row.item === item) return true;
    if (row.item === undefined && row.how !== 'queued' && same(row.text)) {
      row.item = item;
      return true;
    }
  }
  return false;
}

function placeAsk(log: SessionLog, sessionId: string, event: LogEvent): void {
  const ask = obj(event['ask']);
  const id = number(ask['id']);
  if (id === undefined) return;
  const requestId = requestIdOf(sessionId, id);
  const row = itemRow(log, text(ask['item']) ?? '');
  if (row) row.asks.push(requestId);
  else push(log, { key: `ask:${requestId}`, type: 'ask', requestId });
}

function applyRun(log: SessionLog, sessionId: string, { at, event }: Envelope): void {
  const ask = number(event['ask']);
  if (ask === undefined) return;
  const requestId = requestIdOf(sessionId, ask);
  const key = `run:${requestId}`;
  const place = log.index[key];
  const known = place === undefined ? undefined : log.rows[place];
  const row: RunRow = known?.type === 'run' ? known : { key, type: 'run', requestId, at, ...(event['by'] ? { by: event['by'] as Actor } : {}) };
  if (!known) push(log, row);
  if (event.type !== 'commandEnded') return;
  const result = obj(event['result']);
  const end = obj(result['end']);
  // The row in the log, not the one that was pushed: a store keeps its own.
  Object.assign(log.rows[log.index[key] ?? 0] as RunRow, {
    endedAt: at,
    result: { end: { ...end, type: text(end['type']) ?? 'lost' }, stdout: textOf(result['stdout']), stderr: textOf(result['stderr']), truncated: result['truncated'] === true || blobOf(result['stdout']) !== undefined || blobOf(result['stderr']) !== undefined },
  } satisfies Partial<RunRow>);
}

function outcomeOf(raw: unknown): { status: TurnStatus; error?: string } {
  const outcome = typeof raw === 'string' ? { type: raw } : obj(raw);
  const status = (text(outcome['type']) ?? 'completed') as TurnStatus;
  const error = text(obj(outcome['error'])['message']) ?? text(outcome['error']) ?? text(outcome['cause']);
  return error === undefined ? { status } : { status, error };
}

function endTurn(log: SessionLog, { at, event }: Envelope): void {
  const turn = number(event['turn']) ?? log.turn?.turn ?? 0;
  const { status, error } = outcomeOf(event['outcome']);
  const files = obj(event['report'])['files'];
  for (const row of log.rows) {
    if (row.type === 'item' && row.state === 'open' && row.turn === turn && row.kind !== 'commandExecution') {
      row.state = 'abandoned';
      row.endedAt = at;
    }
  }
  log.early = {};
  const open = log.turn?.turn === turn ? log.turn : undefined;
  push(log, {
    key: `end:${turn}`, type: 'turnEnd', turn, status, at, files: Array.isArray(files) ? files.map(String) : [],
    ...(error === undefined ? {} : { error }),
    ...(open ? { requestedAt: open.requestedAt } : {}),
    ...(open?.diff ? { diff: open.diff } : {}),
  });
  if (open) delete log.turn;
}

function applyNote(log: SessionLog, { seq, at, event }: Envelope): void {
  const body = obj(event['body']);
  const notice = (tone: NoticeRow['tone'], words: string, detail?: string) =>
    push(log, { key: `note:${seq}`, type: 'notice', at, tone, text: words, ...(detail ? { detail } : {}) });
  switch (event['method']) {
    case 'turn/plan/updated':
      applyPlan(log, body);
      break;
    case 'turn/diff/updated':
      if (log.turn) log.turn.diff = textOf(body['diff']);
      break;
    case 'thread/tokenUsage/updated':
      log.usage = usageOf(obj(body['tokenUsage'])) ?? log.usage;
      break;
    case 'error': {
      const error = obj(body['error']);
      notice(body['willRetry'] === true ? 'warn' : 'bad', text(error['message']) ?? 'The agent reported an error.', text(error['additionalDetails']));
      break;
    }
    case 'warning':
    case 'guardianWarning':
      notice('warn', text(body['message']) ?? 'The agent gave a warning.');
      break;
    case 'configWarning':
    case 'deprecationNotice':
      notice('info', text(body['summary']) ?? 'The agent gave a notice.', text(body['details']));
      break;
    case 'model/rerouted':
      notice('info', `The model was changed to ${text(body['toModel']) ?? 'another'}.`, text(body['reason']));
      break;
  }
}

function applyPlan(log: SessionLog, body: Loose): void {
  const steps = (Array.isArray(body['plan']) ? body['plan'] : []).map((it) => ({ step: text(obj(it)['step']) ?? '', status: text(obj(it)['status']) ?? 'pending' }));
  const explanation = text(body['explanation']);
  const key = `plan:${log.turn?.turn ?? 0}`;
  const at = log.index[key];
  const row = at === undefined ? undefined : log.rows[at];
  if (row?.type === 'plan') {
    row.steps = steps;
    if (explanation) row.explanation = explanation;
    return;
  }
  push(log, { key, type: 'plan', steps, ...(explanation ? { explanation } : {}) });
}

function usageOf(usage: Loose): Usage | undefined {
  const total = obj(usage['total']);
  if (number(total['totalTokens']) === undefined) return undefined;
  const context = number(obj(usage['last'])['totalTokens']);
  const window = number(usage['modelContextWindow']);
  return {
    total: number(total['totalTokens']) ?? 0,
    input: number(total['inputTokens']) ?? 0,
    cached: number(total['cachedInputTokens']) ?? 0,
    output: number(total['outputTokens']) ?? 0,
    ...(context === undefined ? {} : { context }),
    ...(window === undefined ? {} : { window }),
  };
}

/** Facts about the session itself that a person should see in its course. */
function applyNotice(log: SessionLog, sessionId: string, { seq, at, event }: Envelope): void {
  const notice = (tone: NoticeRow['tone'], words: string, detail?: string, about?: string) =>
    push(log, { key: `note:${seq}`, type: 'notice', at, tone, text: words, ...(detail ? { detail } : {}), ...(about ? { sessionId: about } : {}) });
  switch (event.type) {
    case 'askNotShown':
      notice('info', `Not shown by ${text(event['via']) || 'the client'}: ${text(event['why']) ?? 'it did not say why'}`, 'The question waits here and in the inbox.');
      break;
    case 'askEchoed': {
      const about = sessionIdOf(text(event['ask']) ?? '');
      if (about === sessionId) notice('info', 'The agent passed on a question that this session asks already.');
      else notice('info', 'The agent passed on a question that is asked already by another session.', undefined, about);
      break;
    }
    case 'adopted':
      notice('info', `Given to the calling program ${text(event['caller']) ?? ''} by ${actorWords(event['by'] as Actor | undefined)}.`);
      break;
    case 'interruptRequested':
      notice('info', 'Someone asked the agent to stop.');
      break;
    case 'requestRefused':
      notice('warn', `Pilothouse refused a request of the agent that it does not know: ${text(event['method']) ?? ''}`, text(event['answer']));
      break;
    case 'attachFailed': {
      const error = obj(event['error']);
      notice('bad', 'The agent could not be started.', text(error['message']));
      break;
    }
    case 'detached':
      notice('info', 'The agent left.', text(event['cause']));
      break;
    case 'managed': {
      const what = event['what'];
      notice('info', `Asked of the agent: ${text(what) ?? Object.keys(obj(what))[0] ?? 'something'}.`);
      break;
    }
    case 'closed':
      notice('info', 'This session is closed.', text(event['reason']));
      break;
  }
}
