/** Whether all of what an ask is about was on the screen: what reaches further than once waits for that. */

import { createContext, createSignal, onCleanup } from 'solid-js';

export interface Seen {
  /** All of it was in sight at some time. */
  all: () => boolean;
  /** The end of a part: the part was seen when this was in sight. Takes back its word with its owner. */
  watch: (end: Element) => void;
}

/** Absent where nothing is decided. */
export const SeenContext = createContext<Seen>();

export function createSeen(): Seen {
  const [left, setLeft] = createSignal(0);
  const waiting = new Set<Element>();
  const seen = (end: Element) => { if (waiting.delete(end)) setLeft(waiting.size); };
  const observer = new IntersectionObserver((entries) => {
    for (const it of entries) {
      if (!it.isIntersecting) continue;
      seen(it.target);
      observer.unobserve(it.target);
    }
  });
  onCleanup(() => observer.disconnect());
  return {
    all: () => left() === 0,
    watch: (end) => {
      waiting.add(end);
      setLeft(waiting.size);
      observer.observe(end);
      onCleanup(() => { observer.unobserve(end); seen(end); });
    },
  };
}
