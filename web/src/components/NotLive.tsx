/** Says so when what is shown may be old. */

import { Show } from 'solid-js';
import { now } from '../lib/now';
import { Icon } from './Icon';

export interface NotLiveProps {
  /** The stream of events is gone. */
  lost: boolean;
  /** When it is tried again, in milliseconds since 1970. */
  retryAt?: number | undefined;
  /** Why what is shown could not be read, if so. */
  trouble?: string | undefined;
  onRetry: () => void;
}

export function NotLive(props: NotLiveProps) {
  const left = () => Math.max(0, Math.ceil(((props.retryAt ?? 0) - now()) / 1000));
  return (
    <Show when={props.lost || props.trouble}>
      <div role="status" class="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-warn-line bg-warn-soft px-3 py-1.5 text-warn sm:px-5" data-testid="not-live">
        <Icon name="warn" />
        <span class="min-w-0 flex-1"><strong class="font-semibold">Not live.</strong> {props.lost ? 'The connection to Pilothouse is gone; what you see may be old.' : props.trouble} <Show when={props.lost && left() > 0}>Trying again in {left()}s.</Show></span>
        <button type="button" class="btn btn-small" onClick={() => props.onRetry()}>Try now</button>
      </div>
    </Show>
  );
}
