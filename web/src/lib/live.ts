/** The console's one store: snapshots from the REST interface, kept fresh by the event feed. */

import { batch, createSignal } from 'solid-js';
import { createStore, produce, reconcile } from 'solid-js/store';
import { ApiError, api } from './api';
import { askFromEvent, tidyAsk, tidySettlement } from './asks';
import { openFeed, type Feed } from './feed';
import type { FeedMessage, FeedStatus } from './feedStream';
import { applyHeld, emptyHeld, hold, type Held } from './held';
import { moved } from './shifts';
import { applyDelta, applyEvent, applyHistory, applyLive, emptyLog, emptyState, type State } from './state';
import type { Answer, AskView, Envelope, Me, SessionView } from './types';

/** What this window did about an ask. */
export type Submission = { phase: 'sending' } | { phase: 'failed'; message: string; answer: Answer } | { phase: 'mine' };

/** One store write per frame: written one by one, thousands of events take seconds. A timer, because animation frames stop in hidden tabs. */
const FRAME_MS = 16;
/** Snapshots of sessions that changed are read again this long after the last change. */
const SETTLE_MS = 250;
const PAGE = 500;
/** So many asks are read one by one; more of them are read as the list of all that wait. */
const FEW = 4;
/** So many events of a history are read at first, the newest ones; earlier parts on demand. */
const WINDOW = 600;

