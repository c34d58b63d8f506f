/** A session's course: prompts, items as they happen, the asks they raise, and how each turn ended. */

import { createMemo, For, Match, Show, Switch } from 'solid-js';
import { actorWords } from '../lib/asks';
import { splitGitDiff } from '../lib/diff';
import { clock, count, duration } from '../lib/format';
import type { Submission } from '../lib/live';
import type { NoticeRow, PlanRow, PromptRow, Row, SessionLog, TurnEndRow } from '../lib/state';
import { follow } from '../lib/router';
import type { Answer, AskView } from '../lib/types';
import { AskCard } from './AskCard';
import { CommandRun } from './CommandRun';
import { Changes } from './Diff';
import { ItemView, Line } from './ItemView';
import { Picture } from './Picture';
import { Visible } from './Text';

export interface TimelineProps {
  log: SessionLog;
  asks: Record<string, AskView>;
  submissions: Record<string, Submission>;
  canAnswer: boolean;
  onAnswer: (requestId: string, answer: Answer) => void;
  /** Reads a text that was too long for the log, by its digest. */
  onReadBlob: (digest: string) => Promise<string>;
}

/** With more rows than this, rows out of sight are left to the browser to skip. */
const MANY_ROWS = 300;

export function Timeline(props: TimelineProps) {
  return (
    <ol class="space-y-3" aria-label="Timeline">
      <For each={props.log.rows}>{(row) => (
        <li classList={{ '[content-visibility:auto] [contain-intrinsic-size:auto_4rem]': props.log.rows.length > MANY_ROWS }} data-row={row.type}>
          <RowView {...props} row={row} />
        </li>
      )}</For>
    </ol>
  );
}

function RowView(props: TimelineProps & { row: Row }) {
  const row = <K extends Row['type']>(type: K) => (props.row.type === type ? (props.row as Extract<Row, { type: K }>) : undefined);
  const card = (requestId: string, atItem: boolean) => (
    <Show when={props.asks[requestId]}>{(ask) => <AskCard ask={ask()} atItem={atItem} submission={props.submissions[requestId]} canAnswer={props.canAnswer} onAnswer={(answer) => props.onAnswer(requestId, answer)} />}</Show>
  );
  return (
    <Switch>
      <Match when={row('prompt')}>{(it) => <Prompt row={it()} onReadBlob={props.onReadBlob} />}</Match>
      <Match when={row('item')}>{(it) => (
        <>
          <ItemView row={it()} asking={it().asks.some((id) => props.asks[id]?.state === 'pending')} onReadBlob={props.onReadBlob} />
          <Show when={it().asks.length > 0}><div class="mt-1.5 space-y-2 sm:ml-[1.625rem]"><For each={it().asks}>{(id) => card(id, true)}</For></div></Show>
        </>
      )}</Match>
      <Match when={row('ask')}>{(it) => <div class="sm:ml-[1.625rem]">{card(it().requestId, false)}</div>}</Match>
      <Match when={row('run')}>{(it) => <CommandRun row={it()} ask={props.asks[it().requestId]} />}</Match>
      <Match when={row('plan')}>{(it) => <Plan row={it()} />}</Match>
      <Match when={row('notice')}>{(it) => <Notice row={it()} />}</Match>
      <Match when={row('turnEnd')}>{(it) => <TurnEnd row={it()} />}</Match>
    </Switch>
  );
}

function Prompt(props: { row: PromptRow; onReadBlob: (digest: string) => Promise<string> }) {
  const from = () => (props.row.by?.type === 'human' ? 'You' : props.row.by ? actorWords(props.row.by) : 'Prompt');
  return (
    <div class="rounded-lg border border-line bg-sunken px-3 py-2">
      <p class="mb-0.5 flex items-baseline gap-2 text-xs text-muted">
        <span class="font-semibold text-ink first-letter:uppercase">{from()}</span>
        <Show when={props.row.how === 'steer'}><span class="chip">added to the running turn</span></Show>
        <Show when={props.row.how === 'queued'}><span class="chip">queued</span></Show>
        <time class="ml-auto tabular-nums" datetime={props.row.at}>{clock(props.row.at)}</time>
      </p>
      <p class="max-h-96 overflow-auto whitespace-pre-wrap text-[0.84375rem]" tabindex="0" role="group" aria-label="Prompt"><Visible text={props.row.text} prose /></p>
      <Show when={props.row.images.length > 0}>
        <div class="mt-1 flex flex-wrap gap-1"><For each={props.row.images}>{(image) => <Picture image={image} onReadBlob={props.onReadBlob} />}</For></div>
      </Show>
    </div>
  );
}

