import { expect, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { DIFF, HOSTILE, OPAQUE, SEGMENTS, SUBJECTS } from '../stories/data';
import { BIDI, INVISIBLE, ran } from '../stories/hostile';
import type { Subject } from '../lib/types';
import { AskBody } from './AskBody';

/** What exactly an ask is about, by its kind. Nothing is left out and nothing invisible stays so. */
const meta = { component: AskBody, title: 'Asks/AskBody', args: { subject: SUBJECTS.command, verdict: null, segments: null, ofProgram: false, past: false } } satisfies Meta<typeof AskBody>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Command: Story = {};
/** What Pilothouse reads from the line stands beneath it. */
export const CommandRead: Story = {
  args: { subject: SUBJECTS.line, verdict: 'ask', segments: SEGMENTS },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByLabelText('What it would run')).toBeVisible(); },
};
export const CommandThatOnlyReads: Story = { args: { subject: { ...SUBJECTS.command, command: 'git status --short' }, verdict: 'safe', segments: SEGMENTS.slice(0, 1) } };
export const CommandNotUnderstood: Story = { args: { subject: { ...SUBJECTS.command, command: `/bin/bash -lc '${OPAQUE[0]?.text}'` }, verdict: 'ask', segments: OPAQUE } };
/** A program and its words, which no shell will see. */
export const Words: Story = {
  args: { subject: SUBJECTS.argv, verdict: 'ask', segments: [{ argv: SUBJECTS.argv.argv, text: '', verdict: 'ask', class: 'writes', reason: 'touch writes files' }], ofProgram: true },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText(/Runs without a shell/)).toBeVisible(); },
};
export const Network: Story = { args: { subject: SUBJECTS.network } };
export const TypedIntoTerminal: Story = { args: { subject: SUBJECTS.stdin } };
export const FileChange: Story = { args: { subject: SUBJECTS.fileChange } };
export const FileDeletedAndMoved: Story = { args: { subject: { type: 'fileChange', changes: [{ path: 'src/old.rs', kind: 'delete', diff: 'fn old() {}\n' }, { path: 'src/a.rs', kind: 'update', movePath: 'src/b.rs', diff: DIFF }] } } };
export const GrantOfDirectory: Story = { args: { subject: SUBJECTS.grant } };
export const Permissions: Story = { args: { subject: SUBJECTS.permissions } };
export const Question: Story = { args: { subject: SUBJECTS.question } };
export const FormOfProgram: Story = { args: { subject: { ...SUBJECTS.form, server: 'Some Editor' }, ofProgram: true }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText(/from the program/)).toBeVisible(); } };
export const Form: Story = { args: { subject: SUBJECTS.form } };
export const Tool: Story = { args: { subject: SUBJECTS.tool } };
export const ToolWithoutArguments: Story = { args: { subject: { ...SUBJECTS.tool, params: {} } } };
export const ToolWithOddArguments: Story = { args: { subject: { ...SUBJECTS.tool, params: ['not', 'an', 'object'] } } };

/** Another client wants the session. The name is one that it gave itself. */
export const Adoption: Story = {
  args: { subject: { type: 'adoption', caller: `caller_${INVISIBLE}`, client: BIDI } },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getByText(/It chose that name itself/)).toBeVisible();
    await expect(within(canvasElement).getByTestId('hidden-warning')).toBeVisible();
  },
};

export const Url: Story = { args: { subject: SUBJECTS.url }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByRole('link', { name: 'Open the page' })).toBeVisible(); } };
export const UrlOfThePast: Story = { args: { subject: SUBJECTS.url, past: true }, play: async ({ canvasElement }) => { await expect(within(canvasElement).queryByRole('link')).toBeNull(); } };
export const UrlThatIsNone: Story = {
  args: { subject: HOSTILE['url'] as Subject },
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).queryByRole('link')).toBeNull();
    await expect(ran()).toBe(false);
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
/** Four thousand spaces, an escape sequence and marks that turn the direction leave the whole command in sight. */
export const PaddedCommand: Story = {
  args: { subject: HOSTILE['padded'] as Subject },
  play: async ({ canvasElement }) => {
    const shown = within(canvasElement).getByLabelText('Command');
    await expect(shown.textContent).toContain('ls4000 spaces; \\e[8mrm -rf ~\\e[0m\\u{200B} # \\u{202E}dliub\\u{202C}');
    await expect(within(shown).getByText('4000 spaces')).toHaveAttribute('title', '4000 spaces in a row, padding');
    await expect(shown.scrollHeight).toBeLessThanOrEqual(shown.clientHeight);
    await expect(within(canvasElement).getByTestId('hidden-warning')).toHaveTextContent('4000 spaces in a row, padding');
  },
};
export const HostileWords: Story = { args: { subject: HOSTILE['argv'] as Subject }, play: harmless };
export const HostileFileChange: Story = { args: { subject: HOSTILE['fileChange'] as Subject }, play: harmless };
export const HostileTool: Story = { args: { subject: HOSTILE['tool'] as Subject }, play: harmless };
