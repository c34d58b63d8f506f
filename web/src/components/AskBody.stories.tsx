import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { DIFF, HOSTILE, SUBJECTS } from '../stories/data';
import { BIDI, INVISIBLE, ran } from '../stories/hostile';
import type { Subject } from '../lib/types';
import { AskBody } from './AskBody';

/** What exactly an ask is about, by its kind. Nothing is left out and nothing invisible stays so. */
const meta = { component: AskBody, title: 'Asks/AskBody', args: { subject: SUBJECTS.command } } satisfies Meta<typeof AskBody>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Command: Story = {};
export const Network: Story = { args: { subject: SUBJECTS.network } };
export const TypedIntoTerminal: Story = { args: { subject: SUBJECTS.stdin } };
export const FileChange: Story = { args: { subject: SUBJECTS.fileChange } };
export const FileDeletedAndMoved: Story = { args: { subject: { type: 'fileChange', changes: [{ path: 'src/old.rs', kind: 'delete', diff: 'fn old() {}\n' }, { path: 'src/a.rs', kind: 'update', movePath: 'src/b.rs', diff: DIFF }] } } };
export const GrantOfDirectory: Story = { args: { subject: SUBJECTS.grant } };
export const Permissions: Story = { args: { subject: SUBJECTS.permissions } };
export const Question: Story = { args: { subject: SUBJECTS.question } };
export const Form: Story = { args: { subject: SUBJECTS.form } };
export const Tool: Story = { args: { subject: SUBJECTS.tool } };
export const ToolWithoutArguments: Story = { args: { subject: { ...SUBJECTS.tool, params: {} } } };
export const ToolWithOddArguments: Story = { args: { subject: { ...SUBJECTS.tool, params: ['not', 'an', 'object'] } } };

/** Another client wants the session. The name is one that it gave itself. */
export const Adoption: Story = {
  args: { subject: { type: 'adoption', caller: `caller_${INVISIBLE}`, client: BIDI } as unknown as Subject },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getByText(/It chose that name itself/)).toBeVisible();
    await expect(within(canvasElement).getByTestId('hidden-warning')).toBeVisible();
  },
};

/** A page is opened only by a click, in a window that knows nothing of this one. */
export const Url: Story = {
  args: { subject: SUBJECTS.url },
  play: async ({ canvasElement }) => {
    const canvas = within(canvasElement);
    await expect(canvas.getByTestId('url-host')).toHaveTextContent(/^issues\.example$/);
    const link = canvas.getByRole('link', { name: 'Open the page' });
    await expect(link).toHaveAttribute('rel', 'noopener noreferrer');
    await expect(link).toHaveAttribute('target', '_blank');
  },
};

export const UrlThatIsNone: Story = {
  args: { subject: HOSTILE['url'] as Subject },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).queryByRole('link')).toBeNull();
    await expect(within(canvasElement).getByText(/This is not a web address/)).toBeVisible();
    await expect(ran()).toBe(false);
  },
};

export const UrlThatLooksLikeAnother: Story = {
  args: { subject: HOSTILE['lookalike'] as Subject },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getByText(/Look at the address twice/)).toBeVisible();
    await expect(within(canvasElement).getByText('This page is not encrypted.')).toBeVisible();
  },
};

/** A kind that the console does not know yet is shown as it came. */
export const Unknown: Story = { args: { subject: { type: 'telepathy', thought: 42 } as unknown as Subject } };

const harmless: Story['play'] = async ({ canvasElement }) => {
  await expect(within(canvasElement).getAllByTestId('hidden-warning')[0]).toBeVisible();
  await expect(canvasElement.querySelector('script, img, iframe')).toBeNull();
  await expect(ran()).toBe(false);
};
export const HostileCommand: Story = { args: { subject: HOSTILE['command'] as Subject }, play: harmless };
export const HostileFileChange: Story = { args: { subject: HOSTILE['fileChange'] as Subject }, play: harmless };
export const HostileTool: Story = { args: { subject: HOSTILE['tool'] as Subject }, play: harmless };
