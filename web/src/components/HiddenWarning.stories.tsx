import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ALL, BIDI, INVISIBLE } from '../stories/hostile';
import { HiddenWarning } from './Text';

/** Stands beside text that holds characters a person can’t see, and is not there otherwise. */
const meta = { component: HiddenWarning, title: 'Text/HiddenWarning', args: { texts: [BIDI] } } satisfies Meta<typeof HiddenWarning>;
export default meta;
type Story = StoryObj<typeof meta>;

export const One: Story = {};
export const Several: Story = { args: { texts: [BIDI, INVISIBLE, ALL] } };
export const None: Story = { args: { texts: ['cargo test', null, undefined] }, play: async ({ canvasElement }) => { await expect(within(canvasElement).queryByTestId('hidden-warning')).toBeNull(); } };
