import { expect, fn, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { calledOnce } from '../stories/play';
import { NotLive } from './NotLive';

/** Says so when what is shown may be old. */
const meta = { component: NotLive, title: 'Pages/NotLive', args: { lost: true, retryAt: undefined, trouble: undefined, onRetry: fn() } } satisfies Meta<typeof NotLive>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Lost: Story = {
  play: async ({ canvasElement, args }) => {
    await expect(within(canvasElement).getByRole('status')).toHaveTextContent('what you see may be old');
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Try now' }));
    await calledOnce(args.onRetry);
  },
};
export const TriesAgain: Story = { args: { retryAt: Date.now() + 3_600_000 }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByRole('status')).toHaveTextContent(/Trying again in \d+s\./); } };
export const Trouble: Story = { args: { lost: false, trouble: 'Pilothouse could not read its store. Look at `pilothouse doctor`.' } };
export const Live: Story = { args: { lost: false }, play: async ({ canvasElement }) => { await expect(within(canvasElement).queryByRole('status')).toBeNull(); } };
