import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ALL, BIDI, INVISIBLE, LONG_WORD, ran } from '../stories/hostile';
import { Visible } from './Text';

/** Text as it is, with everything invisible made visible. */
const meta = { component: Visible, title: 'Text/Visible', args: { text: 'cargo test', prose: false, class: '' } } satisfies Meta<typeof Visible>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Plain: Story = {};
export const Empty: Story = { args: { text: '' } };
/** In prose, line ends and the joiners of other scripts are ordinary. */
export const Prose: Story = { args: { text: 'Two\nlines, and a family: 👨‍👩‍👧', prose: true } };
export const Long: Story = { args: { text: LONG_WORD } };
export const Bidi: Story = { args: { text: BIDI }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText('\\u{202E}')).toBeVisible(); } };
export const Invisible: Story = { args: { text: INVISIBLE } };
export const Hostile: Story = {
  args: { text: ALL },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.querySelector('script, img, iframe')).toBeNull();
    await expect(ran()).toBe(false);
  },
};
