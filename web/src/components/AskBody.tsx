/** What exactly an ask is about, by its kind. */

import { For, Match, Show, Switch } from 'solid-js';
import type { Json, Segment, Subject } from '../lib/types';
import { CommandReading, Words } from './CommandReading';
import { Changes } from './Diff';
import { End } from './End';
import { Icon } from './Icon';
import { OpenPage } from './OpenPage';
import { CommandText, HiddenWarning, JsonBlock, Visible } from './Text';

const filled = <T,>(list: T[] | null | undefined): T[] | undefined => (list && list.length > 0 ? list : undefined);

export interface AskBodyProps {
  subject: Subject;
  /** What Pilothouse reads from its command, once that is known. */
  verdict?: 'safe' | 'ask' | null | undefined;
  segments?: Segment[] | null | undefined;
  /** A program asks, and no agent's MCP server. */
  ofProgram?: boolean;
  /** It was answered already. */
  past?: boolean;
}

export function AskBody(props: AskBodyProps) {
  return (
    <Switch fallback={<JsonBlock value={props.subject} label="What is asked" />}>
      <Match when={props.subject.type === 'command' && props.subject}>{(it) => (
        <div class="space-y-1.5">
          <Show when={it().host}>{(host) => <p>A command wants to reach <strong class="code"><Visible text={host()} /></strong>.</p>}</Show>
          <Show when={filled(it().argv)} fallback={<CommandText command={it().command} />}>{(argv) => <Argv words={argv()} />}</Show>
          <Where cwd={it().cwd} />
          <Show when={filled(props.segments)}>{(segments) => <CommandReading verdict={props.verdict ?? 'ask'} segments={segments()} />}</Show>
          <Show when={it().writeStdin}><p class="text-xs text-muted">This is typed into a terminal that runs outside the sandbox. Its directory may have changed since.</p></Show>
          <HiddenWarning texts={[it().command, ...(it().argv ?? []), it().cwd, it().host]} />
        </div>
      )}</Match>
      <Match when={props.subject.type === 'fileChange' && props.subject}>{(it) => (
        <div class="space-y-1.5">
          <Changes changes={it().changes} />
          <Show when={it().grantRoot}>{(root) => <p class="flex gap-1.5"><Icon name="warn" class="mt-0.5 text-warn" /><span>Accepting also opens <code class="code"><Visible text={root()} /></code> for writing, for the rest of the session.</span></p>}</Show>
        </div>
      )}</Match>
      <Match when={props.subject.type === 'permissions' && props.subject}>{(it) => <div class="space-y-1.5"><Permissions value={it().permissions} /><Where cwd={it().cwd} /></div>}</Match>
      <Match when={props.subject.type === 'question'}>{null}</Match>
      <Match when={props.subject.type === 'form' && props.subject}>{(it) => <Message server={it().server} text={it().message} ofProgram={props.ofProgram} />}</Match>
      <Match when={props.subject.type === 'url' && props.subject}>{(it) => <div class="space-y-2"><Message server={it().server} text={it().message} ofProgram={props.ofProgram} /><OpenPage url={it().url} past={props.past ?? false} /></div>}</Match>
      <Match when={props.subject.type === 'tool' && props.subject}>{(it) => (
        <div class="space-y-1.5">
          <p class="code font-medium"><span class="text-muted"><Visible text={it().server} /> · </span><Visible text={it().tool} /></p>
          <Show when={it().message}>{(words) => <p><Visible text={words()} prose /></p>}</Show>
          <Parameters value={it().params} />
          <HiddenWarning texts={[it().tool, it().server, JSON.stringify(it().params)]} />
        </div>
      )}</Match>
      <Match when={props.subject.type === 'adoption' && props.subject}>{(it) => (
        <div class="space-y-1.5">
          <p><strong class="code"><Visible text={it().client || 'A program without a name'} /></strong> asks, as caller <code class="code break-all"><Visible text={it().caller} /></code>. It chose that name itself.</p>
          <p class="text-xs text-muted">If you accept, it sees and drives this session, and may answer what its agent asks, instead of the client that has it now.</p>
          <HiddenWarning texts={[it().client, it().caller]} />
        </div>
      )}</Match>
    </Switch>
  );
}

