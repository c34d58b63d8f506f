/** Keyboard for asks: j and k go from card to card, a accepts, d declines. */

export function askKeys(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target as HTMLElement | null;
  if (target?.closest('input, textarea, select, [contenteditable], dialog')) return;
  const cards = [...document.querySelectorAll<HTMLElement>('main [data-ask]')];
  const card = document.activeElement?.closest<HTMLElement>('[data-ask]');
  const at = card ? cards.indexOf(card) : -1;
  const focus = (it: HTMLElement | undefined) => {
    if (!it) return;
    event.preventDefault();
    it.focus({ preventScroll: true });
    it.scrollIntoView({ block: 'nearest' });
  };
  switch (event.key) {
    case 'j':
      focus(cards[Math.min(at + 1, cards.length - 1)]);
      break;
    case 'k':
      focus(cards[at < 0 ? cards.length - 1 : Math.max(at - 1, 0)]);
      break;
    case 'a':
    case 'd': {
      // Without a card in focus nothing is decided: the first press only shows which one is meant.
      if (!card) return focus(cards.find((it) => it.dataset['state'] === 'pending'));
      event.preventDefault();
      const button = card.querySelector<HTMLButtonElement>(`[data-decide="${event.key === 'a' ? 'accept' : 'decline'}"]`);
      // What is hidden, as while a reason is written, is not meant.
      if (button) { if (button.checkVisibility()) button.click(); }
      else if (event.key === 'a') card.querySelector<HTMLElement>('form input, form select')?.focus();
      break;
    }
  }
}
