/** Makes text from agents safe to read: what can't be seen, or would move other text, becomes a visible escape. */

export interface Segment {
  text: string;
  /** Set when `text` stands for a character that was not shown as it is: what that character is. */
  hidden?: string;
  /** Words for the same, where there is room for markup that tells them from the text. */
  words?: string;
}

const NAMES: Record<number, string> = {
  0x00: 'null', 0x07: 'bell', 0x08: 'backspace', 0x0b: 'vertical tab', 0x0c: 'form feed', 0x0d: 'carriage return',
  0x1b: 'escape', 0x7f: 'delete', 0xa0: 'no-break space', 0xad: 'soft hyphen', 0x61c: 'Arabic letter mark',
  0x180e: 'Mongolian vowel separator', 0x200b: 'zero width space', 0x200c: 'zero width non-joiner',
  0x200d: 'zero width joiner', 0x200e: 'left-to-right mark', 0x200f: 'right-to-left mark', 0x2028: 'line separator',
  0x2029: 'paragraph separator', 0x202a: 'left-to-right embedding', 0x202b: 'right-to-left embedding',
  0x202c: 'pop directional formatting', 0x202d: 'left-to-right override', 0x202e: 'right-to-left override',
  0x2060: 'word joiner', 0x2066: 'left-to-right isolate', 0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate', 0x2069: 'pop directional isolate', 0x2800: 'braille blank', 0x3000: 'ideographic space',
  0xfeff: 'zero width no-break space',
};

const between = (c: number, a: number, b: number) => c >= a && c <= b;

/** What kind of trouble a code point is, or undefined when it is plain text. */
function trouble(c: number): string | undefined {
  if (c === 0x0a || c === 0x09) return undefined;
  if (c < 0x20 || between(c, 0x7f, 0x9f)) return 'control character';
  if (between(c, 0x202a, 0x202e) || between(c, 0x2066, 0x2069) || c === 0x200e || c === 0x200f || c === 0x61c) return 'changes text direction';
  if (between(c, 0x200b, 0x200d) || between(c, 0x2060, 0x206f) || c === 0xfeff || c === 0xad || c === 0x34f || c === 0x180e) return 'invisible character';
  if (c === 0xa0 || c === 0x1680 || between(c, 0x2000, 0x200a) || c === 0x202f || c === 0x205f || c === 0x3000) return 'looks like a space';
  if (c === 0x2800 || c === 0x115f || c === 0x1160 || c === 0x3164 || c === 0xffa0) return 'looks like a space';
  if (c === 0x2028 || c === 0x2029) return 'line break';
  if (between(c, 0xfe00, 0xfe0f) || between(c, 0xe0100, 0xe01ef)) return 'variation selector';
  if (between(c, 0xe0000, 0xe007f)) return 'invisible tag';
  if (between(c, 0xd800, 0xdfff)) return 'broken character';
  if (between(c, 0xfff9, 0xfffb)) return 'invisible character';
  return undefined;
}

/** In prose these are ordinary: joiners and selectors inside emoji and some scripts, no-break spaces in French. */
function ordinaryInProse(c: number): boolean {
  return c === 0x200c || c === 0x200d || c === 0xfe0e || c === 0xfe0f || c === 0xa0 || c === 0x202f || c === 0xad
    || c === 0x3000 || between(c, 0x2002, 0x200a);
}

function escapeOf(c: number): string {
  if (c === 0x0d) return '\\r';
  if (c === 0x1b) return '\\e';
  if (c < 0x20 || c === 0x7f) return `\\x${c.toString(16).padStart(2, '0')}`;
  return `\\u{${c.toString(16).toUpperCase().padStart(4, '0')}}`;
}

function nameOf(c: number, kind: string): string {
  const code = `U+${c.toString(16).toUpperCase().padStart(4, '0')}`;
  const name = NAMES[c];
  return name ? `${name} (${code}, ${kind})` : `${code}, ${kind}`;
}

