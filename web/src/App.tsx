/** The whole console: login, layout, and which view is shown. */

import { createEffect, createMemo, createSignal, Match, on, onCleanup, onMount, Show, Switch } from 'solid-js';
import { Icon } from './components/Icon';
import { NotLive } from './components/NotLive';
import { Sidebar, sessionTitle } from './components/Sidebar';
import { api, ApiError } from './lib/api';
import { heading } from './lib/asks';
import { askKeys } from './lib/keys';
import { createLive, messageOf } from './lib/live';
import { canAskToNotify, allowNotices, notice } from './lib/notices';
import { go, route } from './lib/router';
import type { NewSession as Wanted } from './lib/types';
import { InboxView } from './views/InboxView';
import { LoggedOut } from './views/LoggedOut';
import { NewSession } from './views/NewSession';
import { SessionPage } from './views/SessionPage';

export function App() {
  const live = createLive();
  const [refused, setRefused] = createSignal(false);
  onMount(() => {
    const code = /^#code=(.+)$/.exec(location.hash)?.[1];
    if (code === undefined) return live.start();
    // Whatever comes of it, the code must not stay in the address or the history.
    history.replaceState(null, '', location.pathname);
    live.logIn(decodeURIComponent(code)).catch((error: unknown) => {
      setRefused(error instanceof ApiError && [400, 401, 403, 404, 410, 422].includes(error.problem.status));
      live.start(); // an older cookie may still be good
    });
  });
  // A link that is pasted into this very tab changes the address only.
  const onLink = () => { if (location.hash.startsWith('#code=')) location.reload(); };
  addEventListener('hashchange', onLink);
  addEventListener('keydown', askKeys);
  onCleanup(() => { removeEventListener('hashchange', onLink); removeEventListener('keydown', askKeys); live.close(); });
  return (
    <Switch fallback={<p class="grid h-full place-items-center text-muted" role="status">{live.trouble() ?? 'Connecting…'}</p>}>
      <Match when={live.login() === 'out'}><LoggedOut refused={refused()} /></Match>
      <Match when={live.login() === 'in'}><Shell live={live} /></Match>
    </Switch>
  );
}

