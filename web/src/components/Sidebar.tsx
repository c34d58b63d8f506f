/** Where to go: the inbox with its count, and every session, the latest first. */

import { createMemo, For, Show } from 'solid-js';
import { firstWords, plainly } from '../lib/display';
import { age, nodeName, tail } from '../lib/format';
import { now } from '../lib/now';
import { follow, type Route } from '../lib/router';
import type { SessionStatus, SessionView } from '../lib/types';
import { Icon } from './Icon';

export interface SidebarProps {
  sessions: SessionView[];
  pending: number;
  route: Route;
  /** Reads more sessions, when there are more than the list holds. */
  onOlder?: (() => void) | undefined;
  /** Asks the browser whether it may notify; absent when it was asked before. */
  onNotices?: (() => void) | undefined;
  me?: { node?: string; version: string } | undefined;
}

export const STATUS_WORDS: Record<SessionStatus, string> = { running: 'Running', waiting_approval: 'Waits for you', idle: 'Idle', error: 'Failed', cancelled: 'Closed' };

export function sessionTitle(session: SessionView | undefined, fallback = 'Session'): string {
  if (!session) return fallback;
  return firstWords(session.title || session.lastTurn?.prompt || '', 80) || fallback;
}

export function StatusDot(props: { status: SessionStatus }) {
  return (
    <span
      class="inline-block h-2 w-2 shrink-0 rounded-full" role="img" aria-label={STATUS_WORDS[props.status]} title={STATUS_WORDS[props.status]}
      classList={{
        'bg-accent pulse': props.status === 'running', 'bg-warn': props.status === 'waiting_approval', 'bg-edge': props.status === 'idle',
        'bg-bad': props.status === 'error', 'border border-edge': props.status === 'cancelled',
      }}
    />
  );
}

export function Sidebar(props: SidebarProps) {
  const nodes = createMemo(() => new Set(props.sessions.map((it) => it.node).filter(Boolean)));
  return (
    <nav class="flex h-full min-h-0 flex-col" aria-label="Sessions">
      <div class="space-y-0.5 p-2">
        <div class="flex items-center gap-2 px-2 pt-1 pb-2">
          <img src="/favicon.svg" alt="" width="18" height="18" />
          <span class="text-[0.875rem] font-semibold tracking-tight">Pilothouse</span>
        </div>
        <a href="/" onClick={follow} class="nav-link" aria-current={props.route.view === 'inbox' ? 'page' : undefined}>
          <Icon name="inbox" /><span class="flex-1">Inbox</span>
          <Show when={props.pending > 0}><span class="rounded-full bg-warn px-1.5 text-2xs font-bold tabular-nums text-bg" data-testid="pending-count">{props.pending}<span class="sr-only"> pending</span></span></Show>
        </a>
        <a href="/new" onClick={follow} class="nav-link" aria-current={props.route.view === 'new' ? 'page' : undefined}><Icon name="plus" /><span class="flex-1">New session</span></a>
      </div>
      <div class="min-h-0 flex-1 overflow-y-auto border-t border-line px-2 py-1.5">
        <Show when={props.sessions.length > 0} fallback={<p class="px-2 py-2 text-muted">No sessions yet.</p>}>
          <ul class="space-y-px">
            <For each={props.sessions}>{(session) => (
              <li>
                <a
                  href={`/sessions/${session.sessionId}`} onClick={follow} class="nav-link items-start py-1.5"
                  aria-current={props.route.view === 'session' && props.route.sessionId === session.sessionId ? 'page' : undefined}
                >
                  <span class="mt-1.5 grid w-4 place-items-center"><StatusDot status={session.status} /></span>
                  <span class="min-w-0 flex-1">
                    <span class="flex items-baseline gap-2">
                      <span class="min-w-0 flex-1 truncate font-medium text-ink">{sessionTitle(session)}</span>
                      <time class="shrink-0 text-2xs text-muted tabular-nums" datetime={session.lastActiveAt}>{age(session.lastActiveAt, now())}</time>
                    </span>
                    <span class="flex items-baseline gap-2 text-2xs text-muted">
                      <span class="min-w-0 flex-1 truncate font-mono" title={session.cwd}>{tail(plainly(session.cwd))}</span>
                      <Show when={nodes().size > 1 && session.node}>{(node) => <span class="shrink-0" title={node()}>{plainly(nodeName(node()))}</span>}</Show>
                    </span>
                  </span>
                </a>
              </li>
            )}</For>
          </ul>
          <Show when={props.onOlder}>{(more) => <button type="button" class="btn btn-small btn-quiet mt-1 w-full" onClick={() => more()()}>Older sessions</button>}</Show>
        </Show>
      </div>
      <Show when={props.onNotices}>{(ask) => <button type="button" class="btn btn-small btn-quiet mx-2 mb-2" onClick={() => ask()()}>Notify me when something waits</button>}</Show>
      <Show when={props.me}>{(me) => <p class="border-t border-line px-4 py-1.5 text-2xs text-muted">{me().node ? `${plainly(nodeName(me().node ?? ''))} · ` : ''}Pilothouse {me().version}</p>}</Show>
    </nav>
  );
}
