/** Notices of the browser when something begins to wait while nobody looks, if the person wants them. */

import { createSignal } from 'solid-js';

const supported = typeof Notification !== 'undefined';
const [permission, setPermission] = createSignal<NotificationPermission>(supported ? Notification.permission : 'denied');

/** Whether the browser was never asked. */
export const canAskToNotify = () => permission() === 'default';

export function allowNotices(): void {
  void Notification.requestPermission().then(setPermission);
}

/** One notice per subject, also when several tabs give it. Says what kind of thing waits, not what is in it. */
export function notice(title: string, about: string, tag: string, onClick: () => void): void {
  if (!supported || permission() !== 'granted' || document.visibilityState === 'visible') return;
  const shown = new Notification(title, { body: about, tag, icon: '/favicon.svg' });
  shown.onclick = () => {
    window.focus();
    onClick();
    shown.close();
  };
}
