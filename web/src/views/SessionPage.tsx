/** One session: what it is, its course, and a place to write to it. */

import { createEffect, createSignal, For, on, onCleanup, onMount, Show } from 'solid-js';
import { Composer } from '../components/Composer';
import { Icon } from '../components/Icon';
import { sessionTitle, STATUS_WORDS, StatusDot } from '../components/Sidebar';
import { Visible } from '../components/Text';
import { Timeline } from '../components/Timeline';
import { actorWords } from '../lib/asks';
import { plainly } from '../lib/display';
import { compact } from '../lib/format';
import type { Submission } from '../lib/live';
import type { SessionLog, Usage } from '../lib/state';
import type { Answer, AskView, SessionView } from '../lib/types';

export interface SessionPageProps {
  session: SessionView | undefined;
  log: SessionLog | undefined;
  asks: Record<string, AskView>;
  submissions: Record<string, Submission>;
  canAnswer: boolean;
  /** Why it could not be read, if so. */
  trouble?: string | undefined;
  onAnswer: (requestId: string, answer: Answer) => void;
  /** Reads a text that was too long for the log, by its digest. */
  onReadBlob: (digest: string) => Promise<string>;
  onSend: (prompt: string, images: string[], whenBusy?: 'steer' | 'queue') => Promise<void>;
  onInterrupt: () => Promise<void>;
  onFork: () => Promise<void>;
  onCancel: () => Promise<void>;
  onEarlier: () => Promise<void>;
}

export function SessionPage(props: SessionPageProps) {
  let scroller!: HTMLDivElement;
  let contents!: HTMLDivElement;
  const [atEnd, setAtEnd] = createSignal(true);
  const busy = () => props.session?.status === 'running' || props.session?.status === 'waiting_approval';
  const toEnd = () => { scroller.scrollTop = scroller.scrollHeight; };
  const near = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;
  onMount(() => {
    // Follows what streams in, unless the person scrolled away to read.
    const observer = new ResizeObserver(() => { if (atEnd()) toEnd(); });
    observer.observe(contents);
    observer.observe(scroller);
    onCleanup(() => observer.disconnect());
  });
  createEffect(on(() => props.session?.sessionId, () => setAtEnd(true)));

  return (
    <div class="flex h-full min-h-0 flex-col">
      <Header {...props} />
      <div ref={scroller} class="min-h-0 flex-1 overflow-y-auto px-3 sm:px-5" tabindex="0" role="region" aria-label="Course of the session" onScroll={() => setAtEnd(near())}>
        <div ref={contents} class="mx-auto w-full max-w-4xl py-4">
          <Show when={props.trouble}>{(words) => <p role="alert" class="mb-3 rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-bad"><Visible text={words()} prose /></p>}</Show>
          <Show when={props.log} fallback={<Show when={!props.trouble}><p class="py-10 text-center text-muted">Reading…</p></Show>}>{(log) => (
            <>
              <Show when={log().after > 0}><button type="button" class="btn btn-small mb-3 w-full" onClick={() => { setAtEnd(false); void props.onEarlier(); }}>Show what came before</button></Show>
              <Timeline log={log()} asks={props.asks} submissions={props.submissions} canAnswer={props.canAnswer} onAnswer={props.onAnswer} onReadBlob={props.onReadBlob} />
              <Show when={log().rows.length === 0}><p class="py-10 text-center text-muted">Nothing happened here yet.</p></Show>
              <Show when={props.session?.agentError}>{(error) => <p role="alert" class="mt-3 whitespace-pre-wrap rounded-md border border-bad-line bg-bad-soft px-3 py-2 text-bad">{plainly(error().message, true)}</p>}</Show>
              <Show when={props.session?.status === 'running'}><p class="mt-3 flex items-center gap-2.5 text-muted" role="status"><span class="pulse ml-1 h-2 w-2 rounded-full bg-accent" />Working</p></Show>
            </>
          )}</Show>
        </div>
      </div>
      <div class="relative border-t border-line bg-bg px-3 py-2 sm:px-5">
        <Show when={!atEnd()}><button type="button" class="btn btn-small absolute -top-9 left-1/2 -translate-x-1/2 shadow-md" onClick={() => { setAtEnd(true); toEnd(); }}>To the latest</button></Show>
        <div class="mx-auto w-full max-w-4xl">
          <Show when={!props.session?.agentless} fallback={<p class="flex gap-2 rounded-lg border border-line bg-sunken px-3 py-2 text-muted" data-testid="agentless"><Icon name="question" class="mt-0.5" />{props.session?.status === 'cancelled' ? 'This session is closed.' : 'No agent works here: a program asks people through this session. What it asks can be answered above and in the inbox.'}</p>}>
            <Composer busy={busy()} closed={props.session?.status === 'cancelled' ? 'This session is closed. Fork it to go on from here.' : undefined} onSend={props.onSend} onInterrupt={props.onInterrupt} />
          </Show>
        </div>
      </div>
    </div>
  );
}

