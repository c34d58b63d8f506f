import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { command } from '../stories/data';
import { Line } from './ItemView';

/** The frame of every item: a picture in the gutter, a line, its status, and more beneath it. */
const meta = {
  component: Line,
  title: 'Session/Line',
  args: { icon: 'terminal', title: 'cargo test', status: 'exit 0', waiting: false },
  argTypes: { title: { control: 'text' }, status: { control: 'text' }, children: { control: 'text' } },
} satisfies Meta<typeof Line>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Plain: Story = {};
export const Open: Story = { args: { row: command({}, { state: 'open' }), status: '12s' } };
export const Waiting: Story = { args: { row: command({}, { state: 'open' }), waiting: true, title: 'Wants to run a command' } };
export const Unfinished: Story = { args: { row: command({}, { state: 'abandoned' }) } };
export const Bad: Story = { args: { tone: 'bad', status: 'failed' } };
export const Warning: Story = { args: { icon: 'warn', tone: 'warn', title: 'Reconnecting… 1/5', children: 'stream disconnected before completion' } };
export const Long: Story = { args: { title: 'cargo test '.repeat(60) } };