export function createLive() {
  const [state, setState] = createStore<State>(emptyState());
  const [submissions, setSubmissions] = createStore<Record<string, Submission>>({});
  const [me, setMe] = createSignal<Me | undefined>();
  const [login, setLogin] = createSignal<'unknown' | 'in' | 'out'>('unknown');
  const [feedStatus, setFeedStatus] = createSignal<{ status: FeedStatus; retryAt?: number }>({ status: 'connecting' });
  const [loaded, setLoaded] = createSignal(false);
  const [trouble, setTrouble] = createSignal<string | undefined>();
  const [older, setOlder] = createSignal<string | undefined>();
  let reloading: Promise<void> | undefined;
  let feed: Feed | undefined;
  let queue: FeedMessage[] = [];
  let frame: ReturnType<typeof setTimeout> | undefined;
  const stale = new Set<string>();
  let refresh: ReturnType<typeof setTimeout> | undefined;
  const unread = new Set<string>();
  const opening = new Map<string, { job: Promise<void>; held: Held }>();

  function start(): void {
    void checkLogin().then((ok) => {
      if (ok) feed ??= openFeed(receive);
    });
  }

  async function checkLogin(): Promise<boolean> {
    try {
      setMe(await api.me());
      setLogin('in');
      setTrouble(undefined);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.problem.status === 401) setLogin('out');
      else {
        setTrouble(messageOf(error));
        setTimeout(start, 2000);
      }
      return false;
    }
  }

  function receive(message: FeedMessage): void {
    if (message.type === 'status') {
      const before = feedStatus().status;
      setFeedStatus({ status: message.status, ...(message.retryAt === undefined ? {} : { retryAt: message.retryAt }) });
      if (message.status === 'loggedOut') setLogin('out');
      // Another tab logged in again.
      if (message.status === 'live' && login() === 'out') void checkLogin();
      // A tab that joins a stream which is already open gets no reset; else it is on its way.
      if (message.status === 'live' && before !== 'live') setTimeout(() => { if (!loaded() && !reloading) void reload(); }, 3 * FRAME_MS);
      return;
    }
    queue.push(message);
    frame ??= setTimeout(flush, FRAME_MS);
  }

  function flush(): void {
    frame = undefined;
    const messages = queue;
    queue = [];
    let again = false;
    setState(produce((draft: State) => {
      for (const message of messages) {
        if (message.type === 'reset') again = true;
        else if (message.type === 'delta') {
          applyDelta(draft, message.delta);
          const held = opening.get(message.delta.sessionId)?.held;
          if (held) hold(held, message.delta);
        } else if (message.type === 'event') {
          applyEvent(draft, message.event.sessionId, message.event);
          const held = opening.get(message.event.sessionId)?.held;
          if (held) hold(held, message.event);
          noteUnread(draft, message.event.sessionId, message.event);
          if (CHANGES_HEAD.has(message.event.event.type)) markStale(message.event.sessionId);
        }
      }
    }));
    if (again) void reload();
    for (const [sessionId, log] of Object.entries(state.logs)) if (log.gap) void openLog(sessionId, true);
  }

  /** The feed tells of a command as it was asked; what Pilothouse reads from it comes with the ask itself. */
  function noteUnread(draft: State, sessionId: string, { event }: Envelope): void {
    if (event.type !== 'askRaised') return;
    const ask = askFromEvent(sessionId, event['ask']);
    if (ask?.subject.type !== 'command' || draft.asks[ask.requestId]?.segments) return;
    if (unread.size === 0) setTimeout(() => void readUnread(), FRAME_MS);
    unread.add(ask.requestId);
  }

  async function readUnread(): Promise<void> {
    const ids = [...unread];
    unread.clear();
    if (ids.length <= FEW) await Promise.all(ids.map((it) => refetchAsk(it).catch(() => undefined)));
    // Those that were settled meanwhile need it no more.
    else await api.asks().then(({ asks }) => asks.forEach(putAsk), () => undefined);
  }

  function markStale(sessionId: string): void {
    stale.add(sessionId);
    clearTimeout(refresh);
    refresh = setTimeout(() => void refreshStale(), SETTLE_MS);
  }

  async function refreshStale(): Promise<void> {
    const ids = [...stale];
    stale.clear();
    await Promise.all(ids.map(async (sessionId) => {
      try {
        putSession(await api.session(sessionId));
      } catch {
        // The next event, or the next reload, brings it up to date.
      }
    }));
  }

  function putSession(view: SessionView): void {
    const known = state.sessions[view.sessionId];
    // The feed may have overtaken this answer; what it brought since must not be counted twice.
    // Lists don't say whether an agent works in it, which never changes.
    const agentless = view.agentless ?? known?.agentless;
    setState('sessions', view.sessionId, reconcile({ ...view, ...(agentless === undefined ? {} : { agentless }), lastSeq: Math.max(view.lastSeq, known?.lastSeq ?? 0) }));
  }

  /** Reads everything anew. What is being read already may be older than the reason to read again. */
  function reload(): Promise<void> {
    const job = (reloading ?? Promise.resolve()).then(readAll).finally(() => {
      if (reloading === job) reloading = undefined;
    });
    reloading = job;
    return job;
  }

  async function readAll(): Promise<void> {
    try {
      const [{ sessions, nextCursor }, { asks }] = await Promise.all([api.sessions(), api.asks()]);
      batch(() => sessions.forEach(putSession));
      if (!loaded()) setOlder(nextCursor ?? undefined);
      const pending = new Set(asks.map((it) => it.requestId));
      for (const ask of asks) putAsk(ask);
      const missed = Object.values(state.asks).filter((it) => it.state === 'pending' && !pending.has(it.requestId));
      await Promise.all(missed.map((it) => refetchAsk(it.requestId)));
      setLoaded(true);
      setTrouble(undefined);
      await Promise.all(Object.keys(state.logs).map((sessionId) => openLog(sessionId, true)));
    } catch (error) {
      if (error instanceof ApiError && error.problem.status === 401) setLogin('out');
      else setTrouble(messageOf(error));
    }
  }

  /** Reads the next page of sessions, which are older than those in the list. */
  async function readOlder(): Promise<void> {
    const cursor = older();
    if (cursor === undefined) return;
    const { sessions, nextCursor } = await api.sessions(cursor);
    batch(() => sessions.forEach(putSession));
    setOlder(nextCursor ?? undefined);
  }

  function putAsk(ask: AskView): void {
    const known = state.asks[ask.requestId];
    if (known?.state === 'settled' && ask.state === 'pending') return;
    // A card that grows under the pointer is one that moved.
    if (known?.state === 'pending' && !known.segments && ask.segments) moved();
    setState('asks', ask.requestId, reconcile(tidyAsk(ask)));
  }

  async function refetchAsk(requestId: string): Promise<void> {
    try {
      putAsk(await api.ask(requestId));
    } catch (error) {
      if (error instanceof ApiError && error.problem.status === 404) setState('asks', requestId, (it) => ({ ...it, state: 'settled', settlement: { how: 'withdrawn' } }));
    }
  }

  /** Reads a session's history so that its timeline shows; once per session, or again after a gap. */
  function openLog(sessionId: string, again = false): Promise<void> {
    const running = opening.get(sessionId);
    if (running) return running.job;
    const log = state.logs[sessionId];
    if (log && !again) return Promise.resolve();
    return keep(sessionId, () => readLog(sessionId, log?.lastSeq));
  }

  /** Does a reading of a history, while what the feed brings meanwhile is kept for its end. */
  async function keep(sessionId: string, read: () => Promise<void>): Promise<void> {
    const held = emptyHeld();
    const before = state.logs[sessionId]?.lastSeq;
    const job = read().then(() => {
      let whole = true;
      setState(produce((draft: State) => { whole = applyHeld(draft, sessionId, held); }));
      return whole;
    }).finally(() => opening.delete(sessionId));
    // What brought nothing new would bring nothing the next time.
    const rest = job.then((whole) => (whole || state.logs[sessionId]?.lastSeq === before ? undefined : openLog(sessionId, true)));
    opening.set(sessionId, { job: rest, held });
    await rest;
  }

  async function readLog(sessionId: string, from: number | undefined): Promise<void> {
    const view = await api.session(sessionId);
    putSession(view);
    const after = from ?? Math.max(0, view.lastSeq - WINDOW);
    if (from === undefined && view.pendingRequestCount > 0) void api.asks().then(({ asks }) => asks.forEach(putAsk), () => undefined);
    await readPages(sessionId, after, from === undefined);
  }

  async function readPages(sessionId: string, after: number, fresh: boolean): Promise<void> {
    const events: Envelope[] = [];
    let live: Parameters<typeof applyLive>[1] = [];
    for (let at = after, more = true; more;) {
      const page = await api.events(sessionId, at, PAGE);
      for (const envelope of page.events) events.push(envelope);
      live = page.live ?? [];
      more = page.more && page.nextAfter > at;
      at = page.nextAfter;
    }
    if (fresh || !state.logs[sessionId]) {
      const log = emptyLog(after);
      const folded: State = { sessions: {}, asks: {}, logs: { [sessionId]: log } };
      applyHistory(folded, sessionId, events);
      applyLive(log, live);
      batch(() => {
        for (const ask of Object.values(folded.asks)) if (!state.asks[ask.requestId]) setState('asks', ask.requestId, ask);
        // Rows that were there stay the same rows, so that nothing is drawn again and the place is kept.
        setState('logs', sessionId, reconcile(log, { key: 'key' }));
      });
      return;
    }
    setState(produce((draft: State) => {
      const log = draft.logs[sessionId];
      if (!log) return;
      log.gap = false;
      applyHistory(draft, sessionId, events);
      applyLive(log, live);
    }));
  }

  /** Reads the part before what is shown. The whole is folded again: an item may begin there and end here. */
  async function readEarlier(sessionId: string): Promise<void> {
    const log = state.logs[sessionId];
    if (!log || log.after === 0 || opening.has(sessionId)) return;
    await keep(sessionId, () => readPages(sessionId, Math.max(0, log.after - WINDOW), true));
  }

  /** Sends an answer; what came of it shows on the ask itself. */
  async function answer(requestId: string, body: Answer): Promise<void> {
    if (submissions[requestId]?.phase === 'sending') return;
    setSubmissions(requestId, { phase: 'sending' });
    try {
      const settled = await api.answer(requestId, body);
      setSubmissions(requestId, { phase: 'mine' });
      if (settled?.requestId) putAsk(settled);
    } catch (error) {
      const code = error instanceof ApiError ? error.problem.code : undefined;
      if (code === 'ALREADY_SETTLED') {
        const settlement = (error as ApiError).problem.settlement;
        setSubmissions(produce((it: Record<string, Submission>) => delete it[requestId]));
        if (settlement) setState('asks', requestId, (it) => ({ ...it, state: 'settled', settlement: tidySettlement(settlement) }));
        else await refetchAsk(requestId);
        return;
      }
      if (code === 'DIGEST_MISMATCH') await refetchAsk(requestId);
      const message = code === 'DIGEST_MISMATCH' ? 'What is asked has changed since it was shown. Look at it again before you answer.' : messageOf(error);
      setSubmissions(requestId, { phase: 'failed', message, answer: body });
    }
  }

  async function logIn(code: string): Promise<void> {
    await api.login(code);
    setLogin('unknown');
    if (await checkLogin()) {
      if (feed) feed.connect();
      else feed = openFeed(receive);
    }
  }

  return {
    state, submissions, me, login, feedStatus, loaded, trouble,
    start, logIn, openLog, readEarlier, readOlder, answer, putSession,
    hasOlder: () => older() !== undefined,
    retryNow: () => feed?.connect(),
    close: () => feed?.close(),
  };
}

export type Live = ReturnType<typeof createLive>;

const CHANGES_HEAD = new Set(['opened', 'attached', 'attachFailed', 'turnRequested', 'turnStarted', 'turnEnded', 'askRaised', 'askSettled', 'renamed', 'adopted', 'closed', 'detached']);

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