/** The longest run of one kind of blank that is shown as it is: deeper than any code is indented. */
const MAX_BLANKS = 64;
/** The most empty lines in a row that are shown. */
const MAX_EMPTY_LINES = 4;
/** The most times that the same escape is repeated. */
const MAX_REPEATS = 3;

/** Blanks that push what follows out of sight: how many are shown, what stands for more, and what they are. */
const PADDING: Record<string, [most: number, mark: string, name: string]> = {
  ' ': [MAX_BLANKS, '␠', 'spaces'], '\t': [MAX_BLANKS / 8, '␉', 'tabs'], '\n': [MAX_EMPTY_LINES + 1, '␊', 'line feeds'],
};

/** Splits text into plain runs and visible escapes. `prose` lets through what ordinary writing needs. */
export function segments(text: string, prose = false): Segment[] {
  const out: Segment[] = [];
  let plain = '';
  const hide = (shown: string, hidden: string, words?: string) => {
    if (plain) out.push({ text: plain });
    plain = '';
    out.push({ text: shown, hidden, ...(words ? { words } : {}) });
  };
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at) ?? 0;
    const char = String.fromCodePoint(code);
    const kind = trouble(code);
    let end = at + char.length;
    if (!kind && !PADDING[char]) {
      plain += char;
      at = end;
      continue;
    }
    let n = 1;
    for (; text.startsWith(char, end); n += 1) end += char.length;
    at = end;
    const padding = PADDING[char];
    if (padding) {
      const [most, mark, name] = padding;
      if (n <= most) plain += char.repeat(n);
      else hide(`${mark}×${n}`, `${n} ${name} in a row, padding`, `${n} ${name}`);
      // What follows is still on another line.
      if (n > most && char === '\n') plain += char;
    } else if (kind && prose && ordinaryInProse(code) && n <= MAX_BLANKS) plain += char.repeat(n);
    else if (kind && n > MAX_REPEATS) hide(`${escapeOf(code)}×${n}`, nameOf(code, kind));
    else if (kind) for (let i = 0; i < n; i += 1) hide(escapeOf(code), nameOf(code, kind));
  }
  if (plain) out.push({ text: plain });
  return out;
}

/** The same as one string, for places that take no markup: titles, labels, markdown source. */
export function plainly(text: string, prose = false): string {
  return segments(text, prose).map((it) => it.text).join('');
}

/** What was hidden in the text, each named once, for the warning beside it. */
export function hiddenIn(...texts: (string | null | undefined)[]): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    for (const segment of segments(text ?? '')) if (segment.hidden) found.add(segment.hidden);
  }
  return [...found];
}

/** Codex wraps what it runs in a shell. Splits that wrapper off, both halves exactly as given. */
export function splitShell(command: string): { wrapper: string; rest: string } {
  const match = /^(?:\/[\w./-]+\/)?(?:ba|z|da|k)?sh\s+-l?c\s+/.exec(command);
  return match ? { wrapper: match[0], rest: command.slice(match[0].length) } : { wrapper: '', rest: command };
}

/** A command for where space is short: without the shell, and without quotes that stand around the whole. What is asked is never shown like this. */
export function shortCommand(command: string): string {
  const { wrapper, rest } = splitShell(command);
  const whole = wrapper ? (/^'([^']*)'$/.exec(rest) ?? /^"([^"\\$`]*)"$/.exec(rest)) : null;
  return whole?.[1] ?? rest;
}

/** The first words of a text on one line, cut at a word, for lists and titles. */
export function firstWords(text: string, limit = 72): string {
  const line = plainly(text, true).replace(/\s+/g, ' ').trim();
  if (line.length <= limit) return line;
  const cut = line.slice(0, limit);
  const space = cut.lastIndexOf(' ');
  return `${cut.slice(0, space > limit / 2 ? space : limit)}…`;
}
