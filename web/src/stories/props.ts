/** What the docs say of each component's properties. A type that changes, or docs that tell another, fails the stories' tests until it is recorded here. */

export const PROPS: Record<string, Record<string, string>> = {
  AnswerView: {
    subject: 'Subject',
    answer: 'Json',
  },
  AskBody: {
    subject: 'Subject',
    'verdict?': '"ask" | "safe"',
    'segments?': 'Segment[]',
    'ofProgram?': 'boolean',
    'past?': 'boolean',
  },
  AskCard: {
    ask: 'AskView',
    'sessionTitle?': 'string',
    'submission?': 'Submission | undefined',
    'atItem?': 'boolean',
    canAnswer: 'boolean',
    onAnswer: '(answer: Answer) => void',
  },
  Changes: {
    changes: 'FileChange[]',
    'closed?': 'boolean',
  },
  CommandReading: {
    verdict: '"ask" | "safe"',
    segments: 'Segment[]',
  },
  CommandRun: {
    row: 'RunRow',
    'ask?': 'AskView',
  },
  CommandText: {
    command: 'string',
  },
  Composer: {
    busy: 'boolean',
    'closed?': 'string',
    onSend: '(prompt: string, images: string[], whenBusy?: "queue" | "steer" | undefined) => Promise<void>',
    onInterrupt: '() => Promise<void>',
  },
  End: {
    'missing?': 'boolean',
  },
  FileDiff: {
    change: 'FileChange',
    'closed?': 'boolean',
  },
  HiddenWarning: {
    texts: '(null | string | undefined)[]',
  },
  Icon: {
    name: '"agent" | "check" | "chevron" | "clock" | "close" | "dot" | "file" | "form" | "globe" | "image" | "inbox" | "key" | "list" | "menu" | "plus" | "question" | "send" | "spark" | "stop" | "swap" | "terminal" | "tool" | "warn"',
    'class?': 'string',
  },
  InboxView: {
    asks: 'AskView[]',
    sessions: 'Record<string, SessionView>',
    submissions: 'Record<string, Submission>',
    canAnswer: 'boolean',
    loaded: 'boolean',
    onAnswer: '(requestId: string, answer: Answer) => void',
  },
  ItemView: {
    row: 'ItemRow',
    asking: 'boolean',
    onReadBlob: '(digest: string) => Promise<string>',
  },
  JsonBlock: {
    value: 'unknown',
    label: 'string',
  },
  Line: {
    icon: '"agent" | "check" | "chevron" | "clock" | "close" | "dot" | "file" | "form" | "globe" | "image" | "inbox" | "key" | "list" | "menu" | "plus" | "question" | "send" | "spark" | "stop" | "swap" | "terminal" | "tool" | "warn"',
    'row?': 'ItemRow',
    title: 'Element',
    'status?': 'Element',
    'tone?': '"bad" | "warn"',
    'waiting?': 'boolean',
    'running?': 'boolean',
    'children?': 'Element',
  },
  LoggedOut: {
    refused: 'boolean',
  },
  Markdown: {
    text: 'string',
    'live?': 'boolean',
  },
  McpForm: {
    schema: 'JsonObject',
    'disabled?': 'boolean',
    onSubmit: '(content: JsonObject) => void',
    children: 'Element',
  },
  NewSession: {
    directories: 'string[]',
    models: 'string[]',
    onCreate: '(session: NewSession) => Promise<void>',
  },
  NotLive: {
    lost: 'boolean',
    'retryAt?': 'number',
    'trouble?': 'string',
    onRetry: '() => void',
  },
  OpenPage: {
    url: 'string',
    'past?': 'boolean',
  },
  Output: {
    text: 'string',
    'label?': 'string',
  },
  Picture: {
    image: 'Blob | string',
    onReadBlob: '(digest: string) => Promise<string>',
  },
  QuestionForm: {
    questions: 'Question[]',
    'disabled?': 'boolean',
    onSubmit: '(choices: Choices) => void',
    children: 'Element',
  },
  SessionPage: {
    session: 'SessionView',
    log: 'SessionLog',
    asks: 'Record<string, AskView>',
    submissions: 'Record<string, Submission>',
    canAnswer: 'boolean',
    'trouble?': 'string',
    onAnswer: '(requestId: string, answer: Answer) => void',
    onReadBlob: '(digest: string) => Promise<string>',
    onSend: '(prompt: string, images: string[], whenBusy?: "queue" | "steer" | undefined) => Promise<void>',
    onInterrupt: '() => Promise<void>',
    onFork: '() => Promise<void>',
    onCancel: '() => Promise<void>',
    onEarlier: '() => Promise<void>',
  },
  Sidebar: {
    sessions: 'SessionView[]',
    pending: 'number',
    route: 'Route',
    'onOlder?': '() => void',
    'onNotices?': '() => void',
    'me?': '{ node?: string | undefined; version: string; }',
  },
  Spinner: {
    'class?': 'string',
  },
  StatusDot: {
    status: '"cancelled" | "error" | "idle" | "running" | "waiting_approval"',
  },
  Timeline: {
    log: 'SessionLog',
    asks: 'Record<string, AskView>',
    submissions: 'Record<string, Submission>',
    canAnswer: 'boolean',
    onAnswer: '(requestId: string, answer: Answer) => void',
    onReadBlob: '(digest: string) => Promise<string>',
  },
  Visible: {
    text: 'string',
    'prose?': 'boolean',
    'class?': 'string',
  },
  Words: {
    words: 'string[]',
  },
};
