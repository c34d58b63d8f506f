import { expect, it } from 'vitest';
import { blobOf, textOf } from './blob';

const blob = { $blob: 'abc', bytes: 1000, head: 'begin', tail: 'end' };

it('a long text shows both ends and how much is between', () => {
  expect(textOf(blob)).toBe('begin\n… 992 bytes are not shown here …\nend');
  expect(blobOf(blob)).toEqual({ digest: 'abc', bytes: 1000, head: 'begin', tail: 'end' });
});

it('other values are what they are', () => {
  expect(textOf('x')).toBe('x');
  expect([textOf(null), textOf({ a: 1 }), textOf(3)]).toEqual(['', '', '']);
  expect([blobOf('x'), blobOf({ a: 1 }), blobOf(null)]).toEqual([undefined, undefined, undefined]);
});
