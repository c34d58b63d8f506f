import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ALL } from '../stories/hostile';
import { JsonBlock } from './Text';

/** Something that the console has no better picture of. */
const meta = { component: JsonBlock, title: 'Text/JsonBlock', args: { value: { tool: 'wait', receivers: ['01a22d0e'] }, label: 'Arguments' }, argTypes: { value: { control: 'object' } } } satisfies Meta<typeof JsonBlock>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Small: Story = {};
export const Empty: Story = { args: { value: undefined } };
export const Long: Story = { args: { value: Array.from({ length: 200 }, (_, i) => ({ i })) } };
export const Hostile: Story = { args: { value: { [ALL]: ALL } } };
