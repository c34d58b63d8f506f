import { expect, it } from 'vitest';

const sources = import.meta.glob<string>(['../components/*.tsx', '../views/*.tsx'], { query: '?raw', import: 'default', eager: true });
const stories = Object.entries(sources).filter(([path]) => path.endsWith('.stories.tsx')).map(([, text]) => text);
const components = Object.entries(sources).filter(([path]) => !path.endsWith('.stories.tsx')).flatMap(([, text]) => [...text.matchAll(/^export function ([A-Z]\w*)/gm)].map((it) => it[1]));

it('each component has stories', () => {
  expect(components.length).toBeGreaterThan(15);
  expect(components.filter((name) => !stories.some((text) => new RegExp(`component: ${name}\\b`).test(text)))).toEqual([]);
});
