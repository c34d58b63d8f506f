/** A command that a person allowed a program to run, and what became of it. */

import { Show } from 'solid-js';
import { actorWords, summaryOf } from '../lib/asks';
import { clock, count, duration } from '../lib/format';
import { now } from '../lib/now';
import type { RunResult, RunRow } from '../lib/state';
import type { AskView } from '../lib/types';
import { Line } from './ItemView';
import { Output, Visible } from './Text';

export interface CommandRunProps {
  row: RunRow;
  /** The ask that allowed it, where it is known. */
  ask?: AskView | undefined;
}

export function CommandRun(props: CommandRunProps) {
  const end = () => props.row.result?.end;
  const bad = () => end() !== undefined && !(end()?.type === 'exited' && end()?.code === 0);
  const took = () => (props.row.endedAt ? Date.parse(props.row.endedAt) : now()) - Date.parse(props.row.at);
  const subject = () => (props.ask?.subject.type === 'command' ? props.ask.subject : undefined);
  return (
    <Line
      icon="terminal" {...(bad() ? { tone: 'bad' as const } : {})} running={end() === undefined}
      title={<span class="flex flex-wrap items-baseline gap-x-2"><Show when={subject()} fallback={<span class="font-medium">The command that was allowed</span>}>{(it) => <code class="code break-words text-[0.78125rem] font-medium"><Visible text={summaryOf(it())} /></code>}</Show><span class="chip" title={`Begun at ${clock(props.row.at)}`}>run by {actorWords(props.row.by)}</span></span>}
      status={<>
        <span classList={{ 'text-ok': end() !== undefined && !bad(), 'font-medium text-bad': bad() }}>{endWords(props.row.result)}</span>
        <Show when={took() >= 1000}><span>{duration(took())}</span></Show>
      </>}
    >
      <Show when={end()?.type === 'lost'}><p class="text-bad">The process that ran it is gone. It may have done anything or nothing, and is not run again.</p></Show>
      <Show when={end()?.problem}>{(words) => <p class="whitespace-pre-wrap text-bad"><Visible text={words()} prose /></p>}</Show>
      <Show when={props.row.result}>{(result) => (
        <>
          <Printed text={result().stdout} label="Output" open={false} />
          <Printed text={result().stderr} label="Error output" open={bad()} />
          <Show when={result().truncated}><p class="text-xs text-muted">Only the beginning and the end of what it printed were kept.</p></Show>
        </>
      )}</Show>
    </Line>
  );
}

function Printed(props: { text: string; label: string; open: boolean }) {
  return (
    <Show when={props.text}>
      <details open={props.open}>
        <summary class="text-xs text-muted hover:text-ink"><span class="underline decoration-edge underline-offset-2">{props.label}, {count(props.text.replace(/\n$/, '').split('\n').length, 'line')}</span></summary>
        <div class="mt-1"><Output text={props.text} label={props.label} /></div>
      </details>
    </Show>
  );
}

function endWords(result: RunResult | undefined): string {
  if (!result) return 'running';
  const { end } = result;
  switch (end.type) {
    case 'exited':
      return `exit ${end.code ?? 0}`;
    case 'signalled':
      return `ended by signal ${end.signal ?? '?'}`;
    case 'timedOut':
      return `took too long, ended after ${duration(end.afterMs ?? 0)}`;
    case 'takenBack':
      return 'taken back, and ended';
    case 'notStarted':
      return 'could not be started';
    default:
      return 'lost';
  }
}
