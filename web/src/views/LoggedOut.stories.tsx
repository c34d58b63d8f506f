import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { LoggedOut } from './LoggedOut';

/** Shown to a browser that is not logged in: how to get a link that works. */
const meta = { component: LoggedOut, title: 'Pages/LoggedOut', args: { refused: false }, parameters: { frame: 'none' } } satisfies Meta<typeof LoggedOut>;
export default meta;
type Story = StoryObj<typeof meta>;

export const NeverLoggedIn: Story = {};
export const Refused: Story = { args: { refused: true } };
