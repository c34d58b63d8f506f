/** Guards buttons that decide: a click that lands just after the page moved was meant for something else. */

import { createSignal } from 'solid-js';

const QUIET_MS = 400;
const [quiet, setQuiet] = createSignal(false);
let timer: ReturnType<typeof setTimeout> | undefined;

/** The page moved a moment ago; buttons that decide wait. */
export { quiet };

/** The layout moved: a card came, went or changed its height. */
export function moved(): void {
  clearTimeout(timer);
  setQuiet(true);
  timer = setTimeout(() => setQuiet(false), QUIET_MS);
}

/** Whether a click may decide something now. A double click's second half never may. */
export function settled(event?: MouseEvent): boolean {
  return !quiet() && (event?.detail ?? 1) <= 1;
}
