/** What exactly an ask is about, by its kind. */

import { createSignal, For, Match, Show, Switch } from 'solid-js';
import { adoptionOf } from '../lib/asks';
import { hiddenIn } from '../lib/display';
import type { Json, Subject } from '../lib/types';
import { Changes } from './Diff';
import { Icon } from './Icon';
import { CommandText, HiddenWarning, JsonBlock, Visible } from './Text';

export function AskBody(props: { subject: Subject }) {
  return (
    <Switch fallback={<JsonBlock value={props.subject} label="What is asked" />}>
      <Match when={props.subject.type === 'command' && props.subject}>{(it) => (
        <div class="space-y-1.5">
          <Show when={it().host}>{(host) => <p>A command wants to reach <strong class="code"><Visible text={host()} /></strong>.</p>}</Show>
          <CommandText command={it().command} />
          <Where cwd={it().cwd} />
          <Show when={it().writeStdin}><p class="text-xs text-muted">This is typed into a terminal that runs outside the sandbox. Its directory may have changed since.</p></Show>
          <HiddenWarning texts={[it().command, it().cwd, it().host]} />
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
      <Match when={props.subject.type === 'form' && props.subject}>{(it) => <Message server={it().server} text={it().message} />}</Match>
      <Match when={props.subject.type === 'url' && props.subject}>{(it) => <div class="space-y-2"><Message server={it().server} text={it().message} /><OpenPage url={it().url} /></div>}</Match>
      <Match when={props.subject.type === 'tool' && props.subject}>{(it) => (
        <div class="space-y-1.5">
          <p class="code font-medium"><span class="text-muted"><Visible text={it().server} /> · </span><Visible text={it().tool} /></p>
          <Show when={it().message}>{(words) => <p><Visible text={words()} prose /></p>}</Show>
          <Parameters value={it().params} />
          <HiddenWarning texts={[it().tool, it().server, JSON.stringify(it().params)]} />
        </div>
      )}</Match>
      <Match when={adoptionOf(props.subject)}>{(it) => (
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

function Message(props: { server: string; text: string }) {
  return (
    <div class="space-y-1.5">
      <p class="whitespace-pre-wrap"><Visible text={props.text} prose /></p>
      <p class="text-xs text-muted">from the MCP server <Visible text={props.server} /></p>
      <HiddenWarning texts={[props.text]} />
    </div>
  );
}

/** A page that a server wants opened: its host in full sight, opened only by a click, and only on the web. */
function OpenPage(props: { url: string }) {
  const [opened, setOpened] = createSignal(false);
  const target = () => {
    try {
      const url = new URL(props.url);
      return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
    } catch {
      return undefined;
    }
  };
  return (
    <div class="space-y-1.5 rounded-md border border-line bg-sunken px-2.5 py-2">
      <Show when={target()} fallback={<p class="text-bad">This is not a web address, so it can’t be opened here: <code class="code break-all"><Visible text={props.url} /></code></p>}>{(url) => (
        <>
          <p>Opens <strong class="code text-[0.84375rem]" data-testid="url-host"><Visible text={url().host} /></strong></p>
          <p class="code break-all text-muted"><Visible text={url().href} /></p>
          <Show when={hiddenIn(props.url).length > 0 || url().host.includes('xn--')}><p class="text-xs text-warn">Look at the address twice: it holds characters that look like others.</p></Show>
          <Show when={url().protocol === 'http:'}><p class="text-xs text-warn">This page is not encrypted.</p></Show>
          <a class="btn btn-small" href={url().href} target="_blank" rel="noopener noreferrer" onClick={() => setOpened(true)}><Icon name="globe" class="h-3.5 w-3.5" />{opened() ? 'Open again' : 'Open the page'}</a>
        </>
      )}</Show>
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
