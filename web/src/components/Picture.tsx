/** A picture that goes with a prompt: shown when it is in the log, read on demand when it is kept elsewhere, else named. */

import { createSignal, Match, Show, Switch } from 'solid-js';
import type { Blob as KeptText } from '../lib/blob';
import { compact } from '../lib/format';
import { Icon } from './Icon';
import { Visible } from './Text';

export interface PictureProps {
  /** A data URL, a path on the agent's machine, or what is left in the log of a data URL that is kept elsewhere. */
  image: string | KeptText;
  /** Reads a text that was too long for the log, by its digest. */
  onReadBlob: (digest: string) => Promise<string>;
}

/** Nothing but pictures, and nothing from the network. */
const isPicture = (url: string) => /^data:image\/[\w.+-]+[;,]/.test(url);

export function Picture(props: PictureProps) {
  const [read, setRead] = createSignal<string | undefined>();
  const [trouble, setTrouble] = createSignal<string | undefined>();
  const url = () => read() ?? (typeof props.image === 'string' ? props.image : '');
  const kept = () => (typeof props.image !== 'string' && read() === undefined && isPicture(props.image.head) ? props.image : undefined);
  const show = (digest: string) => props.onReadBlob(digest).then(setRead, (error: Error) => setTrouble(error.message));
  return (
    <Switch fallback={<span class="chip"><Icon name="image" class="h-3 w-3" /><Visible text={url().startsWith('data:') ? 'not a picture' : url() || 'picture'} /></span>}>
      <Match when={isPicture(url())}><img class="max-h-40 max-w-full rounded-md border border-line" src={url()} alt="Sent with the prompt" /></Match>
      <Match when={kept()}>{(it) => (
        <span class="flex flex-wrap items-center gap-1.5">
          <button type="button" class="btn btn-small" onClick={() => void show(it().digest)}><Icon name="image" class="h-3 w-3" />Show the picture ({compact(it().bytes)} bytes)</button>
          <Show when={trouble()}>{(words) => <span class="text-xs text-bad">{words()}</span>}</Show>
        </span>
      )}</Match>
    </Switch>
  );
}
