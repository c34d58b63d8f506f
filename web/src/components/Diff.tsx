/** File changes, line by line, folded when long. */

import { createMemo, createSignal, For, Show, useContext } from 'solid-js';
import { diffFile, type DiffLine } from '../lib/diff';
import { count } from '../lib/format';
import { SeenContext } from '../lib/seen';
import type { FileChange } from '../lib/types';
import { End } from './End';
import { Icon } from './Icon';
import { HiddenWarning, Visible } from './Text';

const FOLD_LINES = 40;
/** More rows than this at once make the page slow; the button shows the next part. */
const STEP = 1500;

const WORDS: Record<string, string> = { add: 'new file', added: 'new file', delete: 'deleted', deleted: 'deleted' };

export function Changes(props: { changes: FileChange[]; closed?: boolean }) {
  return <div class="space-y-2"><For each={props.changes}>{(change) => <FileDiff change={change} closed={props.closed ?? false} />}</For></div>;
}

export function FileDiff(props: { change: FileChange; closed?: boolean }) {
  const file = createMemo(() => diffFile(props.change));
  const [limit, setLimit] = createSignal(FOLD_LINES);
  const shown = () => (file().lines.length <= FOLD_LINES + 8 ? file().lines : file().lines.slice(0, limit()));
  const rest = () => file().lines.length - shown().length;
  // Where something is decided, nothing may stand out of sight at the right.
  const deciding = useContext(SeenContext) !== undefined;
  return (
    <details open={!props.closed} class="group overflow-hidden rounded-md border border-line">
      <summary class="flex items-center gap-2 bg-sunken px-2.5 py-1 hover:bg-hover">
        <Icon name="chevron" class="h-3 w-3 text-muted transition-transform group-open:rotate-90" />
        <span class="code min-w-0 flex-1 break-all font-medium">
          <Visible text={file().path} /><Show when={file().movePath}>{(to) => <> → <Visible text={to()} /></>}</Show>
        </span>
        <Show when={WORDS[file().kind]}>{(word) => <span class="chip">{word()}</span>}</Show>
        <span class="code shrink-0 tabular-nums"><span class="text-ok">+{file().added}</span> <span class="text-bad">−{file().removed}</span></span>
      </summary>
      <div class="space-y-1 bg-surface">
        <div class="px-2 empty:hidden"><HiddenWarning texts={[file().path, file().movePath, ...file().lines.map((it) => it.text)]} /></div>
        <Show when={file().lines.length > 0} fallback={<p class="px-2.5 py-1 text-xs text-muted">{file().kind.startsWith('add') ? 'Empty file' : 'No lines to show'}</p>}>
          <div class="code max-h-[36rem] overflow-auto" tabindex="0" role="region" aria-label={`Changes to ${file().path}`}>
            <div class="min-w-full py-0.5" classList={{ 'w-max': !deciding }}><For each={shown()}>{(line) => <DiffRow line={line} wrap={deciding} />}</For></div>
          </div>
        </Show>
        <End missing={rest() > 0} />
        <Show when={rest() > 0}>
          <button type="button" class="block w-full border-t border-line bg-sunken px-2.5 py-1 text-left text-xs text-muted hover:bg-hover hover:text-ink" onClick={() => setLimit(Math.max(limit() + STEP, STEP))}>
            <strong class="font-semibold text-warn">{count(rest(), 'more line')} not shown.</strong> Show {rest() > STEP ? `the next ${STEP}` : 'all'}
          </button>
        </Show>
      </div>
    </details>
  );
}

function DiffRow(props: { line: DiffLine; wrap: boolean }) {
  const sign = () => ({ add: '+', del: '−', same: ' ', hunk: ' ', note: ' ' })[props.line.kind];
  return (
    <div
      class="flex min-w-full"
      classList={{
        'bg-ok-soft': props.line.kind === 'add',
        'bg-bad-soft': props.line.kind === 'del',
        'bg-accent-soft text-accent': props.line.kind === 'hunk',
        'text-muted italic': props.line.kind === 'note',
      }}
    >
      <span class="sticky left-0 w-9 shrink-0 select-none pr-2 text-right tabular-nums text-muted" aria-hidden="true">{props.line.after ?? props.line.before ?? ''}</span>
      <span class="w-3.5 shrink-0 select-none font-semibold" classList={{ 'text-ok': props.line.kind === 'add', 'text-bad': props.line.kind === 'del' }}>{sign()}</span>
      <span class="pr-3" classList={{ 'whitespace-pre': !props.wrap, 'min-w-0 whitespace-pre-wrap': props.wrap }}><Visible text={props.line.text} /></span>
    </div>
  );
}
