import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { StatusDot } from './Sidebar';

/** How a session is, as a dot with words for those who don’t see it. */
const meta = { component: StatusDot, title: 'Pages/StatusDot', args: { status: 'running' } } satisfies Meta<typeof StatusDot>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Running: Story = {};
export const Waiting: Story = { args: { status: 'waiting_approval' }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByRole('img', { name: 'Waits for you' })).toBeVisible(); } };
export const Idle: Story = { args: { status: 'idle' } };
export const Failed: Story = { args: { status: 'error' } };
export const Closed: Story = { args: { status: 'cancelled' } };
