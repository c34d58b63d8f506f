/** Which view the address names, and going from one to another without loading the page again. */

import { createSignal } from 'solid-js';

export type Route = { view: 'inbox' } | { view: 'new' } | { view: 'session'; sessionId: string } | { view: 'unknown'; path: string };

export function parseRoute(path: string): Route {
  if (path === '/' || path === '/inbox') return { view: 'inbox' };
  if (path === '/new') return { view: 'new' };
  const match = /^\/sessions\/([^/]+)\/?$/.exec(path);
  if (match?.[1]) return { view: 'session', sessionId: decodeURIComponent(match[1]) };
  return { view: 'unknown', path };
}

const [route, setRoute] = createSignal<Route>(parseRoute(location.pathname));
addEventListener('popstate', () => setRoute(parseRoute(location.pathname)));

export { route };

export function go(path: string): void {
  if (path !== location.pathname) history.pushState(null, '', path);
  setRoute(parseRoute(path));
}

/** For links: a plain click stays in the page, with a modifier the browser does what it always does. */
export function follow(event: MouseEvent & { currentTarget: HTMLAnchorElement }): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(new URL(event.currentTarget.href).pathname);
}
