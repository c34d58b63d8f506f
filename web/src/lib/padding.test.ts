import { expect, it } from 'vitest';
import { hiddenIn, plainly, segments } from './display';

it.each([
  ['spaces', `ls${' '.repeat(4_000)}; rm -rf /`, 'ls␠×4000; rm -rf /'],
  ['line feeds', `a${'\n'.repeat(500)}b`, 'a␊×500\nb'],
  ['tabs', `a${'\t'.repeat(90)}b`, 'a␉×90b'],
  ['a few empty lines and an indent', 'a\n\n\n\nb        c', 'a\n\n\n\nb        c'],
  ['the deepest indent', `${' '.repeat(64)}x`, `${' '.repeat(64)}x`],
  ['spaces that are none', `a${'\u00a0'.repeat(4_000)}b`, 'a\\u{00A0}×4000b'],
  ['a few escapes', '\u001b\u001b', '\\e\\e'],
  ['letters beyond the first plane', '\u{e0041}'.repeat(9), '\\u{E0041}×9'],
])('padding does not push what follows out of sight: %s', (_, text, shown) => {
  expect(plainly(text)).toBe(shown);
  // What is shown is as good as the text: shown again it is the same.
  expect(plainly(shown)).toBe(shown);
});

it('in prose, too', () => {
  expect(plainly(`Safe.${' '.repeat(4_000)}Or not.`, true)).toBe('Safe.␠×4000Or not.');
  expect(plainly(`a${'\u3000'.repeat(4_000)}b`, true)).toBe('a\\u{3000}×4000b');
  expect(plainly(`a${'\u3000'.repeat(3)}b`, true)).toBe(`a${'\u3000'.repeat(3)}b`);
});

it('is named in the warning', () => {
  expect(hiddenIn(`a${' '.repeat(4_000)}b`)).toEqual(['4000 spaces in a row, padding']);
});

it('nothing of a long text is lost', () => {
  const text = 'ab \u200b'.repeat(250_000);
  expect(segments(text)).toHaveLength(500_000);
});
