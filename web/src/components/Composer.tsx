/** Where a person writes to the agent; while it works, what they write steers it or waits. */

import { createSignal, For, Show } from 'solid-js';
import { plainly } from '../lib/display';
import { Icon, Spinner } from './Icon';

export interface ComposerProps {
  busy: boolean;
  /** Why nothing can be sent, if so. */
  closed?: string | undefined;
  onSend: (prompt: string, images: string[], whenBusy?: 'steer' | 'queue') => Promise<void>;
  onInterrupt: () => Promise<void>;
}

const MAX_ROWS = 10;
const MAX_IMAGES = 8;
/** Of all pictures of one message: they travel inside it, and the server takes 16 MiB of text. */
const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

interface Picture {
  name: string;
  size: number;
  url: string;
}

function read(file: File): Promise<Picture> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done({ name: file.name || 'picture', size: file.size, url: String(reader.result) });
    reader.onerror = () => failed(new Error(`The picture ${file.name} could not be read.`));
    reader.readAsDataURL(file);
  });
}

export function Composer(props: ComposerProps) {
  const [text, setText] = createSignal('');
  const [pictures, setPictures] = createSignal<Picture[]>([]);
  const [sending, setSending] = createSignal(false);
  const [stopping, setStopping] = createSignal(false);
  const [failure, setFailure] = createSignal<string | undefined>();
  const rows = () => Math.min(MAX_ROWS, Math.max(1, text().split('\n').length));
  const empty = () => text().trim() === '';

  const send = async (whenBusy?: 'steer' | 'queue') => {
    if (empty() || sending()) return;
    setSending(true);
    setFailure(undefined);
    try {
      await props.onSend(text(), pictures().map((it) => it.url), whenBusy);
      setText('');
      setPictures([]);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setSending(false);
    }
  };
  const attach = async (files: Iterable<File>) => {
    setFailure(undefined);
    for (const file of files) {
      if (!file.type.startsWith('image/')) continue;
      const size = pictures().reduce((sum, it) => sum + it.size, file.size);
      if (size > MAX_IMAGE_BYTES) setFailure(`The pictures of one message can have ${MAX_IMAGE_BYTES / 1024 / 1024} MB together; ${file.name} is too much.`);
      else if (pictures().length >= MAX_IMAGES) setFailure(`At most ${MAX_IMAGES} pictures go with one message.`);
      else {
        try {
          const picture = await read(file);
          setPictures((all) => [...all, picture]);
        } catch (error) {
          setFailure(error instanceof Error ? error.message : String(error));
        }
      }
    }
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void attach(files);
  };
  const stop = async () => {
    setStopping(true);
    setFailure(undefined);
    try {
      await props.onInterrupt();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setStopping(false);
    }
  };
  const key = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.isComposing || (event.shiftKey && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    void send(props.busy ? 'steer' : undefined);
  };

  return (
    <form class="space-y-1.5" onSubmit={(event) => { event.preventDefault(); void send(props.busy ? 'steer' : undefined); }}>
      <Show when={failure()}>{(words) => <p role="alert" class="rounded-md border border-bad-line bg-bad-soft px-2.5 py-1 text-bad">{words()}</p>}</Show>
      <Show when={!props.closed} fallback={<p class="rounded-lg border border-line bg-sunken px-3 py-2 text-muted">{props.closed}</p>}>
        <div
          onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); void attach(event.dataTransfer?.files ?? []); }}
          class="rounded-lg border border-edge bg-surface focus-within:border-accent focus-within:shadow-[0_0_0_1px_var(--accent)]">
          <textarea
            class="block w-full resize-none bg-transparent px-3 pt-2 pb-1 text-[0.84375rem] leading-5 outline-none placeholder:text-muted placeholder:opacity-100" rows={rows()} aria-label="Message to the agent"
            placeholder={props.busy ? 'Steer the agent while it works' : 'Tell the agent what to do next'} value={text()} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={key} onPaste={paste}
          />
          <Show when={pictures().length > 0}>
            <ul class="flex flex-wrap gap-1.5 px-3 pb-1.5" aria-label="Pictures">
              <For each={pictures()}>{(picture) => (
                <li class="chip py-0.5"><img class="h-8 w-8 rounded object-cover" src={picture.url} alt="" />{plainly(picture.name)}
                  <button type="button" class="rounded hover:text-ink" aria-label={`Remove ${picture.name}`} onClick={() => setPictures((all) => all.filter((it) => it !== picture))}><Icon name="close" class="h-3 w-3" /></button>
                </li>
              )}</For>
            </ul>
          </Show>
          <div class="flex flex-wrap items-center gap-1.5 px-1.5 pb-1.5">
            <span class="mr-auto pl-1.5 text-2xs text-muted max-sm:hidden">Enter sends · Shift Enter starts a new line</span>
            <Show when={props.busy}>
              <button type="button" class="btn btn-small btn-no ml-auto" disabled={stopping()} onClick={() => void stop()}><Show when={stopping()} fallback={<Icon name="stop" class="h-3 w-3" />}><Spinner /></Show>Interrupt</button>
              <button type="button" class="btn btn-small" disabled={empty() || sending()} title="Waits until this turn has ended" onClick={() => void send('queue')}>Queue</button>
            </Show>
            <button type="submit" class="btn btn-small btn-yes" classList={{ 'ml-auto': !props.busy }} disabled={empty() || sending()}><Show when={sending()} fallback={<Icon name="send" class="h-3.5 w-3.5" />}><Spinner /></Show>{props.busy ? 'Steer' : 'Send'}</button>
          </div>
        </div>
      </Show>
    </form>
  );
}