function Where(props: { cwd?: string | null | undefined }) {
  return <Show when={props.cwd}>{(cwd) => <p class="flex gap-1.5 text-xs text-muted">in <code class="code break-all text-ink"><Visible text={cwd()} /></code></p>}</Show>;
}

/** A program and its words, which no shell will see. */
function Argv(props: { words: string[] }) {
  return (
    <div class="max-h-96 space-y-1 overflow-y-auto rounded-md border border-line bg-sunken px-2.5 py-2" tabindex="0" role="group" aria-label="Command">
      <p class="text-xs text-muted">Runs without a shell: each box is one word, and nothing in it is expanded.</p>
      <Words words={props.words} />
      <End />
    </div>
  );
}

function Message(props: { server: string; text: string; ofProgram?: boolean | undefined }) {
  return (
    <div class="space-y-1.5">
      <p class="whitespace-pre-wrap"><Visible text={props.text} prose /></p>
      <p class="text-xs text-muted">from {props.ofProgram ? 'the program' : 'the MCP server'} <Visible text={props.server} /></p>
      <HiddenWarning texts={[props.text, props.server]} />
    </div>
  );
}

function Parameters(props: { value: Json }) {
  const entries = () => (typeof props.value === 'object' && props.value !== null && !Array.isArray(props.value) ? Object.entries(props.value) : undefined);
  return (
    <Show when={entries()} fallback={<JsonBlock value={props.value} label="Arguments" />}>{(rows) => (
      <Show when={rows().length > 0} fallback={<p class="text-xs text-muted">No arguments</p>}>
        <div class="max-h-96 overflow-auto rounded-md border border-line bg-sunken px-2.5 py-1.5" tabindex="0" role="group" aria-label="Arguments">
        <dl class="code grid grid-cols-[minmax(4rem,auto)_1fr] gap-x-3 gap-y-0.5">
          <For each={rows()}>{([name, value]) => (
            <><dt class="text-muted"><Visible text={name} /></dt><dd class="whitespace-pre-wrap break-words"><Visible text={typeof value === 'string' ? value : JSON.stringify(value, null, 1)} /></dd></>
          )}</For>
        </dl>
        <End />
        </div>
      </Show>
    )}</Show>
  );
}

interface PermissionSet {
  network?: { enabled?: boolean | null } | null;
  fileSystem?: { read?: string[] | null; write?: string[] | null; entries?: unknown[] | null } | null;
}

/** Network and paths in words; anything else about them stays to be seen whole. */
function Permissions(props: { value: Json }) {
  const set = () => (typeof props.value === 'object' && props.value !== null ? (props.value as PermissionSet) : {});
  const write = () => set().fileSystem?.write ?? [];
  const read = () => set().fileSystem?.read ?? [];
  return (
    <div class="space-y-1.5">
      <ul class="space-y-0.5">
        <Show when={set().network?.enabled}><li class="flex items-center gap-1.5"><Icon name="globe" class="text-warn" />Use the network</li></Show>
        <For each={write()}>{(path) => <li class="flex items-start gap-1.5"><Icon name="file" class="mt-0.5 text-warn" /><span>Write in <code class="code break-all"><Visible text={path} /></code></span></li>}</For>
        <For each={read()}>{(path) => <li class="flex items-start gap-1.5"><Icon name="file" class="mt-0.5" /><span>Read in <code class="code break-all"><Visible text={path} /></code></span></li>}</For>
      </ul>
      <details class="group"><summary class="text-xs text-muted hover:text-ink"><span class="underline decoration-edge underline-offset-2">Exactly as asked</span></summary><div class="mt-1"><JsonBlock value={props.value} label="Permissions" /></div></details>
      <HiddenWarning texts={[...write(), ...read()]} />
    </div>
  );
}
