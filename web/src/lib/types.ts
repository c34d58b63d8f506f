/** The JSON that Pilothouse's REST interface and event feed speak, as the console reads it. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export type SessionStatus = 'running' | 'waiting_approval' | 'idle' | 'error' | 'cancelled';
export type TurnStatus = 'requested' | 'started' | 'completed' | 'interrupted' | 'failed' | 'lost';

export interface Me {
  actor: 'human' | 'caller';
  canAnswer: boolean;
  node?: string;
  version: string;
}

export interface SessionView {
  sessionId: string;
  title?: string | null;
  status: SessionStatus;
  createdAt: string;
  lastActiveAt: string;
  model?: string | null;
  approvalPolicy?: string | null;
  sandbox?: string | null;
  effort?: string | null;
  cwd: string;
  threadId?: string | null;
  openedBy?: Actor | null;
  /** Why no agent could be brought the last time. */
  agentError?: AgentError | null;
  agentVersion?: string | null;
  cancelledReason?: string | null;
  /** No agent works in it: a program asks people through it. */
  agentless?: boolean;
  node?: string | null;
  dialect?: string | null;
  turns: number;
  pendingRequestCount: number;
  lastSeq: number;
  lastTurn?: LastTurn | null;
}

export interface LastTurn {
  turn: number;
  status: TurnStatus;
  prompt: string;
  output?: string | null;
  error?: AgentError | null;
  requestedAt?: string | null;
  endedAt?: string | null;
}

export interface AgentError {
  message: string;
  detail?: Json;
}

export type AskKind = 'command' | 'fileChange' | 'permissions' | 'user_input' | 'elicitation';
export type Decision =
  | 'accept'
  | 'acceptForSession'
  | 'acceptAlways'
  | 'acceptWithExecpolicyAmendment'
  | 'applyNetworkPolicyAmendment'
  | 'decline'
  | 'cancel'
  | (string & {});
export type Reach = 'once' | 'thread' | 'always' | 'turn' | (string & {});

export interface Offer {
  decision: Decision;
  reach?: Reach | null;
  /** The beginning of commands that it would allow. */
  execpolicyAmendment?: string[] | null;
  /** The host that it would be about. */
  networkPolicyAmendment?: { action: string; host: string } | null;
}

export interface FileChange {
  path: string;
  kind: 'add' | 'delete' | 'update' | (string & {});
  movePath?: string | null;
  diff: string;
}

export interface Question {
  id: string;
  header?: string | null;
  question: string;
  isOther?: boolean;
  /** What the free answer is called; nothing means "Other". */
  otherLabel?: string | null;
  multiple?: boolean;
  /** The name of the option that is chosen before anyone chooses. */
  default?: string | null;
  isSecret?: boolean;
  options?: QuestionOption[] | null;
}

export interface QuestionOption {
  /** Its name in the answer; nothing means that the label is. */
  id?: string | null;
  label: string;
  description?: string | null;
}

/** One simple command of a line, as Pilothouse reads it. */
export interface Segment {
  /** Its words; none where the line was not understood. */
  argv: string[];
  text: string;
  verdict: 'safe' | 'ask';
  class: string;
  reason: string;
}

export type Subject =
  | { type: 'command'; command: string; argv?: string[] | null; cwd?: string | null; writeStdin?: boolean | null; host?: string | null }
  | { type: 'fileChange'; changes: FileChange[]; grantRoot?: string | null }
  | { type: 'permissions'; permissions: Json; cwd?: string | null }
  | { type: 'question'; questions: Question[] }
  | { type: 'form'; server: string; message: string; schema: JsonObject }
  | { type: 'url'; server: string; message: string; url: string }
  | { type: 'tool'; server: string; message: string; tool: string; params: Json }
  | { type: 'adoption'; caller: string; client?: string | null };

export type Actor =
  | { type: 'human'; via?: string; verified?: boolean }
  | { type: 'caller'; id?: string }
  | { type: 'policy'; rule?: string }
  | { type: 'clock' }
  | { type: 'agent' }
  | { type: 'node' };

export interface Settlement {
  how: 'answered' | 'expired' | 'withdrawn' | 'lost' | (string & {});
  at?: string;
  by?: Actor | null;
  /** What was said, or what a rule said when nobody did. */
  answer?: Json;
  reason?: string | null;
  waitedS?: number;
}

export interface AskView {
  requestId: string;
  sessionId: string;
  sessionTitle?: string | null;
  kind: AskKind;
  state: 'pending' | 'settled';
  raisedAt: string;
  expiresAt?: string | null;
  turn?: number | null;
  itemId?: string | null;
  reason?: string | null;
  digest: string;
  subject: Subject;
  offers: Offer[];
  params?: Json;
  agent?: { threadId: string; path?: string | null } | null;
  /** Who asks, if it is not the agent. */
  askedBy?: Actor | null;
  /** Whether its command only reads. */
  verdict?: 'safe' | 'ask' | null;
  /** The simple commands of its line. */
  segments?: Segment[] | null;
  settlement?: Settlement | null;
}

/** An event of a session's log. Fields beyond `type` are read with care: the log may be newer than us. */
export interface LogEvent {
  type: string;
  [key: string]: unknown;
}

export interface Envelope {
  seq: number;
  at: string;
  event: LogEvent;
}

export interface FeedEvent extends Envelope {
  cursor: string;
  sessionId: string;
}

export type DeltaKind = 'text' | 'output' | 'reasoning' | 'plan';

export interface Delta {
  sessionId: string;
  itemId: string;
  kind: DeltaKind;
  text: string;
}

export interface EventsPage {
  events: Envelope[];
  nextAfter: number;
  more: boolean;
  live?: { itemId: string; kind: DeltaKind; text: string }[];
}

export interface Answer {
  digest: string;
  decision?: Decision;
  answers?: Record<string, { answers: string[] }>;
  /** By question: what was written instead of an option that has a name. */
  other?: Record<string, string>;
  content?: JsonObject;
  execpolicy_amendment?: string[];
  network_policy_amendment?: { action: string; host: string };
  reason?: string;
}

export interface Problem {
  title?: string;
  status: number;
  detail?: string;
  code?: string;
  hint?: string;
  settlement?: Settlement;
}

export interface NewSession {
  prompt: string;
  approvalPolicy: string;
  sandbox: string;
  cwd?: string;
  model?: string;
  effort?: string;
  title?: string;
}
