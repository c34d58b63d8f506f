/** Text that agents wrote: plain with visible escapes, as markdown, or as a terminal would show it. */

import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { createMemo, createSignal, For, Show } from 'solid-js';
import { ansi } from '../lib/ansi';
import { hiddenIn, plainly, segments, splitShell } from '../lib/display';
import { count } from '../lib/format';
import { End } from './End';
import { Icon } from './Icon';

/** Text as it is, with everything invisible made visible. */
export function Visible(props: { text: string; prose?: boolean; class?: string }) {
  return (
    <span class={`untrusted ${props.class ?? ''}`}>
      <For each={segments(props.text, props.prose)}>
        {(it) => <Show when={it.hidden} fallback={it.text}>{(name) => <span class="hiddenchar" title={name()}>{it.words ?? it.text}</span>}</Show>}
      </For>
    </span>
  );
}

/** Stands beside text that holds characters a person can't see. */
export function HiddenWarning(props: { texts: (string | null | undefined)[] }) {
  const found = createMemo(() => hiddenIn(...props.texts));
  return (
    <Show when={found().length > 0}>
      <p class="flex gap-1.5 rounded-md border border-warn-line bg-warn-soft px-2 py-1 text-xs text-warn" data-testid="hidden-warning">
        <Icon name="warn" />
        <span><strong>Hidden characters.</strong> Shown as escapes: {found().slice(0, 4).join('; ')}{found().length > 4 ? `; and ${found().length - 4} more` : ''}.</span>
      </p>
    </Show>
  );
}

/** A command exactly as given; only the shell around it is dimmed. */
export function CommandText(props: { command: string }) {
  const parts = createMemo(() => splitShell(props.command));
  return (
    <pre class="code max-h-96 overflow-auto whitespace-pre-wrap rounded-md border border-line bg-sunken px-2.5 py-2 text-[0.8125rem] leading-5" tabindex="0" role="group" aria-label="Command">
      <Show when={parts().wrapper}><span class="text-muted"><Visible text={parts().wrapper} /></span></Show>
      <Visible text={parts().rest} class="font-medium" />
      <End />
    </pre>
  );
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
// Raw HTML is shown as text by the renderer already; DOMPurify is the second wall. Pictures would
// let an agent call out, so what is left of one is its name.
const marked = new Marked({ gfm: true, breaks: true, async: false });
marked.use({ renderer: { html: ({ text }) => escapeHtml(text), image: ({ text, href }) => escapeHtml(`[image: ${text || href}]`) } });
const purify = DOMPurify(window);
purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
});
purify.addHook('afterSanitizeElements', (node) => {
  // What scrolls sideways must be reachable by keyboard.
  if (node instanceof HTMLPreElement || node instanceof HTMLTableElement) node.setAttribute('tabindex', '0');
  // An empty corner of a table is no heading.
  if (node instanceof HTMLTableCellElement && node.tagName === 'TH' && node.textContent?.trim() === '') node.setAttribute('aria-hidden', 'true');
});

/** Beyond this, text that still streams in is shown plain: parsing it again for each piece costs too much. */
const MAX_LIVE_MARKDOWN = 30_000;

export function Markdown(props: { text: string; live?: boolean }) {
  const plain = () => props.live && props.text.length > MAX_LIVE_MARKDOWN;
  const html = createMemo(() => (plain() ? '' : purify.sanitize(marked.parse(plainly(props.text, true)) as string, {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ['img', 'style', 'form', 'input', 'button', 'video', 'audio', 'picture', 'source', 'iframe'],
    FORBID_ATTR: ['style', 'class', 'id', 'name'],
  })));
  return (
    <Show when={!plain()} fallback={<p class="whitespace-pre-wrap"><Visible text={props.text} prose /></p>}>
      <div class="prose-agent" innerHTML={html()} />
    </Show>
  );
}

const FOLD_LINES = 14;

/** What a command printed: the last lines, the rest on demand. */
export function Output(props: { text: string; label?: string }) {
  const [whole, setWhole] = createSignal(false);
  const lines = createMemo(() => props.text.replace(/\n$/, '').split('\n'));
  const folded = () => !whole() && lines().length > FOLD_LINES + 4;
  const shown = createMemo(() => (folded() ? lines().slice(-FOLD_LINES) : lines()).join('\n'));
  return (
    <div class="overflow-hidden rounded-md border border-line bg-sunken">
      <Show when={lines().length > FOLD_LINES + 4}>
        <button type="button" class="block w-full border-b border-line px-2.5 py-0.5 text-left text-2xs text-muted hover:bg-hover hover:text-ink" onClick={() => setWhole(!whole())}>
          {whole() ? 'Show only the last lines' : `Show ${count(lines().length - FOLD_LINES, 'earlier line')}`}
        </button>
      </Show>
      <pre class="code max-h-[32rem] overflow-auto whitespace-pre-wrap break-words px-2.5 py-1.5" tabindex="0" role="group" aria-label={props.label ?? 'Output'}>
        <For each={ansi(shown())}>{(span) => <Show when={span.cls} fallback={span.text}><span class={span.cls}>{span.text}</span></Show>}</For>
      </pre>
    </div>
  );
}

/** Something we have no better picture of. */
export function JsonBlock(props: { value: unknown; label: string }) {
  const text = createMemo(() => JSON.stringify(props.value, null, 2) ?? '');
  return <Output text={text()} label={props.label} />;
}
