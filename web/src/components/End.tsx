/** Where a part of what is asked ends; once this was in sight, so was the part. */

import { Show, useContext } from 'solid-js';
import { SeenContext } from '../lib/seen';

export interface EndProps {
  /** Something before it is not shown yet. */
  missing?: boolean;
}

export function End(props: EndProps) {
  const seen = useContext(SeenContext);
  return <Show when={seen}>{(it) => <span ref={(end) => it().watch(end)} class={props.missing ? 'hidden' : 'block h-px w-px'} aria-hidden="true" />}</Show>;
}