function Header(props: SessionPageProps) {
  const facts = () => {
    const it = props.session;
    if (!it) return [];
    return ([
      ['Model', it.model], ['Effort', it.effort], ['Asks', it.approvalPolicy], ['Sandbox', it.sandbox], ['Directory', it.cwd],
      ['Node', it.node], ['Thread', it.threadId], ['Opened by', it.openedBy ? actorWords(it.openedBy) : undefined], ['Codex', it.agentVersion],
    ] as [string, string | null | undefined][]).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  };
  const brief = new Set(['Model', 'Effort', 'Asks', 'Sandbox', 'Directory']);
  return (
    <div class="border-b border-line bg-surface px-3 py-2 sm:px-5">
      <div class="mx-auto flex max-w-4xl flex-wrap items-center gap-x-2.5 gap-y-1">
        <Show when={props.session}>{(it) => <StatusDot status={it().status} />}</Show>
        <h1 class="min-w-0 max-w-full truncate max-md:sr-only text-[0.9375rem] font-semibold">{sessionTitle(props.session)}</h1>
        <Show when={props.session}>{(it) => <span class="text-xs text-muted">{STATUS_WORDS[it().status]}</span>}</Show>
        <Show when={props.log?.usage}>{(usage) => <Tokens usage={usage()} />}</Show>
        <details class="relative ml-auto" onFocusOut={(event) => { if (!event.currentTarget.contains(event.relatedTarget as Node | null)) event.currentTarget.open = false; }}>
          <summary class="btn btn-small btn-quiet" aria-label="Details and actions">Details</summary>
          <div class="absolute right-0 z-20 mt-1 w-80 max-w-[calc(100vw-1.5rem)] rounded-lg border border-edge bg-surface p-3 shadow-lg">
            <dl class="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1">
              <For each={facts()}>{([name, value]) => (<><dt class="text-muted">{name}</dt><dd class="code break-all leading-5">{plainly(value)}</dd></>)}</For>
              <Show when={props.session}>{(it) => (<><dt class="text-muted">Session</dt><dd class="code break-all leading-5">{it().sessionId}</dd></>)}</Show>
            </dl>
            <div class="mt-3 flex gap-2 border-t border-line pt-3">
              <Show when={!props.session?.agentless}><button type="button" class="btn btn-small" onClick={() => void props.onFork()}>Fork</button></Show>
              <Show when={props.session?.status !== 'cancelled'}><button type="button" class="btn btn-small btn-no" onClick={() => void props.onCancel()}>Close session</button></Show>
            </div>
          </div>
        </details>
      </div>
      <dl class="mx-auto mt-0.5 flex max-w-4xl flex-wrap gap-x-3 gap-y-0.5 text-xs max-sm:hidden">
        <For each={facts().filter(([name]) => brief.has(name))}>{([name, value]) => (
          <div class="flex min-w-0 items-baseline gap-1"><dt class="text-muted">{name}</dt><dd class="min-w-0 truncate" classList={{ 'font-mono text-2xs': name === 'Directory', 'font-semibold text-warn': value === 'danger-full-access' }}>{plainly(value)}</dd></div>
        )}</For>
      </dl>
    </div>
  );
}

function Tokens(props: { usage: Usage }) {
  const share = () => (props.usage.context && props.usage.window ? Math.round((props.usage.context / props.usage.window) * 100) : undefined);
  return (
    <span class="chip tabular-nums" title={`${props.usage.input.toLocaleString('en')} in (${props.usage.cached.toLocaleString('en')} cached), ${props.usage.output.toLocaleString('en')} out`}>
      <Icon name="spark" class="h-3 w-3" />{compact(props.usage.total)} tokens<Show when={share() !== undefined}><span class="max-sm:hidden"> · {share()}% of context</span></Show>
    </span>
  );
}
