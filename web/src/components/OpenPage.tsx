/** A page that someone wants opened: its host in full sight, opened only by a click, and only on the web. */

import { createMemo, createSignal, For, Show } from 'solid-js';
import { readAddress } from '../lib/address';
import { End } from './End';
import { Icon } from './Icon';
import { HiddenWarning, Visible } from './Text';

export interface OpenPageProps {
  url: string;
  /** It was answered already, so there is nothing to open. */
  past?: boolean;
}

export function OpenPage(props: OpenPageProps) {
  const [opened, setOpened] = createSignal(false);
  const address = createMemo(() => readAddress(props.url));
  return (
    <div class="space-y-1.5 rounded-md border border-line bg-sunken px-2.5 py-2">
      <Show when={address()} fallback={<><p class="text-bad">This is not a web address, so it can’t be opened here: <code class="code break-all"><Visible text={props.url} /></code></p><HiddenWarning texts={[props.url]} /></>}>{(it) => (
        <>
          <p class="text-xs text-muted">Leads to</p>
          <p class="code break-all text-base font-semibold" data-testid="url-host"><Visible text={it().host} /></p>
          <p class="code max-h-40 overflow-y-auto break-all text-muted" tabindex="0" role="group" aria-label="Whole address"><Visible text={it().href} /><End /></p>
          <Show when={it().odd.length > 0}>
            <div class="flex gap-1.5 rounded-md border border-warn-line bg-warn-soft px-2 py-1 text-xs text-warn" data-testid="odd-address">
              <Icon name="warn" />
              <div><strong>Look at the address twice.</strong><ul class="list-disc pl-4"><For each={it().odd}>{(words) => <li>{words}</li>}</For></ul>
                <Show when={props.url !== it().href}><p class="mt-0.5">Written as <code class="code break-all"><Visible text={props.url} /></code></p></Show>
              </div>
            </div>
          </Show>
          <Show when={!props.past}>
            <a class="btn btn-small" href={it().href} target="_blank" rel="noopener noreferrer" onClick={() => setOpened(true)}><Icon name="globe" class="h-3.5 w-3.5" />{opened() ? 'Open again' : 'Open the page'}</a>
            <Show when={opened()}><p class="text-xs text-muted" role="status">Opened in another tab. Come back here when you are done there.</p></Show>
          </Show>
        </>
      )}</Show>
    </div>
  );
}
