import { expect, fn, userEvent, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { ago, command, DIFF, item, MARKDOWN, OUTPUT } from '../stories/data';
import { ALL, ANSI, BIDI, LINK, ran, SCRIPT } from '../stories/hostile';
import { calledOnce } from '../stories/play';
import { ItemView } from './ItemView';

/** One item of a turn, by its kind, from its start to its end. What has no picture of its own is shown as JSON. */
const meta = {
  component: ItemView,
  title: 'Session/ItemView',
  args: { row: command(), asking: false, onReadBlob: fn(async () => OUTPUT) },
} satisfies Meta<typeof ItemView>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Command: Story = {};
export const CommandRunning: Story = { args: { row: command({ status: 'inProgress', aggregatedOutput: null, exitCode: null, durationMs: null }, { state: 'open', at: ago(75), live: { output: '   Compiling uploader v0.3.1\n' } }) } };
export const CommandThatAsks: Story = { args: { asking: true, row: command({ status: 'inProgress', aggregatedOutput: null, exitCode: null }, { state: 'open' }) } };
export const CommandWithExit101: Story = { args: { row: command({ status: 'failed', exitCode: 101 }) }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText('exit 101')).toBeVisible(); } };
export const CommandFailed: Story = { args: { row: command({ status: 'failed', exitCode: null, aggregatedOutput: null }) } };
export const CommandDeclined: Story = { args: { row: command({ status: 'declined', exitCode: null, aggregatedOutput: null, durationMs: null }) } };
export const CommandUnfinished: Story = { args: { row: command({ status: 'inProgress', exitCode: null, aggregatedOutput: null, durationMs: null }, { state: 'abandoned', live: { output: 'running 2 tests\n' } }) } };
export const CommandOfPerson: Story = { args: { row: command({ source: 'userShell', command: 'git status --short', aggregatedOutput: ' M src/upload.rs\n' }) } };
export const CommandOfSubAgent: Story = { args: { row: command({}, { agent: { threadId: '01a22d0e-ea2d-7292', path: '/home/dev/helper' } }) } };

/** Long output is folded to its last lines. */
export const CommandWithLongOutput: Story = {
  args: { row: command({ aggregatedOutput: Array.from({ length: 400 }, (_, i) => `test number_${i} ... ok`).join('\n') }) },
  play: async ({ canvasElement }) => {
    const output = within(canvasElement).getByLabelText('Output');
    await expect(output).not.toHaveTextContent('number_0 ');
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Show 386 earlier lines' }));
    await expect(output).toHaveTextContent('number_0 ');
  },
};

const blob = { $blob: 'sha256:77ad', bytes: 3_400_000, head: 'the beginning\n', tail: 'the end\n' };
/** What was too long for the log is read when it is asked for. */
export const CommandWithOutputKeptElsewhere: Story = {
  args: { row: command({ aggregatedOutput: blob }) },
  play: async ({ canvasElement, args }) => {
    await userEvent.click(within(canvasElement).getByRole('button', { name: 'Read the whole output (3.4M bytes)' }));
    await calledOnce(args.onReadBlob, 'sha256:77ad');
    await expect(await within(canvasElement).findByText(/gives_up_in_the_end/)).toBeVisible();
    await expect(within(canvasElement).queryByRole('button', { name: /^Read the whole/ })).toBeNull();
  },
};
export const CommandWithOutputThatIsGone: Story = {
  args: { row: command({ aggregatedOutput: blob }), onReadBlob: fn(() => Promise.reject(new Error('Pilothouse could not find the whole text.'))) },
  play: async ({ canvasElement }) => {
    await userEvent.click(within(canvasElement).getByRole('button', { name: /^Read the whole/ }));
    await expect(await within(canvasElement).findByText('Pilothouse could not find the whole text.')).toBeVisible();
  },
};

const changes = [{ path: 'src/upload.rs', kind: { type: 'update', move_path: null }, diff: DIFF }];
export const FileChange: Story = { args: { row: item('fileChange', { status: 'completed', changes }) } };
export const FileChangeThatAsks: Story = { args: { asking: true, row: item('fileChange', { status: 'inProgress', changes }, { state: 'open' }) } };
export const FileChangeDeclined: Story = { args: { row: item('fileChange', { status: 'declined', changes }) } };
export const ManyFiles: Story = { args: { row: item('fileChange', { status: 'completed', changes: Array.from({ length: 6 }, (_, i) => ({ path: `src/part${i}.rs`, kind: { type: 'add' }, diff: 'fn part() {}\n' })) }) } };

export const Message: Story = { args: { row: item('agentMessage', { text: MARKDOWN }) } };
export const MessageBegins: Story = { args: { row: item('agentMessage', { text: '' }, { state: 'open' }) } };
export const MessageStreams: Story = { args: { row: item('agentMessage', { text: '' }, { state: 'open', live: { text: 'The upload gave up at the **first** time' } }) } };
export const MessageEmpty: Story = { args: { row: item('agentMessage', { text: '' }) } };
export const MessageUnfinished: Story = { args: { row: item('agentMessage', { text: '' }, { state: 'abandoned', live: { text: 'The upload gave' } }) } };
export const MessageWithQuestions: Story = { args: { row: item('agentMessage', { text: 'Four attempts or five? I go on with four.', questions: [{ id: 'n' }], delivery: 'async' }) } };
export const MessageLong: Story = { args: { row: item('agentMessage', { text: `${MARKDOWN}\n\n`.repeat(20) }) } };
export const MessageOfPerson: Story = { args: { row: item('userMessage', { content: [{ type: 'text', text: 'Make them try again.', text_elements: [] }] }) } };

