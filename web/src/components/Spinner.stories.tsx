import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { Spinner } from './Icon';

/** Turns while something is on its way; stands still for those who asked for less motion. */
const meta = { component: Spinner, title: 'Text/Spinner', args: { class: '' } } satisfies Meta<typeof Spinner>;
export default meta;

export const Turning: StoryObj<typeof meta> = {};
