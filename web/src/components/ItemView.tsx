/** One item of a turn, by its kind; what has no picture of its own is shown as JSON. */

import { createMemo, createSignal, For, type JSX, Match, Show, Switch } from 'solid-js';
import { blobOf, textOf } from '../lib/blob';
import { changesOf } from '../lib/diff';
import { firstWords, shortCommand } from '../lib/display';
import { compact, duration } from '../lib/format';
import { now } from '../lib/now';
import type { ItemRow } from '../lib/state';
import { Changes } from './Diff';
import { Icon, Spinner, type IconName } from './Icon';
import { HiddenWarning, JsonBlock, Markdown, Output, Visible } from './Text';

type Loose = Record<string, unknown>;
const str = textOf;
const obj = (value: unknown): Loose => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {});
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export interface ItemViewProps {
  row: ItemRow;
  /** An ask of this item is open: its card shows what it is about, so the item needn't. */
  asking: boolean;
  /** Reads a text that was too long for the log, by its digest. */
  onReadBlob: (digest: string) => Promise<string>;
}

export function ItemView(props: ItemViewProps) {
  const body = () => props.row.body;
  return (
    <Switch fallback={<Unknown row={props.row} />}>
      <Match when={props.row.kind === 'agentMessage'}><AgentMessage row={props.row} /></Match>
      <Match when={props.row.kind === 'userMessage'}>
        <Line icon="send" row={props.row} title="Message"><p class="whitespace-pre-wrap"><Visible text={list(body()['content']).map((it) => str(obj(it)['text'])).join('\n')} prose /></p></Line>
      </Match>
      <Match when={props.row.kind === 'reasoning'}><Reasoning row={props.row} /></Match>
      <Match when={props.row.kind === 'commandExecution'}><Command {...props} /></Match>
      <Match when={props.row.kind === 'fileChange'}><FileChanges row={props.row} asking={props.asking} /></Match>
      <Match when={props.row.kind === 'mcpToolCall' || props.row.kind === 'dynamicToolCall'}><ToolCall row={props.row} /></Match>
      <Match when={props.row.kind === 'webSearch'}><WebSearch row={props.row} /></Match>
      <Match when={props.row.kind === 'plan'}>
        <Line icon="list" row={props.row} title="Proposed plan"><Markdown text={str(body()['text']) || props.row.live.plan || ''} live={props.row.state === 'open'} /></Line>
      </Match>
      <Match when={props.row.kind === 'imageView' || props.row.kind === 'imageGeneration'}>
        <Line icon="image" row={props.row} title={props.row.kind === 'imageView' ? <>Looked at <code class="code break-all"><Visible text={str(body()['path'])} /></code></> : 'Made a picture'} />
      </Match>
      <Match when={props.row.kind === 'sleep'}><Line icon="clock" row={props.row} title={`Waited ${duration(Number(body()['durationMs'] ?? 0))}`} /></Match>
      <Match when={props.row.kind === 'contextCompaction'}><Line icon="spark" row={props.row} title={props.row.state === 'open' ? 'Shortening what it remembers' : 'Shortened what it remembers'} /></Match>
      <Match when={props.row.kind === 'enteredReviewMode'}><Line icon="spark" row={props.row} title="Review begins" /></Match>
      <Match when={props.row.kind === 'exitedReviewMode'}><Line icon="spark" row={props.row} title="Review"><Markdown text={str(body()['review'])} /></Line></Match>
      <Match when={props.row.kind === 'subAgentActivity'}>
        <Line icon="agent" row={props.row} title={<>Sub-agent <code class="code"><Visible text={str(body()['agentPath']) || str(body()['agentThreadId'])} /></code> {str(body()['kind'])}</>} />
      </Match>
    </Switch>
  );
}

/** The frame of every item: a picture in the gutter, a line, and more beneath it. */
export function Line(props: { icon: IconName; row?: ItemRow; title: JSX.Element; status?: JSX.Element; tone?: 'bad' | 'warn'; waiting?: boolean; running?: boolean; children?: JSX.Element }) {
  return (
    <div class="grid grid-cols-[1rem_minmax(0,1fr)] gap-x-2.5">
      <span class="mt-0.5" classList={{ 'text-muted': !props.tone, 'text-bad': props.tone === 'bad', 'text-warn': props.tone === 'warn' }}>
        <Show when={(props.running || props.row?.state === 'open') && !props.waiting} fallback={<Icon name={props.icon} />}><Spinner class="m-px text-accent" /></Show>
      </span>
      <div class="min-w-0 space-y-1">
        <div class="flex flex-wrap items-baseline gap-x-2">
          <div class="min-w-0 max-w-full">{props.title}</div>
          <Show when={props.row?.agent}>{(agent) => <span class="chip"><Icon name="agent" class="h-3 w-3" /><Visible text={agent().path ?? agent().threadId} /></span>}</Show>
          <span class="ml-auto flex shrink-0 items-center gap-2 text-xs text-muted tabular-nums">
            <Show when={props.row?.state === 'abandoned'}><span class="chip" title="Its turn ended before it did">unfinished</span></Show>
            {props.status}
          </span>
        </div>
        {props.children}
      </div>
    </div>
  );
}

