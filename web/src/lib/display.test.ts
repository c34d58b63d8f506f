import { describe, expect, it } from 'vitest';
import fixture from '../../../fixtures/display.json?raw';
import { firstWords, hiddenIn, plainly, segments, shortCommand, splitShell } from './display';

describe('visible escapes', () => {
  const cases: [string, string, string][] = [
    ['plain text stays', "git commit -m 'a b'", "git commit -m 'a b'"],
    ['newline and tab stay', 'a\n\tb', 'a\n\tb'],
    ['right-to-left override', 'rm \u202etxt.exe', 'rm \\u{202E}txt.exe'],
    ['isolates', '\u2066x\u2069', '\\u{2066}x\\u{2069}'],
    ['zero width space', 'cur\u200bl', 'cur\\u{200B}l'],
    ['terminal escape', '\x1b[31mred', '\\e[31mred'],
    ['carriage return', 'safe\rrm -rf /', 'safe\\rrm -rf /'],
    ['null and delete', '\0\x7f', '\\x00\\x7f'],
    ['no-break space', 'rm\u00a0-rf', 'rm\\u{00A0}-rf'],
    ['tag characters beyond the BMP', 'a\u{e0041}b', 'a\\u{E0041}b'],
    ['a broken surrogate', 'a\ud800b', 'a\\u{D800}b'],
    ['hangul filler', '\u3164', '\\u{3164}'],
    ['other scripts stay', 'naïve 日本語 עברית 🚢', 'naïve 日本語 עברית 🚢'],
  ];
  it.each(cases)('%s', (_, input, expected) => expect(plainly(input)).toBe(expected));

  it('prose keeps joiners in emoji and no-break spaces, but never direction or control characters', () => {
    expect(plainly('👩\u200d🚀 dix\u00a0euros', true)).toBe('👩\u200d🚀 dix\u00a0euros');
    expect(plainly('a\u202eb\x1b[0m\u200b', true)).toBe('a\\u{202E}b\\e[0m\\u{200B}');
  });

  it('names each hidden character once', () => {
    expect(hiddenIn('a\u202eb\u202e', null, 'c\u200b')).toEqual([
      'right-to-left override (U+202E, changes text direction)', 'zero width space (U+200B, invisible character)',
    ]);
    expect(hiddenIn('plain')).toEqual([]);
  });

  it('marks what stands for a hidden character, and only that', () => {
    expect(segments('ab\u200bc')).toEqual([{ text: 'ab' }, { text: '\\u{200B}', hidden: 'zero width space (U+200B, invisible character)' }, { text: 'c' }]);
  });
});

interface Fixture {
  kinds: Record<string, [string, string][]>;
  cases: { name: string; text: string; shown: string; found: Record<string, number> }[];
}

describe('as on every other surface', () => {
  const { kinds, cases } = JSON.parse(fixture) as Fixture;
  const kindOf = (hidden: string) => /, ([^,)]*)\)?$/.exec(hidden)?.[1] ?? '';

  it.each(cases)('$name', ({ text, shown, found }) => {
    expect(plainly(text)).toBe(shown);
    const counted: Record<string, number> = {};
    for (const { hidden } of segments(text)) if (hidden) counted[kindOf(hidden)] = (counted[kindOf(hidden)] ?? 0) + 1;
    expect(counted).toEqual(found);
  });

  it('every letter is of the same kind', () => {
    const expected: string[] = [];
    for (const [kind, ranges] of Object.entries(kinds)) for (const [from, to] of ranges) {
      for (let code = parseInt(from, 16); code <= parseInt(to, 16); code += 1) expected.push(`${code.toString(16)} ${kind}`);
    }
    const all: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) if (code < 0xd800 || code > 0xdfff) all.push(String.fromCodePoint(code));
    const found = segments(all.join('')).flatMap(({ hidden }) => {
      const code = /U\+([0-9A-F]+)/.exec(hidden ?? '')?.[1];
      return hidden && code ? [`${parseInt(code, 16).toString(16)} ${kindOf(hidden)}`] : [];
    });
    expect(found.sort()).toEqual(expected.sort());
  }, 60_000);
});

describe('a shell wrapper', () => {
  it.each([
    ["/bin/bash -lc 'echo hi'", '/bin/bash -lc ', "'echo hi'"],
    ['bash -c ls', 'bash -c ', 'ls'],
    ['zsh -lc "x"', 'zsh -lc ', '"x"'],
    ['git push', '', 'git push'],
    ['bashful -c x', '', 'bashful -c x'],
  ])('%s', (command, wrapper, rest) => {
    expect(splitShell(command)).toEqual({ wrapper, rest });
    expect(wrapper + rest).toBe(command);
  });
});

it.each([
  ["/bin/bash -lc 'mkdir x'", 'mkdir x'],
  [`/bin/bash -lc "touch 'a b'"`, "touch 'a b'"],
  ['bash -c "echo $HOME"', '"echo $HOME"'],
  [`bash -c 'it'"'"'s'`, `'it'"'"'s'`],
  ["'not wrapped'", "'not wrapped'"],
])('%s is short', (command, short) => expect(shortCommand(command)).toBe(short));

it('first words are one line, cut at a word', () => {
  expect(firstWords('  Fix\n the   build ')).toBe('Fix the build');
  expect(firstWords('alpha beta gamma delta', 13)).toBe('alpha beta…');
  expect(firstWords('x'.repeat(30), 10)).toBe(`${'x'.repeat(10)}…`);
});
