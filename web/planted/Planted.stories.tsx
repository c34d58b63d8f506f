import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { Planted } from './Planted';

/** Stories with one fault each; `planted.test.mjs` sees them fail. */
const meta = {
  component: Planted,
  title: 'Planted/Planted',
  args: { label: 'Attempts', color: '#111', labelled: true, count: 4 },
} satisfies Meta<typeof Planted>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Sound: Story = {};
export const Contrast: Story = { args: { color: '#ccc' } };
export const Label: Story = { args: { labelled: false } };
/** The docs tell another type than the component has. */
export const Docs: Story = { argTypes: { count: { table: { type: { summary: 'string' } } } } };