function Plan(props: { row: PlanRow }) {
  const done = () => props.row.steps.filter((it) => it.status === 'completed').length;
  return (
    <Line icon="list" title={<span class="font-medium">Plan</span>} status={<span>{done()} of {props.row.steps.length}</span>}>
      <Show when={props.row.explanation}>{(words) => <p class="text-muted"><Visible text={words()} prose /></p>}</Show>
      <ul class="space-y-0.5">
        <For each={props.row.steps}>{(step) => (
          <li class="flex items-start gap-2">
            <span class="mt-1 grid h-3 w-3 shrink-0 place-items-center rounded-full border" classList={{ 'border-ok bg-ok': step.status === 'completed', 'border-accent': step.status === 'inProgress', 'border-edge': step.status === 'pending' }}>
              <Show when={step.status === 'inProgress'}><span class="pulse h-1.5 w-1.5 rounded-full bg-accent" /></Show>
            </span>
            <span classList={{ 'text-muted line-through decoration-edge': step.status === 'completed', 'font-medium': step.status === 'inProgress' }}><Visible text={step.step} prose /></span>
            <span class="sr-only">({step.status === 'inProgress' ? 'in progress' : step.status})</span>
          </li>
        )}</For>
      </ul>
    </Line>
  );
}

function Notice(props: { row: NoticeRow }) {
  return (
    <Line
      icon={props.row.tone === 'info' ? 'dot' : 'warn'} {...(props.row.tone === 'info' ? {} : { tone: props.row.tone })}
      title={<span class="whitespace-pre-wrap" title={clock(props.row.at)} classList={{ 'text-muted': props.row.tone === 'info', 'text-warn': props.row.tone === 'warn', 'text-bad': props.row.tone === 'bad' }}><Visible text={props.row.text} prose /></span>}
    >
      <Show when={props.row.sessionId}>{(session) => <a class="text-xs underline decoration-edge underline-offset-2 hover:decoration-current" href={`/sessions/${session()}`} onClick={follow}>Show that session</a>}</Show>
      <Show when={props.row.detail}>{(detail) => <p class="whitespace-pre-wrap text-xs text-muted"><Visible text={detail()} prose /></p>}</Show>
    </Line>
  );
}

const ENDS: Record<string, string> = { completed: 'Turn complete', interrupted: 'Turn interrupted', failed: 'Turn failed', lost: 'Turn lost: the agent’s process went away' };

function TurnEnd(props: { row: TurnEndRow }) {
  const changes = createMemo(() => (props.row.diff ? splitGitDiff(props.row.diff) : []));
  const bad = () => props.row.status === 'failed' || props.row.status === 'lost';
  return (
    <div class="space-y-2" data-turn-status={props.row.status}>
      <Show when={changes().length > 0}>
        <details class="group rounded-md">
          <summary class="ml-[1.625rem] text-xs text-muted hover:text-ink"><span class="underline decoration-edge underline-offset-2">All changes of this turn: {count(changes().length, 'file')}</span></summary>
          <div class="ml-[1.625rem] mt-1.5"><Changes changes={changes()} /></div>
        </details>
      </Show>
      <Show when={props.row.error}>{(error) => <p class="ml-[1.625rem] whitespace-pre-wrap rounded-md border border-bad-line bg-bad-soft px-2.5 py-1.5 text-bad"><Visible text={error()} prose /></p>}</Show>
      <p class="flex items-center gap-2.5 text-xs" classList={{ 'text-bad': bad(), 'text-muted': !bad() }}>
        <span class="h-px flex-1 bg-line" />
        <span class="font-medium">{ENDS[props.row.status] ?? props.row.status}</span>
        <span class="tabular-nums text-muted">
          <Show when={props.row.requestedAt}>{(from) => <>{duration(Date.parse(props.row.at) - Date.parse(from()))} · </>}</Show>{clock(props.row.at)}
        </span>
        <span class="h-px flex-1 bg-line" />
      </p>
    </div>
  );
}
