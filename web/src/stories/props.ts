/** What the docs say of each component's properties. A type that changes, or docs that tell another, fails the stories' tests until it is recorded here. */

export const PROPS: Record<string, Record<string, string>> = {
  AskCard: {
    ask: 'AskView',
    'sessionTitle?': 'string',
    'submission?': 'Submission | undefined',
    'atItem?': 'boolean',
    canAnswer: 'boolean',
    onAnswer: '(answer: Answer) => void',
  },
};
