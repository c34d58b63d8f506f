/** The flat JSON Schema that MCP forms may use: read into fields, checked as typed, turned into content. */

import type { Json, JsonObject } from './types';

export interface Choice {
  value: string;
  title: string;
}

interface Base {
  name: string;
  title: string;
  description?: string;
  required: boolean;
}

export type TextFormat = 'email' | 'uri' | 'date' | 'date-time';

export type Field =
  | (Base & { kind: 'string'; format?: TextFormat; minLength?: number; maxLength?: number; pattern?: string; default?: string })
  | (Base & { kind: 'number'; integer: boolean; minimum?: number; maximum?: number; default?: number })
  | (Base & { kind: 'boolean'; default?: boolean })
  | (Base & { kind: 'select'; choices: Choice[]; default?: string })
  | (Base & { kind: 'multi'; choices: Choice[]; minItems?: number; maxItems?: number; default?: string[] })
  | (Base & { kind: 'unknown' });

/** What the inputs hold: text for text and numbers, a list for multi-select, undefined where nothing was touched. */
export type Raw = Record<string, string | boolean | string[] | undefined>;

const FORMATS: readonly string[] = ['email', 'uri', 'date', 'date-time'];

const str = (value: Json | undefined) => (typeof value === 'string' ? value : undefined);
const num = (value: Json | undefined) => (typeof value === 'number' ? value : undefined);
const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export function parseForm(schema: JsonObject): Field[] {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  return Object.entries(properties).map(([name, property]) => parseField(name, isObject(property) ? property : {}, required.has(name)));
}

function parseField(name: string, property: JsonObject, required: boolean): Field {
  const base: Base = { name, title: str(property['title']) ?? name, required };
  const description = str(property['description']);
  if (description !== undefined) base.description = description;
  const choices = choicesOf(property);
  const preset = property['default'];
  switch (property['type']) {
    case 'boolean':
      return { ...base, kind: 'boolean', ...given('default', typeof preset === 'boolean' ? preset : undefined) };
    case 'number':
    case 'integer':
      return {
        ...base, kind: 'number', integer: property['type'] === 'integer',
        ...given('minimum', num(property['minimum'])), ...given('maximum', num(property['maximum'])), ...given('default', num(preset)),
      };
    case 'array': {
      const items = isObject(property['items']) ? choicesOf(property['items']) : undefined;
      if (!items) return { ...base, kind: 'unknown' };
      const chosen = Array.isArray(preset) ? preset.filter((it): it is string => typeof it === 'string') : undefined;
      return {
        ...base, kind: 'multi', choices: items,
        ...given('minItems', num(property['minItems'])), ...given('maxItems', num(property['maxItems'])), ...given('default', chosen),
      };
    }
    case 'string':
    case undefined: {
      if (choices) return { ...base, kind: 'select', choices, ...given('default', str(preset)) };
      if (property['type'] === undefined) return { ...base, kind: 'unknown' };
      const format = str(property['format']);
      return {
        ...base, kind: 'string',
        ...given('format', format && FORMATS.includes(format) ? (format as TextFormat) : undefined),
        ...given('minLength', num(property['minLength'])), ...given('maxLength', num(property['maxLength'])),
        ...given('pattern', str(property['pattern'])), ...given('default', str(preset)),
      };
    }
    default:
      return { ...base, kind: 'unknown' };
  }
}

/** Enums come in four spellings: bare values, values with `enumNames`, and titled constants in oneOf or anyOf. */
function choicesOf(property: JsonObject): Choice[] | undefined {
  const titled = property['oneOf'] ?? property['anyOf'];
  if (Array.isArray(titled)) {
    const choices = titled.filter(isObject).flatMap((it): Choice[] => {
      const value = str(it['const']);
      return value === undefined ? [] : [{ value, title: str(it['title']) ?? value }];
    });
    return choices.length > 0 ? choices : undefined;
  }
  const values = property['enum'];
  if (!Array.isArray(values)) return undefined;
  const names = Array.isArray(property['enumNames']) ? property['enumNames'] : [];
  return values.filter((it): it is string => typeof it === 'string').map((value, i) => ({ value, title: str(names[i]) ?? value }));
}

function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V });
}

/** What the inputs show before anyone touches them. */
export function initial(fields: Field[]): Raw {
  const res: Raw = {};
  for (const field of fields) {
    if (field.kind === 'unknown') continue;
    if (field.kind === 'multi') res[field.name] = field.default ?? [];
    else if (field.kind === 'boolean') res[field.name] = field.default;
    else if (field.kind === 'number') res[field.name] = field.default === undefined ? '' : String(field.default);
    else if (field.kind === 'string' && field.format === 'date-time') res[field.name] = local(field.default);
    else res[field.name] = field.default ?? '';
  }
  return res;
}

