import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { OPAQUE, SEGMENTS } from '../stories/data';
import { ALL, BIDI, INVISIBLE, ran } from '../stories/hostile';
import { CommandReading } from './CommandReading';

/** What a command line would run, as Pilothouse reads it: each simple command with its words, what it does, and why a person is asked. */
const meta = { component: CommandReading, title: 'Asks/CommandReading', args: { verdict: 'ask', segments: SEGMENTS } } satisfies Meta<typeof CommandReading>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Several: Story = {
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getByText('4 commands, of which 3 do more than read')).toBeVisible();
    await expect(within(canvasElement).getByText('target dir')).toBeVisible();
    await expect(within(canvasElement).getByText('empty')).toBeVisible();
  },
};
export const One: Story = { args: { segments: SEGMENTS.slice(1, 2) } };
export const OnlyReads: Story = {
  args: { verdict: 'safe', segments: SEGMENTS.slice(0, 1) },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText('reads only')).toBeVisible(); },
};
/** What was not understood is shown as it stands. */
export const NotUnderstood: Story = {
  args: { segments: OPAQUE },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getByText('not understood')).toBeVisible();
    await expect(within(canvasElement).getByText('eval "$(cat setup.sh)"')).toBeVisible();
  },
};
export const Long: Story = { args: { segments: Array.from({ length: 64 }, (_, i) => ({ argv: ['./run', `--with-a-long-option=${'x'.repeat(i * 3)}`, String(i)], text: '', verdict: 'ask' as const, class: 'not understood', reason: 'run is not a program that is known, and what it does can’t be told from its words' })) } };
export const Hostile: Story = {
  args: { segments: [{ argv: [BIDI, INVISIBLE, ALL, `a${' '.repeat(4_000)}b`], text: ALL, verdict: 'ask', class: 'writes', reason: ALL }] },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.textContent).toContain('4000 spaces');
    await expect(canvasElement.textContent).not.toMatch(/[\u202e\u200b\u001b]/);
    await expect(canvasElement.querySelector('script, img, iframe')).toBeNull();
    await expect(ran()).toBe(false);
  },
};
