import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FeedStream, type FeedMessage } from './feedStream';

/** A server that answers each request for the feed as the test says. */
let requests: { url: string; signal: AbortSignal }[];
let answers: (() => Response)[];
let messages: FeedMessage[];
let stream: FeedStream;

beforeEach(() => {
  vi.useFakeTimers();
  requests = [];
  answers = [];
  messages = [];
  stream = new FeedStream((it) => messages.push(it), '/feed');
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
    requests.push({ url, signal: init.signal as AbortSignal });
    const answer = answers.shift();
    return answer ? Promise.resolve(answer()) : Promise.reject(new Error('refused'));
  });
});

afterEach(() => {
  stream.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A stream that says this; it stays open unless it is told to end. */
function says(text: string, ends = false): () => Response {
  return () => new Response(new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      if (ends) controller.close();
    },
  }));
}

const event = (n: number) => `event: event\nid: c${n}\ndata: {"cursor":"c${n}","sessionId":"sess_1","seq":${n},"at":"t","event":{"type":"x"}}\n\n`;
const brief = () => messages.map((it) => (it.type === 'status' ? it.status : it.type === 'event' ? it.event.cursor : it.type));

it('tells everyone to read anew, then passes events on', async () => {
  answers = [says(`event: live\ndata: {"cursor":"c0"}\n\n${event(1)}event: delta\ndata: {"sessionId":"sess_1","itemId":"m","kind":"text","text":"x"}\n\n`)];
  stream.connect();
  await vi.waitFor(() => expect(brief()).toEqual(['connecting', 'reset', 'live', 'c1', 'delta']));
  expect(requests[0]?.url).toBe('/feed');
});

it('goes on at the last cursor when the line breaks, without reading anew', async () => {
  answers = [says(event(1) + event(2), true), says(event(3))];
  stream.connect();
  await vi.waitFor(() => expect(brief()).toContain('lost'));
  await vi.advanceTimersByTimeAsync(1000);
  await vi.waitFor(() => expect(brief()).toEqual(['connecting', 'reset', 'live', 'c1', 'c2', 'lost', 'live', 'c3']));
  expect(requests.map((it) => it.url)).toEqual(['/feed', '/feed?after=c2']);
});

it('reads anew when the server no longer has what was missed', async () => {
  answers = [says(event(1), true), says('event: reset\ndata: {"cursor":"c9"}\n\n', true), says(event(10))];
  stream.connect();
  await vi.waitFor(() => expect(requests).toHaveLength(1));
  await vi.advanceTimersByTimeAsync(5000);
  await vi.waitFor(() => expect(brief().at(-1)).toBe('c10'));
  expect(brief().filter((it) => it === 'reset')).toHaveLength(2);
  expect(requests.at(-1)?.url).toBe('/feed?after=c9');
});

it('waits longer each time, but not for ever', async () => {
  stream.connect();
  const waits: number[] = [];
  for (let n = 1; n <= 9; n++) {
    await vi.waitFor(() => expect(requests).toHaveLength(n));
    await vi.waitFor(() => expect(stream.status).toBe('lost'));
    waits.push((stream.retryAt ?? 0) - Date.now());
    await vi.advanceTimersByTimeAsync((stream.retryAt ?? 0) - Date.now() + 1);
  }
  expect(waits[0]).toBeLessThan(700);
  expect(waits[8]).toBeGreaterThan(11_000);
  expect(Math.max(...waits)).toBeLessThan(19_000);
});

it('does not try again when it is not logged in, until it is told to', async () => {
  answers = [() => new Response(null, { status: 401 }), says(event(1))];
  stream.connect();
  await vi.waitFor(() => expect(stream.status).toBe('loggedOut'));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toHaveLength(1);
  stream.connect();
  await vi.waitFor(() => expect(brief().at(-1)).toBe('c1'));
});

it('gives up a line that says nothing at all', async () => {
  answers = [says(': hello\n\n')];
  stream.connect();
  await vi.waitFor(() => expect(stream.status).toBe('live'));
  await vi.advanceTimersByTimeAsync(46_000);
  expect(requests[0]?.signal.aborted).toBe(true);
});
