import { For } from 'solid-js';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { Icon, type IconName } from './Icon';

/** The few pictures that the console uses, drawn in the text’s colour. They say nothing to a screen reader: words stand beside them. */
const meta = { component: Icon, title: 'Text/Icon', args: { name: 'inbox', class: '' } } satisfies Meta<typeof Icon>;
export default meta;
type Story = StoryObj<typeof meta>;

export const One: Story = {};
const ALL: IconName[] = ['inbox', 'plus', 'menu', 'close', 'chevron', 'terminal', 'file', 'globe', 'tool', 'spark', 'list', 'question', 'form', 'key', 'image', 'warn', 'check', 'stop', 'send', 'agent', 'clock', 'dot'];
export const Every: Story = { render: () => <ul><For each={ALL}>{(name) => <li class="flex items-center gap-2"><Icon name={name} />{name}</li>}</For></ul> };
