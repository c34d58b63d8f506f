/** Everything that waits for a person, of every session, the newest on top. */

import { createEffect, createMemo, For, on, Show } from 'solid-js';
import { AskCard } from '../components/AskCard';
import { Icon } from '../components/Icon';
import { sessionTitle } from '../components/Sidebar';
import type { Submission } from '../lib/live';
import { moved } from '../lib/shifts';
import type { Answer, AskView, SessionView } from '../lib/types';

export interface InboxViewProps {
  asks: AskView[];
  sessions: Record<string, SessionView>;
  submissions: Record<string, Submission>;
  canAnswer: boolean;
  loaded: boolean;
  onAnswer: (requestId: string, answer: Answer) => void;
}

export function InboxView(props: InboxViewProps) {
  // What is settled while the person looks stays where it is: a list that closes up under the
  // pointer makes them click on something else.
  const seen = new Set<string>();
  const shown = createMemo(() => {
    for (const ask of props.asks) if (ask.state === 'pending') seen.add(ask.requestId);
    return props.asks.filter((it) => seen.has(it.requestId)).sort((a, b) => (a.raisedAt < b.raisedAt ? 1 : -1));
  });
  const pending = () => shown().filter((it) => it.state === 'pending').length;
  createEffect(on(() => shown().length, moved));
  return (
    <div class="mx-auto w-full max-w-3xl space-y-3 px-3 py-4 sm:px-5">
      <div class="flex items-baseline gap-3">
        <h1 class="text-base font-semibold">Inbox</h1>
        <p class="text-muted" role="status">{pending() === 0 ? 'Nothing waits for you' : `${pending()} ${pending() === 1 ? 'waits' : 'wait'} for you`}</p>
        <p class="ml-auto hidden text-2xs text-muted lg:block"><span class="kbd">j</span> <span class="kbd">k</span> next, previous · <span class="kbd">a</span> accept · <span class="kbd">d</span> decline</p>
      </div>
      <Show when={shown().length > 0} fallback={
        <Show when={props.loaded} fallback={<p class="py-10 text-center text-muted">Reading…</p>}>
          <div class="grid place-items-center gap-1.5 rounded-lg border border-dashed border-line py-14 text-center text-muted">
            <Icon name="check" class="h-6 w-6 text-ok" />
            <p class="font-medium text-ink">All clear</p>
            <p class="max-w-sm px-4">When an agent needs a decision, an answer or a form, it shows here at once.</p>
          </div>
        </Show>
      }>
        <ul class="space-y-3">
          <For each={shown()}>{(ask) => (
            <li><AskCard ask={ask} sessionTitle={sessionTitle(props.sessions[ask.sessionId], ask.sessionTitle || 'Session')} submission={props.submissions[ask.requestId]} canAnswer={props.canAnswer} onAnswer={(answer) => props.onAnswer(ask.requestId, answer)} /></li>
          )}</For>
        </ul>
      </Show>
    </div>
  );
}
