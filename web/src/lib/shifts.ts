/** Guards buttons that decide: a click that lands just after the page moved was meant for something else. */

const QUIET_MS = 400;
let quietUntil = 0;

/** The layout moved: a card came, went or changed its height. */
export function moved(): void {
  quietUntil = performance.now() + QUIET_MS;
}

/** Whether a click may decide something now. A double click's second half never may. */
export function settled(event?: MouseEvent): boolean {
  return performance.now() >= quietUntil && (event?.detail ?? 1) <= 1;
}
