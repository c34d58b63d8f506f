import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { BIDI } from '../stories/hostile';
import { CommandText } from './Text';

/** A command exactly as given; only the shell around it is dimmed. */
const meta = { component: CommandText, title: 'Text/CommandText', args: { command: "/bin/bash -lc 'cargo test -p uploader'" } } satisfies Meta<typeof CommandText>;
export default meta;
type Story = StoryObj<typeof meta>;

export const InShell: Story = { play: async ({ canvasElement, args }) => { await expect(within(canvasElement).getByLabelText('Command').textContent).toBe(args.command); } };
export const Bare: Story = { args: { command: 'cargo test' } };
export const Empty: Story = { args: { command: '' } };
export const Long: Story = { args: { command: 'echo a very long command that goes on && '.repeat(120) } };
export const Hostile: Story = { args: { command: `/bin/bash -lc '${BIDI}\u001b[2K\rls'` } };