/** An instant as a browser's date-time input has it: in the time zone of who looks. */
function local(text: string | undefined): string {
  const date = new Date(text ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** What a field takes, in words, where its kind alone doesn't say. */
export function hint(field: Field): string | undefined {
  switch (field.kind) {
    case 'string': {
      const length = range(field.minLength, field.maxLength, 'character');
      const pattern = field.pattern === undefined ? undefined : `matching ${field.pattern}`;
      return sentence([length, pattern]);
    }
    case 'number':
      return sentence([field.integer ? 'a whole number' : undefined, range(field.minimum, field.maximum)]);
    case 'multi': {
      const n = range(field.minItems, field.maxItems);
      return sentence([n && `choose ${n}`]);
    }
    case 'boolean':
    case 'select':
    case 'unknown':
      return undefined;
  }
}

function range(least: number | undefined, most: number | undefined, unit?: string): string | undefined {
  const words = (text: string, n: number) => (unit ? `${text} ${unit}${n === 1 ? '' : 's'}` : text);
  if (least !== undefined && most !== undefined) return words(least === most ? `exactly ${least}` : `${least} to ${most}`, most);
  if (least !== undefined && least > 0) return words(`at least ${least}`, least);
  return most === undefined ? (least === undefined || unit ? undefined : `at least ${least}`) : words(`at most ${most}`, most);
}

function sentence(parts: (string | undefined)[]): string | undefined {
  const text = parts.filter(Boolean).join(', ');
  return text === '' ? undefined : `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

/** What is wrong with a value, as a sentence for the person typing, or undefined. */
export function problem(field: Field, raw: Raw[string]): string | undefined {
  switch (field.kind) {
    case 'unknown':
      return field.required ? 'This field is required but of a kind that can’t be filled in here.' : undefined;
    case 'boolean':
      return raw === undefined && field.required ? 'Choose yes or no.' : undefined;
    case 'select': {
      const value = typeof raw === 'string' ? raw : '';
      if (value === '') return field.required ? 'Choose one.' : undefined;
      return field.choices.some((it) => it.value === value) ? undefined : 'Choose one of the list.';
    }
    case 'multi': {
      const n = Array.isArray(raw) ? raw.length : 0;
      const least = Math.max(field.minItems ?? 0, field.required && field.minItems === undefined ? 1 : 0);
      if (n < least && (n > 0 || field.required)) return `Choose at least ${least}.`;
      if (field.maxItems !== undefined && n > field.maxItems) return `Choose at most ${field.maxItems}.`;
      return undefined;
    }
    case 'number':
      return numberProblem(field, typeof raw === 'string' ? raw.trim() : '');
    case 'string':
      return textProblem(field, typeof raw === 'string' ? raw : '');
  }
}

function numberProblem(field: Field & { kind: 'number' }, text: string): string | undefined {
  if (text === '') return field.required ? 'Required.' : undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) return 'This must be a number.';
  if (field.integer && !Number.isInteger(value)) return 'This must be a whole number.';
  if (field.minimum !== undefined && value < field.minimum) return `At least ${field.minimum}.`;
  if (field.maximum !== undefined && value > field.maximum) return `At most ${field.maximum}.`;
  return undefined;
}

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

function textProblem(field: Field & { kind: 'string' }, text: string): string | undefined {
  if (text === '') return field.required ? 'Required.' : undefined;
  const n = [...text].length; // JSON Schema counts code points
  if (field.minLength !== undefined && n < field.minLength) return `At least ${field.minLength} characters; this is ${n}.`;
  if (field.maxLength !== undefined && n > field.maxLength) return `At most ${field.maxLength} characters; this is ${n}.`;
  if (field.format === 'email' && !EMAIL.test(text)) return 'This must be an e-mail address.';
  if (field.format === 'uri' && !URL.canParse(text)) return 'This must be a whole address, like https://example.org/page.';
  if (field.format === 'date' && !isDate(text)) return 'This must be a date, like 2031-05-24.';
  if (field.format === 'date-time' && Number.isNaN(Date.parse(text))) return 'This must be a date and time.';
  if (field.pattern !== undefined && !matches(field.pattern, text)) return `This must match ${field.pattern}`;
  return undefined;
}

function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true; // the server checks again; a pattern we can't read must not lock the form
  }
}

/** What is sent: typed values; optional fields that were left empty are left out. */
export function content(fields: Field[], raw: Raw): JsonObject {
  const res: JsonObject = {};
  for (const field of fields) {
    const value = raw[field.name];
    switch (field.kind) {
      case 'unknown':
        break;
      case 'boolean':
        // What nobody chose is no no.
        if (typeof value === 'boolean') res[field.name] = value;
        break;
      case 'multi':
        if (Array.isArray(value) && (value.length > 0 || field.required)) res[field.name] = value;
        break;
      case 'number':
        if (typeof value === 'string' && value.trim() !== '') res[field.name] = Number(value);
        break;
      case 'select':
        if (typeof value === 'string' && value !== '') res[field.name] = value;
        break;
      case 'string':
        if (typeof value === 'string' && value !== '') res[field.name] = field.format === 'date-time' ? instant(value) : value;
        break;
    }
  }
  return res;
}

/** A browser's date-time input has no zone; what is sent is an instant. */
function instant(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}
