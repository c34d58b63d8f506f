import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { Changed } from './Changed';

/** The type of `count` was a number when it was recorded. */
const meta = { component: Changed, title: 'Planted/Changed', args: { count: '4' } } satisfies Meta<typeof Changed>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Type: Story = {};