function Shell(props: { live: ReturnType<typeof createLive> }) {
  const live = props.live;
  const asks = createMemo(() => Object.values(live.state.asks));
  const pending = createMemo(() => asks().filter((it) => it.state === 'pending').length);
  const sessions = createMemo(() => Object.values(live.state.sessions).sort((a, b) => (a.lastActiveAt < b.lastActiveAt ? 1 : -1)));
  const canAnswer = () => live.me()?.canAnswer !== false;
  const [menu, setMenu] = createSignal(false);
  let main!: HTMLElement;

  const title = () => {
    const it = route();
    return it.view === 'inbox' ? 'Inbox' : it.view === 'new' ? 'New session' : it.view === 'session' ? sessionTitle(live.state.sessions[it.sessionId]) : 'Not found';
  };
  createEffect(() => { document.title = `${pending() > 0 ? `(${pending()}) ` : ''}${title()} · Pilothouse`; });
  createEffect(on(route, () => { setMenu(false); main.focus({ preventScroll: true }); }, { defer: true }));

  // Asks that were there when the page opened are no news.
  let known: Set<string> | undefined;
  createEffect(() => {
    if (!live.loaded()) return;
    const waiting = asks().filter((it) => it.state === 'pending');
    for (const ask of waiting) {
      if (known && !known.has(ask.requestId)) notice(heading(ask.subject), sessionTitle(live.state.sessions[ask.sessionId]), ask.requestId, () => go('/'));
    }
    known = new Set([...(known ?? []), ...waiting.map((it) => it.requestId)]);
  });

  const sidebar = () => <Sidebar sessions={sessions()} pending={pending()} route={route()} me={live.me()} onNotices={canAskToNotify() ? allowNotices : undefined} onOlder={live.hasOlder() ? () => void live.readOlder() : undefined} />;
  return (
    <div class="grid h-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)] md:grid-cols-[17rem_minmax(0,1fr)] md:grid-rows-[minmax(0,1fr)]">
      <a href="#main" class="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2" onClick={(event) => { event.preventDefault(); main.focus(); }}>Skip to the content</a>
      <header class="flex items-center gap-2 border-b border-line bg-sunken px-2 py-1.5 md:hidden">
        <button type="button" class="btn btn-small btn-quiet" aria-expanded={menu()} aria-label="Sessions" onClick={() => setMenu(true)}><Icon name="menu" /></button>
        <span class="min-w-0 flex-1 truncate font-semibold">{title()}</span>
        <Show when={pending() > 0 && route().view !== 'inbox'}><button type="button" class="btn btn-small" onClick={() => go('/')}><Icon name="inbox" class="h-3.5 w-3.5" />{pending()} pending</button></Show>
      </header>
      <aside class="min-h-0 border-r border-line bg-sunken max-md:hidden" aria-label="Navigation">{sidebar()}</aside>
      <Show when={menu()}>
        <dialog ref={(it) => queueMicrotask(() => { if (it.isConnected && !it.open) it.showModal(); })} class="m-0 h-full max-h-none w-[min(20rem,88vw)] border-r border-line bg-sunken p-0 text-ink backdrop:bg-black/40" aria-label="Sessions" onClose={() => setMenu(false)} onClick={(event) => { if (event.target === event.currentTarget) setMenu(false); }}>
          {sidebar()}
        </dialog>
      </Show>
      <main id="main" ref={main} tabindex="-1" class="flex min-h-0 min-w-0 flex-col outline-none" aria-label={title()}>
        <NotLive lost={live.feedStatus().status === 'lost'} retryAt={live.feedStatus().retryAt} trouble={live.trouble()} onRetry={live.retryNow} />
        <div class="min-h-0 flex-1" classList={{ 'overflow-y-auto': route().view !== 'session' }}>
          <Switch fallback={<p class="p-8 text-center text-muted">There is nothing at this address.</p>}>
            <Match when={route().view === 'inbox'}>
              <InboxView asks={asks()} sessions={live.state.sessions} submissions={live.submissions} canAnswer={canAnswer()} loaded={live.loaded()} onAnswer={(id, answer) => void live.answer(id, answer)} />
            </Match>
            <Match when={route().view === 'new'}><NewSessionRoute live={live} /></Match>
            <Match when={sessionIn()} keyed>{(sessionId) => <SessionRoute live={live} sessionId={sessionId} canAnswer={canAnswer()} />}</Match>
          </Switch>
        </div>
      </main>
    </div>
  );
}

const sessionIn = () => {
  const it = route();
  return it.view === 'session' ? it.sessionId : undefined;
};

function NewSessionRoute(props: { live: ReturnType<typeof createLive> }) {
  const distinct = (pick: (it: { cwd: string; model?: string | null }) => string | null | undefined) => [...new Set(Object.values(props.live.state.sessions).map(pick).filter((it): it is string => Boolean(it)))];
  const create = async (wanted: Wanted) => {
    const session = await api.create(wanted);
    props.live.putSession(session);
    go(`/sessions/${session.sessionId}`);
  };
  return <NewSession directories={distinct((it) => it.cwd)} models={distinct((it) => it.model)} onCreate={create} />;
}

function SessionRoute(props: { live: ReturnType<typeof createLive>; sessionId: string; canAnswer: boolean }) {
  const [trouble, setTrouble] = createSignal<string | undefined>();
  const attempt = (job: Promise<unknown>) => job.then(() => setTrouble(undefined), (error: unknown) => setTrouble(messageOf(error)));
  onMount(() => void attempt(props.live.openLog(props.sessionId)));
  return (
    <SessionPage
      session={props.live.state.sessions[props.sessionId]} log={props.live.state.logs[props.sessionId]} asks={props.live.state.asks} submissions={props.live.submissions}
      canAnswer={props.canAnswer} trouble={trouble()} onAnswer={(id, answer) => void props.live.answer(id, answer)} onReadBlob={api.blob}
      onSend={async (prompt, images, whenBusy) => { await api.prompt(props.sessionId, prompt, images, whenBusy); }}
      onInterrupt={async () => { await api.interrupt(props.sessionId); }}
      onCancel={async () => { await attempt(api.cancel(props.sessionId)); }}
      onEarlier={async () => { await attempt(props.live.readEarlier(props.sessionId)); }}
      onFork={async () => {
        await attempt(api.fork(props.sessionId).then((fork) => { props.live.putSession(fork); go(`/sessions/${fork.sessionId}`); }));
      }}
    />
  );
}
