/** Keeps one event stream open: resumes at the last cursor, backs off when the server is away. */

import { SseParser } from './sse';
import type { Delta, FeedEvent } from './types';

export type FeedStatus = 'connecting' | 'live' | 'lost' | 'loggedOut';

export type FeedMessage =
  | { type: 'status'; status: FeedStatus; retryAt?: number }
  | { type: 'event'; event: FeedEvent }
  | { type: 'delta'; delta: Delta }
  /** Something was missed that the server no longer has in the feed: read everything again. */
  | { type: 'reset' };

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
/** The server sends a comment every 15 s; three missed ones mean that the line is dead. */
const SILENCE_MS = 45_000;

export class FeedStream {
  private cursor: string | undefined;
  private attempt = 0;
  private abort: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  status: FeedStatus = 'connecting';
  retryAt: number | undefined;

  constructor(private readonly emit: (message: FeedMessage) => void, private readonly url = '/api/v1/feed') {}

  /** Connects now, also when a retry was due later. Does nothing while a connection stands. */
  connect(): void {
    clearTimeout(this.timer);
    if (this.abort) return;
    void this.run();
  }

  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    this.abort?.abort();
    this.abort = undefined;
    this.status = 'connecting';
  }

  private set(status: FeedStatus, retryAt?: number): void {
    this.status = status;
    this.retryAt = retryAt;
    this.emit({ type: 'status', status, ...(retryAt === undefined ? {} : { retryAt }) });
  }

  private async run(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    if (this.status !== 'lost') this.set('connecting');
    let loggedOut = false;
    try {
      const query = this.cursor === undefined ? '' : `?after=${encodeURIComponent(this.cursor)}`;
      const response = await fetch(this.url + query, {
        headers: { accept: 'text/event-stream' },
        credentials: 'same-origin',
        cache: 'no-store',
        signal: abort.signal,
      });
      loggedOut = response.status === 401;
      if (!response.ok || !response.body) throw new Error(`the feed answered ${response.status}`);
      // What happened before a first connection is not in the stream; whoever listens reads it anew.
      if (this.cursor === undefined) this.emit({ type: 'reset' });
      this.attempt = 0;
      this.set('live');
      await this.read(response.body, abort);
    } catch {
      // Whatever broke the line, the answer is the same: try again.
    }
    clearTimeout(this.watchdog);
    if (this.abort !== abort) return;
    this.abort = undefined;
    if (loggedOut) {
      this.set('loggedOut');
      return;
    }
    const wait = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** this.attempt) * (0.75 + Math.random() / 2);
    this.attempt += 1;
    this.set('lost', Date.now() + wait);
    this.timer = setTimeout(() => this.connect(), wait);
  }

  private async read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const parser = new SseParser();
    const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
    for (;;) {
      clearTimeout(this.watchdog);
      this.watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
      const { done, value } = await reader.read();
      if (done) return;
      for (const { event, data, id } of parser.push(value)) {
        if (event === 'event') {
          const parsed = JSON.parse(data) as FeedEvent;
          this.cursor = id ?? parsed.cursor;
          this.emit({ type: 'event', event: parsed });
        } else if (event === 'delta') this.emit({ type: 'delta', delta: JSON.parse(data) as Delta });
        else if (event === 'live') this.cursor = (JSON.parse(data) as { cursor?: string }).cursor ?? this.cursor;
        else if (event === 'reset') {
          this.cursor = (JSON.parse(data) as { cursor?: string }).cursor ?? id ?? this.cursor;
          this.emit({ type: 'reset' });
        }
      }
    }
  }
}
