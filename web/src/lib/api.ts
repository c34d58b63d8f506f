/** Calls to Pilothouse's REST interface; what fails says what the server said about it. */

import type { Answer, AskView, EventsPage, Me, NewSession, Problem, SessionView } from './types';

const BASE = '/api/v1';

export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super([problem.detail ?? problem.title ?? `Pilothouse could not do that (HTTP ${problem.status}).`, problem.hint].filter(Boolean).join(' '));
  }
}

/** The server could not be reached at all. */
export class Unreachable extends Error {
  constructor() {
    super('Pilothouse could not be reached. Is `pilothouse serve` still running?');
  }
}

async function call<T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(BASE + path, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: body === undefined ? { accept: 'application/json' } : { accept: 'application/json', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Unreachable();
  }
  const text = await response.text();
  if (response.ok) return (text ? JSON.parse(text) : undefined) as T;
  let problem: Problem = { status: response.status };
  try {
    problem = { ...(JSON.parse(text) as Problem), status: response.status };
  } catch {
    if (text) problem.detail = text.slice(0, 500);
  }
  throw new ApiError(problem);
}

const id = encodeURIComponent;

export const api = {
  login: (code: string) => call<void>('POST', '/login', { code }),
  me: () => call<Me>('GET', '/me'),
  sessions: (cursor?: string) => call<{ sessions: SessionView[]; nextCursor?: string | null }>('GET', `/sessions?limit=100${cursor ? `&cursor=${id(cursor)}` : ''}`),
  session: (sessionId: string) => call<SessionView>('GET', `/sessions/${id(sessionId)}`),
  create: (session: NewSession) => call<SessionView>('POST', '/sessions', session),
  prompt: (sessionId: string, prompt: string, images: string[], whenBusy?: 'steer' | 'queue') =>
    call<unknown>('POST', `/sessions/${id(sessionId)}/prompt`, { prompt, ...(images.length > 0 ? { images } : {}), ...(whenBusy ? { whenBusy } : {}) }),
  interrupt: (sessionId: string) => call<unknown>('POST', `/sessions/${id(sessionId)}/interrupt`, {}),
  fork: (sessionId: string) => call<SessionView>('POST', `/sessions/${id(sessionId)}/fork`, {}),
  cancel: (sessionId: string) => call<unknown>('POST', `/sessions/${id(sessionId)}/cancel`, {}),
  events: (sessionId: string, after: number, limit: number) => call<EventsPage>('GET', `/sessions/${id(sessionId)}/events?after=${after}&limit=${limit}`),
  asks: () => call<{ asks: AskView[] }>('GET', '/asks?state=pending&scope=all'),
  ask: (requestId: string) => call<AskView>('GET', `/asks/${id(requestId)}`),
  /** A text that was too long for the log, whole. */
  blob: async (digest: string): Promise<string> => {
    const response = await fetch(`${BASE}/blobs/${id(digest)}`, { credentials: 'same-origin' }).catch(() => { throw new Unreachable(); });
    if (!response.ok) throw new ApiError({ status: response.status, detail: 'Pilothouse could not find the whole text.' });
    return response.text();
  },
  answer: (requestId: string, answer: Answer) => call<AskView>('POST', `/asks/${id(requestId)}/answer`, answer),
};