function AgentMessage(props: { row: ItemRow }) {
  const text = () => str(props.row.body['text']) || props.row.live.text || '';
  const whole = () => (props.row.state === 'done' ? str(props.row.body['text']) : (props.row.live.text ?? text()));
  const questions = () => list(props.row.body['questions']).map(obj);
  return (
    <div class="grid grid-cols-[1rem_minmax(0,1fr)] gap-x-2.5">
      <span class="mt-1 text-accent"><Icon name="spark" /></span>
      <div class="min-w-0" aria-live={props.row.state === 'open' ? 'off' : undefined}>
        <Show when={props.row.agent}>{(agent) => <span class="chip mb-1"><Icon name="agent" class="h-3 w-3" /><Visible text={agent().path ?? agent().threadId} /></span>}</Show>
        <Show when={whole()} fallback={<Show when={props.row.state === 'open'} fallback={<p class="text-muted">No text</p>}><span class="pulse text-muted">Writing…</span></Show>}>
          <Markdown text={whole()} live={props.row.state === 'open'} />
        </Show>
        <Show when={props.row.state === 'abandoned'}><span class="chip mt-1">unfinished</span></Show>
        <Show when={questions().length > 0 && str(props.row.body['delivery']) === 'async'}>
          <p class="mt-1 text-xs text-muted">The agent goes on meanwhile. Answer with a message.</p>
        </Show>
      </div>
    </div>
  );
}

