/** What a command line would run, a row for each simple command: its words, what it does, and why a person is asked. */

import { For, Show } from 'solid-js';
import { count } from '../lib/format';
import type { Segment } from '../lib/types';
import { End } from './End';
import { Icon } from './Icon';
import { Visible } from './Text';

export interface CommandReadingProps {
  verdict: 'safe' | 'ask';
  segments: Segment[];
}

const TONES: Record<string, string> = { 'reads only': 'text-ok', 'not understood': 'text-bad' };

export function CommandReading(props: CommandReadingProps) {
  const asking = () => props.segments.filter((it) => it.verdict === 'ask').length;
  const title = () => {
    if (props.verdict === 'safe') return 'It only reads, as far as can be told from its words';
    if (props.segments.length === 1) return 'What it would run';
    return `${count(props.segments.length, 'command')}, of which ${asking()} ${asking() === 1 ? 'does' : 'do'} more than read`;
  };
  return (
    <section class="overflow-hidden rounded-md border border-line" aria-label="What it would run" data-verdict={props.verdict}>
      <p class="flex items-center gap-1.5 border-b border-line bg-sunken px-2.5 py-0.5 text-xs text-muted">
        <Icon name={props.verdict === 'safe' ? 'check' : 'warn'} class={props.verdict === 'safe' ? 'text-ok' : 'text-warn'} />{title()}
      </p>
      <div class="max-h-96 overflow-y-auto" tabindex="0" role="group" aria-label="Its commands">
        <ol class="divide-y divide-line">
          <For each={props.segments}>{(segment) => (
            <li class="flex flex-col gap-x-3 gap-y-0.5 px-2.5 py-1 sm:flex-row sm:items-baseline" data-verdict={segment.verdict}>
              <div class="min-w-0 flex-1"><Show when={segment.argv.length > 0} fallback={<code class="code whitespace-pre-wrap break-words"><Visible text={segment.text} /></code>}><Words words={segment.argv} /></Show></div>
              <p class="text-xs sm:max-w-[45%] sm:text-right"><strong class={`font-semibold ${TONES[segment.class] ?? 'text-warn'}`}>{segment.class}</strong><Show when={segment.reason}> <span class="text-muted"><Visible text={segment.reason} prose /></span></Show></p>
            </li>
          )}</For>
        </ol>
        <End />
      </div>
    </section>
  );
}

/** The words of a command, each in a box: where one ends is no guess. */
export function Words(props: { words: string[] }) {
  return (
    <ul class="flex flex-wrap gap-1" aria-label="Words">
      <For each={props.words}>{(word, i) => (
        <li class="code max-w-full whitespace-pre-wrap break-words rounded border border-line bg-sunken px-1" classList={{ 'font-semibold': i() === 0 }}>
          <Show when={word !== ''} fallback={<span class="text-muted">empty</span>}><Visible text={word} /></Show>
        </li>
      )}</For>
    </ul>
  );
}
