/** One clock for every age and countdown on the page. */

import { createSignal } from 'solid-js';

const [now, setNow] = createSignal(Date.now());
setInterval(() => setNow(Date.now()), 1000);

export { now };
