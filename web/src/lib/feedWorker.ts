/** Holds the one event stream of this browser and hands what comes to every open tab. */

import { FeedStream, type FeedMessage } from './feedStream';

interface SharedScope {
  onconnect: ((event: MessageEvent) => void) | null;
}

const ports = new Set<MessagePort>();
const stream = new FeedStream((message) => {
  for (const port of ports) port.postMessage(message);
});

(globalThis as unknown as SharedScope).onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  ports.add(port);
  port.onmessage = ({ data }: MessageEvent<'connect' | 'bye'>) => {
    if (data === 'bye') {
      ports.delete(port);
      port.close();
      if (ports.size === 0) stream.close();
      return;
    }
    stream.connect();
  };
  port.start();
  const hello: FeedMessage = { type: 'status', status: stream.status, ...(stream.retryAt === undefined ? {} : { retryAt: stream.retryAt }) };
  port.postMessage(hello);
  stream.connect();
};
