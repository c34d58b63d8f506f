import { describe, expect, it } from 'vitest';
import { content, hint, initial, parseForm, problem, type Field } from './mcpForm';
import type { JsonObject } from './types';

const form = (properties: JsonObject, required: string[] = []) => parseForm({ type: 'object', properties, required });
const one = (property: JsonObject, required = true): Field => {
  const [field] = form({ it: property }, required ? ['it'] : []);
  if (!field) throw new Error('no field');
  return field;
};

describe('reading a schema', () => {
  it('knows every primitive kind, in order', () => {
    const fields = form({
      name: { type: 'string', title: 'Name', description: 'Yours', minLength: 2 },
      age: { type: 'integer', minimum: 0 }, share: { type: 'number' }, agree: { type: 'boolean', default: true },
      bare: { type: 'string', enum: ['a', 'b'] }, named: { type: 'string', enum: ['a', 'b'], enumNames: ['A!', 'B!'] },
      titled: { type: 'string', oneOf: [{ const: 'r', title: 'Red' }, { const: 'g' }] },
      many: { type: 'array', items: { type: 'string', enum: ['x', 'y'] }, minItems: 1 },
      manyTitled: { type: 'array', items: { anyOf: [{ const: 'x', title: 'Ex' }] } }, nested: { type: 'object' },
    }, ['name']);
    expect(fields.map((it) => [it.name, it.kind])).toEqual([
      ['name', 'string'], ['age', 'number'], ['share', 'number'], ['agree', 'boolean'], ['bare', 'select'], ['named', 'select'], ['titled', 'select'], ['many', 'multi'], ['manyTitled', 'multi'], ['nested', 'unknown'],
    ]);
    expect(fields[0]).toMatchObject({ title: 'Name', description: 'Yours', required: true, minLength: 2 });
    expect(fields[5]).toMatchObject({ choices: [{ value: 'a', title: 'A!' }, { value: 'b', title: 'B!' }] });
    expect(fields[6]).toMatchObject({ choices: [{ value: 'r', title: 'Red' }, { value: 'g', title: 'g' }] });
  });

  it('survives a schema that is none', () => {
    expect(parseForm({})).toEqual([]);
    expect(parseForm({ properties: { x: 3 } })).toEqual([{ name: 'x', title: 'x', required: false, kind: 'unknown' }]);
  });
});

describe('checking', () => {
  const cases: [string, JsonObject, string | string[], string | undefined][] = [
    ['required text', { type: 'string' }, '', 'Required.'],
    ['too short, by code points', { type: 'string', minLength: 3 }, '🚢🚢', 'At least 3 characters; this is 2.'],
    ['long enough, by code points', { type: 'string', maxLength: 2 }, '🚢🚢', undefined],
    ['not an address', { type: 'string', format: 'email' }, 'x', 'This must be an e-mail address.'],
    ['a day that is none', { type: 'string', format: 'date' }, '2031-02-30', 'This must be a date, like 2031-05-24.'],
    ['a day', { type: 'string', format: 'date' }, '2031-02-28', undefined],
    ['not a URI', { type: 'string', format: 'uri' }, 'example', 'This must be a whole address, like https://example.org/page.'],
    ['a pattern', { type: 'string', pattern: '^[a-z]+$' }, 'A', 'This must match ^[a-z]+$'],
    ['a broken pattern locks nobody out', { type: 'string', pattern: '(' }, 'A', undefined],
    ['a fraction', { type: 'integer' }, '1.5', 'This must be a whole number.'],
    ['not a number', { type: 'number' }, 'many', 'This must be a number.'],
    ['too large', { type: 'number', maximum: 3 }, '4', 'At most 3.'],
    ['zero is a number', { type: 'number', minimum: 0 }, '0', undefined],
    ['nothing chosen', { type: 'string', enum: ['a'] }, '', 'Choose one.'],
    ['too few chosen', { type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 }, ['a'], 'Choose at least 2.'],
    ['too many chosen', { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 1 }, ['a', 'b'], 'Choose at most 1.'],
  ];
  it.each(cases)('%s', (_, property, value, expected) => expect(problem(one(property), value)).toBe(expected));

  it('optional fields may stay empty', () => {
    const properties: JsonObject[] = [{ type: 'string', minLength: 3 }, { type: 'number' }, { type: 'string', enum: ['a'] }, { type: 'array', items: { enum: ['a'] }, minItems: 1 }];
    for (const property of properties) {
      expect(problem(one(property, false), property.type === 'array' ? [] : '')).toBeUndefined();
    }
  });
});

describe('content', () => {
  const fields = form({
    name: { type: 'string' }, age: { type: 'integer' }, agree: { type: 'boolean' }, maybe: { type: 'boolean' }, pick: { type: 'string', enum: ['a'] }, many: { type: 'array', items: { enum: ['x', 'y'] } }, at: { type: 'string', format: 'date-time' },
  }, ['name', 'agree']);
  it('is typed, and leaves out what was left empty', () => {
    expect(content(fields, { ...initial(fields), name: 'Ada', age: '36', many: ['x'], at: '2031-05-24T10:00:00Z' })).toEqual({ name: 'Ada', age: 36, many: ['x'], at: '2031-05-24T10:00:00.000Z' });
  });
  it('is a no only where somebody said no', () => {
    const [, , agree, maybe] = fields;
    expect(agree && problem(agree, undefined)).toBe('Choose yes or no.');
    expect(agree && problem(agree, false)).toBeUndefined();
    expect(maybe && problem(maybe, undefined)).toBeUndefined();
    expect(content(fields, { ...initial(fields), agree: false })).toEqual({ agree: false });
  });
  it('a preset instant is shown where the clock of who looks has it, and sent as it was', () => {
    const preset = form({ at: { type: 'string', format: 'date-time', default: '2031-05-24T10:00:00+02:00' } });
    expect(initial(preset)['at']).toMatch(/^2031-05-2[34]T\d\d:\d\d:00$/);
    expect(content(preset, initial(preset))).toEqual({ at: '2031-05-24T08:00:00.000Z' });
  });
  it('starts from the defaults', () => {
    const preset = form({ n: { type: 'number', default: 0 }, b: { type: 'boolean', default: true }, s: { type: 'string', enum: ['a', 'b'], default: 'b' }, m: { type: 'array', items: { enum: ['x'] }, default: ['x'] } });
    expect(content(preset, initial(preset))).toEqual({ n: 0, b: true, s: 'b', m: ['x'] });
  });
});

it.each([
  [{ type: 'string', minLength: 5, maxLength: 80 }, '5 to 80 characters.'],
  [{ type: 'string', maxLength: 1 }, 'At most 1 character.'],
  [{ type: 'string', minLength: 0 }, undefined],
  [{ type: 'string', minLength: 3, maxLength: 3, pattern: '^[A-Z]+$' }, 'Exactly 3 characters, matching ^[A-Z]+$.'],
  [{ type: 'integer', minimum: 1, maximum: 5 }, 'A whole number, 1 to 5.'],
  [{ type: 'number', minimum: 0.5 }, 'At least 0.5.'],
  [{ type: 'number', minimum: 0 }, 'At least 0.'],
  [{ type: 'number' }, undefined],
  [{ type: 'array', items: { enum: ['a'] }, minItems: 1, maxItems: 2 }, 'Choose 1 to 2.'],
  [{ type: 'string', enum: ['a'] }, undefined],
] as [JsonObject, string | undefined][])('says what a field takes: %j', (property, expected) => expect(hint(one(property))).toBe(expected));
