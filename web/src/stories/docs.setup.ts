/** Holds what the docs show of a component's properties against what `props.ts` records, after every story. */

import { configure } from 'storybook/test';
import { afterEach } from 'vitest';
import { PLANTED } from '../../planted/props';
import { PROPS } from './props';

interface ArgType {
  name?: string;
  type?: { required?: boolean };
  table?: { type?: { summary?: string } };
}

type Shown = Record<string, string>;

/** The members of a union in one order: TypeScript's own changes with what else is in the program. */
const canonical = (type: string) => type.replaceAll(/(?:"[^"]*"|[\w.]+)(?: \| (?:"[^"]*"|[\w.]+))+/g, (union) => union.split(' | ').sort().join(' | '));

const literal = (shown: Shown) => JSON.stringify(shown, null, 2).replaceAll(/^ {2}"(\w+)":/gm, '  $1:');

// A busy machine is no fault of a story.
configure({ asyncUtilTimeout: 5000 });

afterEach((context) => {
  const { argTypes } = (context as unknown as { story: { argTypes: Record<string, ArgType> } }).story;
  const { componentName } = context.task.meta as { componentName?: string };
  if (!componentName) throw new Error('A story must name its component, so that its docs can be checked.');
  const shown: Shown = {};
  for (const [name, it] of Object.entries(argTypes)) shown[it.type?.required ? name : `${name}?`] = canonical(it.table?.type?.summary ?? 'unknown');
  const recorded: Shown = PROPS[componentName] ?? PLANTED[componentName] ?? {};
  const wrong = [...new Set([...Object.keys(shown), ...Object.keys(recorded)])].filter((name) => shown[name] !== recorded[name]);
  if (wrong.length === 0) return;
  const lines = wrong.map((name) => `  ${name}: the docs show ${shown[name] ?? 'nothing'}, recorded is ${recorded[name] ?? 'nothing'}`);
  throw new Error(`The docs of ${componentName} differ from src/stories/props.ts:\n${lines.join('\n')}\nIf the change is meant, record it:\n${componentName}: ${literal(shown)}`);
});
