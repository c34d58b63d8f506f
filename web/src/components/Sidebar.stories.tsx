import { expect, fn, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { session, SESSION, SESSIONS } from '../stories/data';
import { ALL, ran } from '../stories/hostile';
import { calledOnce } from '../stories/play';
import { Sidebar } from './Sidebar';

/** Where to go: the inbox with its count, and every session, the latest first. */
const meta = {
  component: Sidebar,
  title: 'Pages/Sidebar',
  args: { sessions: SESSIONS, pending: 1, route: { view: 'inbox' }, me: { node: 'workshop', version: '0.4.0' }, onOlder: undefined, onNotices: undefined },
  parameters: { frame: 'none' },
} satisfies Meta<typeof Sidebar>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Inbox: Story = {
  play: async ({ canvasElement }) => {
    const inbox = within(canvasElement).getByRole('link', { name: /^Inbox/ });
    await expect(inbox).toHaveAttribute('aria-current', 'page');
    await expect(inbox).toHaveAccessibleName('Inbox 1 pending');
  },
};
export const InSession: Story = { args: { route: { view: 'session', sessionId: SESSION }, pending: 0 } };
export const Empty: Story = { args: { sessions: [], pending: 0, me: undefined } };
export const WithMore: Story = {
  args: { onOlder: fn(), onNotices: fn() },
  play: async ({ canvasElement, args }) => {
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Older sessions' }));
    await calledOnce(args.onOlder);
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Notify me when something waits' }));
    await calledOnce(args.onNotices);
  },
};
export const Long: Story = { args: { pending: 123, sessions: Array.from({ length: 80 }, (_, i) => session({ sessionId: `sess_${i}`, title: `Session ${i} with a name that does not fit into the list by far`, cwd: `/home/dev/${'deep/'.repeat(12)}` })) } };
export const Hostile: Story = {
  args: { sessions: [session({ title: ALL, cwd: ALL }), session({ sessionId: 'sess_2', node: ALL })] },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.textContent).not.toContain('\u202e');
    await expect(ran()).toBe(false);
  },
};
