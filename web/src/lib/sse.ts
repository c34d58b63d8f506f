/** Server-sent events from a byte stream: text in, whole events out. */

export interface SseEvent {
  event: string;
  data: string;
  id?: string;
}

export class SseParser {
  private buffer = '';
  private event = '';
  private data: string[] = [];
  private id: string | undefined;

  /** Takes the next piece of text and returns the events that it completes. */
  push(text: string): SseEvent[] {
    this.buffer += text;
    const res: SseEvent[] = [];
    let at = 0;
    for (;;) {
      const end = this.lineEnd(at);
      if (!end) break;
      this.line(this.buffer.slice(at, end.at), res);
      at = end.next;
    }
    this.buffer = this.buffer.slice(at);
    return res;
  }

  private lineEnd(from: number): { at: number; next: number } | undefined {
    for (let i = from; i < this.buffer.length; i++) {
      const char = this.buffer[i];
      if (char === '\n') return { at: i, next: i + 1 };
      if (char === '\r') {
        // A lone CR at the very end may be half of a CRLF.
        if (i + 1 === this.buffer.length) return undefined;
        return { at: i, next: this.buffer[i + 1] === '\n' ? i + 2 : i + 1 };
      }
    }
    return undefined;
  }

  private line(line: string, res: SseEvent[]): void {
    if (line === '') {
      if (this.data.length > 0) {
        res.push({ event: this.event || 'message', data: this.data.join('\n'), ...(this.id === undefined ? {} : { id: this.id }) });
      }
      this.event = '';
      this.data = [];
      this.id = undefined;
      return;
    }
    if (line.startsWith(':')) return;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (field === 'event') this.event = value;
    else if (field === 'data') this.data.push(value);
    else if (field === 'id') this.id = value;
  }
}
