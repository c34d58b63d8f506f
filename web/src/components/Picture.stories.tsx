import { expect, fn, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { PICTURE } from '../stories/data';
import { ran } from '../stories/hostile';
import { calledOnce } from '../stories/play';
import { Picture } from './Picture';

/** A picture that goes with a prompt: shown when it is in the log, read on demand when it is kept elsewhere, else named. */
const meta = { component: Picture, title: 'Session/Picture', args: { image: PICTURE, onReadBlob: fn(async () => PICTURE) } } satisfies Meta<typeof Picture>;
export default meta;
type Story = StoryObj<typeof meta>;

const kept = { digest: 'sha256:9c1f', bytes: 2_300_000, head: PICTURE.slice(0, 40), tail: '' };

export const InLog: Story = { play: async ({ canvasElement }) => { await expect(within(canvasElement).getByRole('img', { name: 'Sent with the prompt' })).toBeVisible(); } };
export const KeptElsewhere: Story = {
  args: { image: kept },
  play: async ({ canvasElement, args }) => {
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Show the picture (2.3M bytes)' }));
    await calledOnce(args.onReadBlob, 'sha256:9c1f');
    await expect(await within(canvasElement).findByRole('img')).toBeVisible();
  },
};
export const Gone: Story = {
  args: { image: kept, onReadBlob: fn(() => Promise.reject(new Error('Pilothouse could not find the whole text.'))) },
  play: async ({ canvasElement }) => {
    await userEvent.click(within(canvasElement).getByRole('button'));
    await expect(await within(canvasElement).findByText('Pilothouse could not find the whole text.')).toBeVisible();
  },
};
export const OnTheMachine: Story = { args: { image: '/home/dev/project/graph.png' } };

/** An address would tell others that the prompt is being read, so it is never loaded. */
export const Hostile: Story = {
  args: { image: 'https://evil.example/track.png' },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.querySelector('img')).toBeNull();
    await expect(ran()).toBe(false);
  },
};
export const HostileKind: Story = { args: { image: 'data:text/html,<script>globalThis.pwned=1</script>' }, play: async ({ canvasElement }) => { await expect(canvasElement.querySelector('img, iframe, script')).toBeNull(); } };
