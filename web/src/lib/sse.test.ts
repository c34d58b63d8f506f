import { expect, it } from 'vitest';
import { SseParser } from './sse';

const STREAM = ': hello\n\nevent: event\nid: c1\ndata: {"a":1}\n\nevent: delta\r\ndata: one\r\ndata: two\r\n\r\ndata:bare\n\nevent: ignored\n\n';
const EXPECTED = [{ event: 'event', data: '{"a":1}', id: 'c1' }, { event: 'delta', data: 'one\ntwo' }, { event: 'message', data: 'bare' }];

it('reads events, comments and both line endings', () => {
  expect(new SseParser().push(STREAM)).toEqual(EXPECTED);
});

it('does not care where the pieces are cut', () => {
  for (let size = 1; size < 20; size++) {
    const parser = new SseParser();
    const found = [];
    for (let at = 0; at < STREAM.length; at += size) found.push(...parser.push(STREAM.slice(at, at + size)));
    expect(found).toEqual(EXPECTED);
  }
});

it('an unfinished event is kept until its end comes', () => {
  const parser = new SseParser();
  expect(parser.push('data: half')).toEqual([]);
  expect(parser.push(' done\n')).toEqual([]);
  expect(parser.push('\n')).toEqual([{ event: 'message', data: 'half done' }]);
});
