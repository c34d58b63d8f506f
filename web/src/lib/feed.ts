/** The page's end of the event feed: through a worker that all tabs share, or on its own where there is none. */

import { FeedStream, type FeedMessage } from './feedStream';

export interface Feed {
  /** Tries again now: after logging in, or because a person asked. */
  connect(): void;
  close(): void;
}

/** HTTP/1.1 allows six connections per host, so a stream per tab would block the seventh tab. */
export function openFeed(onMessage: (message: FeedMessage) => void): Feed {
  if (typeof SharedWorker === 'undefined') return direct(onMessage);
  try {
    return shared(onMessage);
  } catch {
    return direct(onMessage);
  }
}

function direct(onMessage: (message: FeedMessage) => void): Feed {
  const stream = new FeedStream(onMessage);
  stream.connect();
  return stream;
}

function shared(onMessage: (message: FeedMessage) => void): Feed {
  let fallback: Feed | undefined;
  let port: MessagePort | undefined;
  const attach = () => {
    const worker = new SharedWorker(new URL('./feedWorker.ts', import.meta.url), { type: 'module', name: 'pilothouse-feed' });
    // A worker that can't be loaded, as in some private windows, must not leave the page without events.
    worker.onerror = () => (fallback ??= direct(onMessage));
    port = worker.port;
    port.onmessage = ({ data }: MessageEvent<FeedMessage>) => onMessage(data);
    port.start();
  };
  const bye = () => port?.postMessage('bye');
  const back = (event: PageTransitionEvent) => {
    if (!event.persisted) return;
    attach();
    onMessage({ type: 'reset' });
  };
  attach();
  addEventListener('pagehide', bye);
  addEventListener('pageshow', back);
  return {
    connect: () => (fallback ? fallback.connect() : port?.postMessage('connect')),
    close: () => {
      removeEventListener('pagehide', bye);
      removeEventListener('pageshow', back);
      bye();
      fallback?.close();
    },
  };
}
