import { describe, expect, it } from 'vitest';
import { ansi } from './ansi';

const spans = (text: string) => ansi(text).map((it) => [it.text, it.cls]);

describe('terminal output', () => {
  it('gives colours and weight as classes', () => {
    expect(spans('a \x1b[1;32mok\x1b[0m b')).toEqual([['a ', ''], ['ok', 'ansi-bold ansi-fg-2'], [' b', '']]);
  });
  it('ends one attribute without the others', () => {
    expect(spans('\x1b[1;4;31mx\x1b[22;39my\x1b[24mz')).toEqual([['x', 'ansi-bold ansi-underline ansi-fg-1'], ['y', 'ansi-underline'], ['z', '']]);
  });
  it('reads bright, background, palette and true colours, with either separator', () => {
    expect(spans('\x1b[91;44ma\x1b[0;38;5;196mb\x1b[0;48:2:0:0:255mc')).toEqual([['a', 'ansi-fg-9 ansi-bg-4'], ['b', 'ansi-fg-9'], ['c', 'ansi-bg-12']]);
  });
  it('drops cursor movement, titles and links', () => {
    expect(spans('\x1b[2J\x1b[1;1Ha\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c\x1b[?25l')).toEqual([['a', ''], ['b', ''], ['c', '']]);
  });
  it('drops a sequence that is cut off at the end', () => {
    expect(spans('done\x1b[3')).toEqual([['done', '']]);
    expect(spans('done\x1b')).toEqual([['done', '']]);
    expect(spans('done\x1b]0;tit')).toEqual([['done', '']]);
  });
  it('a carriage return starts the line again', () => {
    expect(spans('10%\r50%\r100%\nend\r\n')).toEqual([['100%\nend\n', '']]);
  });
  it('shows other control and direction characters as escapes', () => {
    expect(spans('a\x07b\u202ec')).toEqual([['a\\x07b\\u{202E}c', '']]);
  });
  it('never makes markup', () => {
    expect(spans('<b>x</b>')).toEqual([['<b>x</b>', '']]);
  });
});