export const Reasoning: Story = {
  args: { row: item('reasoning', { summary: ['**Looking for the timeout**\n\nIt must be in the client.'], content: [] }) },
  play: async ({ canvasElement }) => {
    await userEvent.click(within(canvasElement).getByText('Looking for the timeout It must be in the client.'));
    await expect(within(canvasElement).getByText('It must be in the client.')).toBeVisible();
  },
};
export const ReasoningBegins: Story = { args: { row: item('reasoning', { summary: [], content: [] }, { state: 'open' }) } };
/** Reasoning that was kept secret leaves no trace. */
export const ReasoningEmpty: Story = { args: { row: item('reasoning', { summary: [], content: [] }) }, play: async ({ canvasElement }) => { await expect(canvasElement).toHaveTextContent(/^$/); } };

const call = { server: 'issues', tool: 'create_issue', arguments: { title: 'Uploads time out', labels: ['bug'] }, durationMs: 1_500 };
export const ToolCall: Story = {
  args: { row: item('mcpToolCall', { ...call, status: 'completed', result: { content: [{ type: 'text', text: 'created #41' }, { type: 'resource_link', uri: 'issue://41' }], structuredContent: { number: 41 } }, error: null }) },
  play: async ({ canvasElement }) => {
    await userEvent.click(within(canvasElement).getByText('Arguments and result'));
    await expect(within(canvasElement).getAllByLabelText('Result')[0]).toHaveTextContent('created #41');
    await expect(within(canvasElement).getByLabelText('Structured result')).toHaveTextContent('"number": 41');
  },
};
export const ToolCallRunning: Story = { args: { row: item('mcpToolCall', { ...call, status: 'inProgress', result: null, error: null, durationMs: null }, { state: 'open', at: ago(12) }) } };
export const ToolCallFailed: Story = { args: { row: item('mcpToolCall', { ...call, status: 'failed', result: null, error: { message: 'the server closed the connection' } }) } };
export const ToolOfClient: Story = { args: { row: item('dynamicToolCall', { namespace: null, tool: 'lookup_ticket', arguments: { id: 'T-2' }, status: 'failed', contentItems: [{ type: 'inputText', text: 'no such ticket' }], success: false, durationMs: 1 }) } };

const search = (action: Record<string, unknown>, open = false) => item('webSearch', { query: 'exponential backoff', action }, open ? { state: 'open' } : {});
export const WebSearchBegins: Story = { args: { row: item('webSearch', { query: '', action: null }, { state: 'open' }) }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText('Searching the web')).toBeVisible(); } };
export const WebSearch: Story = { args: { row: search({ type: 'search', query: 'exponential backoff', queries: ['exponential backoff', 'retry jitter'] }) } };
export const WebPageOpened: Story = { args: { row: search({ type: 'openPage', url: 'https://example.org/retries' }) } };
export const WebPageSearched: Story = { args: { row: search({ type: 'findInPage', url: 'https://example.org/retries', pattern: 'jitter' }, true) } };

export const ProposedPlan: Story = { args: { row: item('plan', { text: '# Plan\n1. Find the timeout\n2. Retry\n' }) } };
export const PictureSeen: Story = { args: { row: item('imageView', { path: '/home/dev/project/graph.png' }) } };
export const PictureMade: Story = { args: { row: item('imageGeneration', { status: 'completed', result: '' }) } };
export const Slept: Story = { args: { row: item('sleep', { durationMs: 95_000 }) } };
export const ContextShortened: Story = { args: { row: item('contextCompaction') } };
export const ContextBeingShortened: Story = { args: { row: item('contextCompaction', {}, { state: 'open' }) } };
export const ReviewBegins: Story = { args: { row: item('enteredReviewMode', { review: 'the last commit' }) } };
export const Review: Story = { args: { row: item('exitedReviewMode', { review: 'There is a bug\n\nReview comment:\n\n- Bug here — /home/dev/project/src/upload.rs:12-12' }) } };
export const SubAgent: Story = { args: { row: item('subAgentActivity', { kind: 'started', agentThreadId: '01a22d0e-ea2d-7292', agentPath: '/home/dev/helper' }) } };
export const Unknown: Story = { args: { row: item('collabAgentToolCall', { tool: 'wait', status: 'completed', receiverThreadIds: [], agentsStates: {} }) } };

const harmless: Story['play'] = async ({ canvasElement }) => {
  for (const it of canvasElement.querySelectorAll('details')) it.open = true;
  await expect(canvasElement.querySelector('script, img, iframe, [onerror], a[href^="javascript"]')).toBeNull();
  await expect(canvasElement.textContent).not.toContain('\u202e');
  await expect(ran()).toBe(false);
};
export const HostileCommand: Story = { args: { row: command({ command: BIDI, aggregatedOutput: `${ANSI}${SCRIPT}` }) }, play: harmless };
export const HostileMessage: Story = { args: { row: item('agentMessage', { text: `${ALL}\n\n${LINK}\n\n<form action="https://evil.example"><input name="password"></form>` }) }, play: harmless };
export const HostileTool: Story = { args: { row: item('mcpToolCall', { server: BIDI, tool: ALL, arguments: { [ALL]: ALL }, status: 'failed', result: { content: [{ type: 'text', text: ALL }] }, error: { message: ALL } }) }, play: harmless };
export const HostileSearch: Story = { args: { row: item('webSearch', { query: ALL, action: { type: 'search', query: ALL } }) }, play: harmless };
export const HostileUnknown: Story = { args: { row: item(SCRIPT, { text: ALL }) }, play: harmless };

/** A megabyte in one line. */
export const HostileLine: Story = { args: { row: command({ aggregatedOutput: `${'\u202ex'.repeat(20_000)}${'x'.repeat(1_000_000)}` }) }, play: harmless, parameters: { docs: { disable: true } }, tags: ['!autodocs'] };
