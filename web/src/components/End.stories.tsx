import { expect, waitFor, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { createSeen, SeenContext } from '../lib/seen';
import { End, type EndProps } from './End';

function Page(props: EndProps & { lines: number }) {
  const seen = createSeen();
  return (
    <SeenContext.Provider value={seen}>
      <p>{seen.all() ? 'All of it was in sight.' : 'Not all of it was in sight yet.'}</p>
      <div class="max-h-40 overflow-y-auto rounded-md border border-line" tabindex="0" role="group" aria-label="Text"><p class="whitespace-pre-wrap">{'A text that goes on.\n'.repeat(props.lines)}</p><End missing={props.missing ?? false} /></div>
    </SeenContext.Provider>
  );
}

/** Where a part of what is asked ends. Once this was in sight, answers that reach further than once can be given. */
const meta = { component: End, title: 'Asks/End', args: { missing: false }, render: (args) => <Page {...args} lines={2} /> } satisfies Meta<typeof End>;
export default meta;
type Story = StoryObj<typeof meta>;

const all = (canvas: HTMLElement) => within(canvas).findByText('All of it was in sight.');

export const InSight: Story = { play: async ({ canvasElement }) => { await expect(await all(canvasElement)).toBeVisible(); } };

/** Further down than what is shown: it must be scrolled to. */
export const OutOfSight: Story = {
  render: (args) => <Page {...args} lines={80} />,
  play: async ({ canvasElement }) => {
    const box = within(canvasElement).getByLabelText('Text');
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await expect(within(canvasElement).getByText('Not all of it was in sight yet.')).toBeVisible();
    box.scrollTop = box.scrollHeight;
    await waitFor(() => all(canvasElement));
  },
};

/** Something before it is folded. */
export const Missing: Story = {
  args: { missing: true },
  play: async ({ canvasElement }) => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await expect(within(canvasElement).getByText('Not all of it was in sight yet.')).toBeVisible();
  },
};
