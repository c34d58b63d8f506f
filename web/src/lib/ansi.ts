/** Terminal output as spans with classes: colours and weight are kept, every other escape is dropped. */

import { plainly } from './display';

export interface AnsiSpan {
  text: string;
  /** Space-separated classes, or empty. */
  cls: string;
}

interface Style {
  fg?: number;
  bg?: number;
  flags: Set<string>;
}

const FLAGS: Record<number, string> = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline', 7: 'inverse', 9: 'strike' };
const OFF: Record<number, string[]> = { 22: ['bold', 'dim'], 23: ['italic'], 24: ['underline'], 27: ['inverse'], 29: ['strike'] };

// CSI sequences, OSC strings up to BEL or ST, DCS/PM/APC strings, then lone two-byte escapes.
// A sequence that is cut off at the end of the text is dropped as well.
const ESCAPES = /\x1b\[([0-9;:?<=>]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[PX^_][^\x1b]*(?:\x1b\\|$)|\x1b\[[0-9;:?<=>]*$|\x1b[ -/]*[0-~]?/g;

/** Bounds the work for one block of output; callers fold long output before it comes here. */
const MAX_SPANS = 20_000;

export function ansi(text: string): AnsiSpan[] {
  const out: AnsiSpan[] = [];
  const style: Style = { flags: new Set() };
  let at = 0;
  const push = (piece: string) => {
    if (piece) out.push({ text: plainly(piece, true), cls: classes(style) });
  };
  const source = overwrite(text);
  for (const match of source.matchAll(ESCAPES)) {
    push(source.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === 'm') sgr(style, match[1] ?? '');
    if (out.length >= MAX_SPANS) break;
  }
  push(source.slice(at));
  return out;
}

/** A carriage return starts the line again, as progress bars do; a terminal would show the last version. */
function overwrite(text: string): string {
  if (!text.includes('\r')) return text;
  return text.replace(/\r+\n/g, '\n').split('\n').map((line) => {
    const trimmed = line.replace(/\r+$/, '');
    return trimmed.slice(trimmed.lastIndexOf('\r') + 1);
  }).join('\n');
}

function classes(style: Style): string {
  const res = [...style.flags].map((flag) => `ansi-${flag}`);
  if (style.fg !== undefined) res.push(`ansi-fg-${style.fg}`);
  if (style.bg !== undefined) res.push(`ansi-bg-${style.bg}`);
  return res.join(' ');
}

function sgr(style: Style, params: string): void {
  if (/[?<=>]/.test(params)) return;
  const codes = (params || '0').split(/[;:]/).map((it) => (it === '' ? 0 : Number(it)));
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    const flag = FLAGS[code];
    if (code === 0) {
      style.flags.clear();
      delete style.fg;
      delete style.bg;
    } else if (flag) style.flags.add(flag);
    else if (OFF[code]) for (const it of OFF[code]) style.flags.delete(it);
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 90 + 8;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 100 + 8;
    else if (code === 39) delete style.fg;
    else if (code === 49) delete style.bg;
    else if (code === 38 || code === 48) {
      const key = code === 38 ? 'fg' : 'bg';
      if (codes[i + 1] === 5) {
        style[key] = fromPalette(codes[i + 2] ?? 0);
        i += 2;
      } else if (codes[i + 1] === 2) {
        style[key] = nearest(codes[i + 2] ?? 0, codes[i + 3] ?? 0, codes[i + 4] ?? 0);
        i += 4;
      }
    }
  }
}

/** One of 256 colours as the nearest of our sixteen, which follow the light or dark scheme. */
function fromPalette(n: number): number {
  if (n < 16) return n;
  if (n >= 232) {
    const grey = 8 + (n - 232) * 10;
    return nearest(grey, grey, grey);
  }
  const level = (it: number) => (it === 0 ? 0 : 55 + it * 40);
  const m = n - 16;
  return nearest(level(Math.floor(m / 36)), level(Math.floor(m / 6) % 6), level(m % 6));
}

function nearest(r: number, g: number, b: number): number {
  const max = Math.max(r, g, b);
  const min = Math.min(r, g, b);
  if (max - min < 40) return max > 200 ? 15 : max > 130 ? 7 : max > 60 ? 8 : 0;
  const cut = (max + min) / 2;
  return (r > cut ? 1 : 0) + (g > cut ? 2 : 0) + (b > cut ? 4 : 0) + (max > 200 ? 8 : 0);
}