function Reasoning(props: { row: ItemRow }) {
  const text = () => {
    const parts = [...list(props.row.body['summary']), ...list(props.row.body['content'])].map((it) => str(it) || str(obj(it)['text'])).filter(Boolean);
    return parts.length > 0 ? parts.join('\n\n') : (props.row.live.reasoning ?? '');
  };
  return (
    <Show when={text() || props.row.state === 'open'}>
      <details class="group">
        <summary class="grid grid-cols-[1rem_minmax(0,1fr)] gap-x-2.5 text-muted hover:text-ink">
          <span class="mt-0.5"><Show when={props.row.state === 'open'} fallback={<Icon name="chevron" class="transition-transform group-open:rotate-90" />}><Spinner class="m-px text-accent" /></Show></span>
          <span class="truncate italic">{firstWords(text().replace(/[*_`#]/g, ''), 110) || 'Thinking'}</span>
        </summary>
        <div class="ml-[1.625rem] mt-1 border-l-2 border-line pl-3 text-muted"><Markdown text={text()} live={props.row.state === 'open'} /></div>
      </details>
    </Show>
  );
}

function Command(props: ItemViewProps) {
  const body = () => props.row.body;
  const status = () => str(body()['status']);
  const exit = () => (typeof body()['exitCode'] === 'number' ? (body()['exitCode'] as number) : undefined);
  const [whole, setWhole] = createSignal<string | undefined>();
  const [trouble, setTrouble] = createSignal<string | undefined>();
  const cut = () => (whole() === undefined ? blobOf(body()['aggregatedOutput']) : undefined);
  const output = () => whole() ?? (str(body()['aggregatedOutput']) || props.row.live.output || '');
  const fetchWhole = (digest: string) => props.onReadBlob(digest).then(setWhole, (error: Error) => setTrouble(error.message));
  const bad = () => props.row.state === 'done' && status() !== 'completed';
  const took = () => (typeof body()['durationMs'] === 'number' ? (body()['durationMs'] as number) : props.row.state === 'open' ? now() - Date.parse(props.row.at) : undefined);
  return (
    <Line
      icon="terminal" row={props.row} waiting={props.asking} {...(bad() ? { tone: 'bad' as const } : {})}
      title={<Show when={!props.asking} fallback={<span class="text-muted">Wants to run a command</span>}><code class="code whitespace-pre-wrap break-words text-[0.78125rem] font-medium"><Visible text={shortCommand(str(body()['command']))} /></code></Show>}
      status={<>
        <Show when={status() === 'declined'}><span class="font-medium text-bad">declined</span></Show>
        <Show when={props.row.state === 'done' && exit() !== undefined && status() !== 'declined'}><span classList={{ 'text-ok': exit() === 0, 'font-medium text-bad': exit() !== 0 }}>exit {exit()}</span></Show>
        <Show when={status() === 'failed' && exit() === undefined}><span class="font-medium text-bad">failed</span></Show>
        <Show when={!props.asking && (took() ?? 0) >= 1000}><span>{duration(took() ?? 0)}</span></Show>
        <Show when={str(body()['source']) === 'userShell'}><span class="chip">run by a person, no sandbox</span></Show>
      </>}
    >
      <Show when={!props.asking}><HiddenWarning texts={[str(body()['command'])]} /></Show>
      <Show when={output()}><Output text={output()} /></Show>
      <Show when={cut()}>{(blob) => (
        <p class="text-xs text-muted"><button type="button" class="underline decoration-edge underline-offset-2 hover:text-ink" onClick={() => void fetchWhole(blob().digest)}>Read the whole output ({compact(blob().bytes)} bytes)</button> <Show when={trouble()}>{(words) => <span class="text-bad">{words()}</span>}</Show></p>
      )}</Show>
    </Line>
  );
}

function FileChanges(props: { row: ItemRow; asking: boolean }) {
  const changes = createMemo(() => changesOf(props.row.body['changes']));
  const status = () => str(props.row.body['status']);
  const bad = () => props.row.state === 'done' && status() !== 'completed';
  const title = () => {
    if (props.asking) return 'Wants to change files';
    if (changes().length !== 1) return `Changed ${changes().length} files`;
    const kind = changes()[0]?.kind;
    return kind === 'add' ? 'Added a file' : kind === 'delete' ? 'Deleted a file' : 'Changed a file';
  };
  return (
    <Line
      icon="file" row={props.row} waiting={props.asking} {...(bad() ? { tone: 'bad' as const } : {})}
      title={<span class={props.asking ? 'text-muted' : 'font-medium'}>{bad() ? 'A change was not made' : title()}</span>}
      status={<Show when={bad()}><span class="font-medium text-bad">{status()}</span></Show>}
    >
      <Show when={!props.asking}><Changes changes={changes()} closed={bad() || changes().length > 4} /></Show>
    </Line>
  );
}

function ToolCall(props: { row: ItemRow }) {
  const body = () => props.row.body;
  const failed = () => props.row.state === 'done' && str(body()['status']) === 'failed';
  const error = () => str(obj(body()['error'])['message']);
  const blocks = () => [...list(obj(body()['result'])['content']), ...list(body()['contentItems'])].map(obj);
  const words = (block: Loose) => (['text', 'inputText'].includes(str(block['type'])) ? str(block['text']) : undefined);
  const structured = () => obj(body()['result'])['structuredContent'];
  const server = () => str(body()['server']) || str(body()['namespace']);
  const took = () => (props.row.state === 'open' ? now() - Date.parse(props.row.at) : Number(body()['durationMs'] ?? 0));
  const argumentText = createMemo(() => JSON.stringify(body()['arguments'] ?? {}));
  return (
    <Line
      icon="tool" row={props.row} {...(failed() ? { tone: 'bad' as const } : {})}
      title={<span class="code font-medium"><Show when={server()}><span class="text-muted"><Visible text={server()} /> · </span></Show><Visible text={str(body()['tool'])} /> <span class="font-normal text-muted"><Visible text={firstWords(argumentText() === '{}' ? '' : argumentText(), 80)} /></span></span>}
      status={<><Show when={failed()}><span class="font-medium text-bad">failed</span></Show><Show when={took() >= 1000}><span>{duration(took())}</span></Show></>}
    >
      <Show when={error()}><p class="whitespace-pre-wrap text-bad"><Visible text={error()} prose /></p></Show>
      <Show when={props.row.state !== 'open' && (blocks().length > 0 || argumentText().length > 80)}>
        <details class="group">
          <summary class="text-xs text-muted hover:text-ink"><span class="underline decoration-edge underline-offset-2">Arguments and result</span></summary>
          <div class="mt-1 space-y-1.5">
            <JsonBlock value={body()['arguments']} label="Arguments" />
            <For each={blocks()}>{(block) => <Show when={words(block)} fallback={<JsonBlock value={block} label="Result" />}>{(text) => <Output text={text()} label="Result" />}</Show>}</For>
            <Show when={structured()}><JsonBlock value={structured()} label="Structured result" /></Show>
          </div>
        </details>
      </Show>
    </Line>
  );
}

function WebSearch(props: { row: ItemRow }) {
  const action = () => obj(props.row.body['action']);
  const queries = () => {
    const several = list(action()['queries']).map(str).filter(Boolean);
    const one = str(action()['query']) || str(props.row.body['query']);
    return several.length > 0 ? several : one ? [one] : [];
  };
  const open = () => props.row.state === 'open';
  return (
    <Line icon="globe" row={props.row} title={
      <Switch fallback={<><span>{open() ? 'Searching the web' : 'Searched the web'}</span><For each={queries()}>{(query, i) => <span class="font-medium">{i() > 0 ? ', ' : ' for '}“<Visible text={query} prose />”</span>}</For></>}>
        <Match when={action()['type'] === 'openPage'}>{open() ? 'Opening' : 'Opened'} <span class="code break-all"><Visible text={str(action()['url'])} /></span></Match>
        <Match when={action()['type'] === 'findInPage'}>{open() ? 'Looking' : 'Looked'} for “<Visible text={str(action()['pattern'])} prose />” in <span class="code break-all"><Visible text={str(action()['url'])} /></span></Match>
      </Switch>
    } />
  );
}

function Unknown(props: { row: ItemRow }) {
  return (
    <Line icon="dot" row={props.row} title={<span class="code text-muted"><Visible text={props.row.kind} /></span>}>
      <details><summary class="text-xs text-muted hover:text-ink"><span class="underline decoration-edge underline-offset-2">As the agent sent it</span></summary><div class="mt-1"><JsonBlock value={props.row.body} label={props.row.kind} /></div></details>
    </Line>
  );
}
