import { onCleanup, onMount } from 'solid-js';
import { expect, fn, userEvent, waitFor, within } from 'storybook/test';
import type { Meta, StoryObj } from 'storybook-solidjs-vite';
import { askKeys } from '../lib/keys';
import { ago, ask, ASKED_BY_PROGRAM, HOSTILE, SEGMENTS, session, SESSION, settledAsk, SUBJECTS } from '../stories/data';
import { ALL, ran } from '../stories/hostile';
import { calledOnce } from '../stories/play';
import { InboxView, type InboxViewProps } from './InboxView';

const ASKS = [
  ask(SUBJECTS.command, { requestId: 'req_1', raisedAt: ago(200), digest: 'sha256:0001' }),
  ask(SUBJECTS.question, { requestId: 'req_2', raisedAt: ago(90) }),
  ask(SUBJECTS.fileChange, { requestId: 'req_3', raisedAt: ago(12), digest: 'sha256:0003' }),
];

/** Everything that waits for a person, of every session, the newest on top. */
const meta = {
  component: InboxView,
  title: 'Pages/InboxView',
  args: { asks: ASKS, sessions: { [SESSION]: session() }, submissions: {}, canAnswer: true, loaded: true, onAnswer: fn() },
  globals: { width: 'full' },
} satisfies Meta<typeof InboxView>;
export default meta;
type Story = StoryObj<typeof meta>;

export const Waiting: Story = {
  play: async ({ canvasElement }) => {
    await expect(within(canvasElement).getByRole('status')).toHaveTextContent('3 wait for you');
    await expect(within(canvasElement).getAllByRole('article')[0]).toHaveAccessibleName('Change these files?');
  },
};

/** Each kind once: a command that was read, a choice, a form, a page, and a client that wants the session. */
export const EachKind: Story = {
  args: {
    asks: [
      ask(SUBJECTS.line, { requestId: 'req_1', raisedAt: ago(12), verdict: 'ask', segments: SEGMENTS, reason: 'The old build is in the way.' }),
      ask(SUBJECTS.choice, { ...ASKED_BY_PROGRAM, requestId: 'req_2', raisedAt: ago(60), sessionId: 'sess_2', sessionTitle: 'Some Editor', offers: ASKED_BY_PROGRAM.offers?.slice(1) ?? [] }),
      ask(SUBJECTS.form, { requestId: 'req_3', raisedAt: ago(70) }), ask(SUBJECTS.url, { requestId: 'req_4', raisedAt: ago(80) }), ask(SUBJECTS.adoption, { requestId: 'req_5', raisedAt: ago(90), turn: null }),
    ],
  },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByRole('status')).toHaveTextContent('5 wait for you'); },
};

function WithKeys(props: InboxViewProps) {
  onMount(() => addEventListener('keydown', askKeys));
  onCleanup(() => removeEventListener('keydown', askKeys));
  return <InboxView {...props} />;
}
const ready = (card: HTMLElement | undefined) => waitFor(() => expect(card?.querySelector('[data-decide="accept"]')).not.toHaveAttribute('aria-disabled'), { timeout: 3000 });

/** The first `a` only shows which ask is meant, the second accepts it; `j` goes on, `d` asks for a reason. */
export const ByKeyboard: Story = {
  render: (args) => <WithKeys {...args} />,
  play: async ({ canvasElement, args }) => {
    const cards = within(canvasElement).getAllByRole('article');
    await ready(cards[0]);
    await userEvent.keyboard('a');
    await expect(cards[0]).toHaveFocus();
    await expect(args.onAnswer).not.toHaveBeenCalled();
    await userEvent.keyboard('a');
    await calledOnce(args.onAnswer, 'req_3', { digest: 'sha256:0003', decision: 'accept' });
    await userEvent.keyboard('jj');
    await expect(cards[2]).toHaveFocus();
    await userEvent.keyboard('k');
    await expect(cards[1]).toHaveFocus();
    await userEvent.keyboard('jd');
    const reason = await within(cards[2] as HTMLElement).findByRole('textbox', { name: /Why not/ });
    await waitFor(() => expect(reason).toHaveFocus());
    // Letters in a field are letters.
    await userEvent.keyboard('add j');
    await expect(reason).toHaveValue('add j');
    await waitFor(() => expect(within(canvasElement).getByRole('button', { name: 'Send decline' })).not.toHaveAttribute('aria-disabled'), { timeout: 3000 });
    await userEvent.keyboard('{Enter}');
    await expect(args.onAnswer).toHaveBeenLastCalledWith('req_1', { digest: 'sha256:0001', decision: 'decline', reason: 'add j' });
  },
};

export const Empty: Story = { args: { asks: [] }, play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText('All clear')).toBeVisible(); } };
export const Loading: Story = { args: { asks: [], loaded: false } };
export const ReadOnly: Story = { args: { canAnswer: false } };
export const Submitting: Story = { args: { submissions: { req_3: { phase: 'sending' } } } };
export const Failed: Story = { args: { submissions: { req_3: { phase: 'failed', message: 'Pilothouse could not be reached.', answer: { digest: 'sha256:0003', decision: 'accept' } } } } };

/** What was settled before the page opened is not shown. */
export const SettledBefore: Story = {
  args: { asks: [settledAsk({ how: 'expired' })] },
  play: async ({ canvasElement }) => { await expect(within(canvasElement).getByText('All clear')).toBeVisible(); },
};

export const Long: Story = { args: { asks: Array.from({ length: 40 }, (_, i) => ask(SUBJECTS.command, { requestId: `req_${i}`, raisedAt: ago(i * 60) })) }, tags: ['!autodocs'] };
export const Hostile: Story = {
  args: { sessions: { [SESSION]: session({ title: ALL }) }, asks: Object.values(HOSTILE).map((subject, i) => ask(subject, { requestId: `req_${i}`, reason: ALL, raisedAt: ago(i) })) },
  play: async ({ canvasElement }) => {
    await expect(canvasElement.querySelector('script, img, iframe')).toBeNull();
    await expect(ran()).toBe(false);
  },
};
