import type {
  AuditPage,
  Billing,
  Enrolment,
  EntryLinkView,
  InstanceUsage,
  Invitation,
  KeyView,
  KeyWanted,
  Left,
  Me,
  NewKey,
  OwnAccount,
  People,
  RecoveryCodes,
  Role,
  SessionView,
  SignInState,
  Usage,
  UsageMonth,
} from '#console/answers';

/** Request timeout, in milliseconds. Hashing a password takes the server up to a second. */
const ANSWER_MS_MAX = 15_000;

/** Refusal reasons that lead back to the sign-in page. */
const SESSION_OVER = ['sign_in_needed', 'second_factor_needed'];

type Details = {
  readonly field?: string | undefined;
  readonly reason?: string | undefined;
  readonly request_id?: string | undefined;
  /** Time to wait before a retry, in seconds. */
  readonly retry_after?: number | undefined;
  /** First cycle that is stored, if an earlier cycle was requested. */
  readonly first_cycle?: number | undefined;
};

/** Refusal by the console. `code` is `no_answer` if there was no answer. */
export class Refused extends Error {
  readonly code: string;
  readonly reason: string | undefined;
  /** Invalid field of the form, if any. */
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  /** Seconds to wait before a retry, if given. */
  readonly retryAfterSeconds: number | undefined;
  /** First cycle that is stored, if an earlier cycle was requested. */
  readonly firstCycle: number | undefined;

  constructor(code: string, message: string, details: Details = {}) {
    super(message);
    this.code = code;
    this.field = details.field;
    this.reason = details.reason;
    this.requestId = details.request_id;
    this.retryAfterSeconds = details.retry_after;
    this.firstCycle = details.first_cycle;
  }
}

let sessionOver = (): void => {};

/** Sets the function to call when an answer shows that the session is not valid. */
export function onSessionOver(act: () => void): void {
  sessionOver = act;
}

/**
 * Sends a request to a path under `/api` and returns the parsed body. Throws `Refused`. Only
 * modules that declare the answer types call this function.
 */
export async function send<Answer>(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return (await exchange<Answer>(method, path, body, headers)).answer;
}

/** Sends a request like `send`, and also returns the headers of the answer. */
export async function exchange<Answer>(
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly answer: Answer; readonly headers: Headers }> {
  const response = await answered(method, path, body, headers);
  const text = await response.text().catch(() => {
    throw noAnswer();
  });
  const parsed = parsedOf(text);
  if (response.ok) return { answer: parsed as Answer, headers: response.headers };
  const { error, message, details } = parsed as {
    readonly error?: string;
    readonly message?: string;
    readonly details?: Details;
  };
  if (SESSION_OVER.includes(details?.reason ?? '')) sessionOver();
  const fallback = `The console answered with status ${response.status}.`;
  // Parses only a number of seconds, because the console sends no other form.
  const wait = /^\d+$/.exec(response.headers.get('retry-after') ?? '')?.[0];
  throw new Refused(error ?? 'internal', message ?? fallback, {
    ...details,
    retry_after: wait === undefined ? undefined : Number(wait),
  });
}

async function answered(
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const isRead = method === 'GET';
  try {
    return await fetch(`/api${path}`, {
      method,
      headers: { ...headers, ...(isRead ? {} : { 'content-type': 'application/json' }) },
      ...(isRead ? {} : { body: JSON.stringify(body ?? {}) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
  } catch {
    throw noAnswer();
  }
}

function noAnswer(): Refused {
  return new Refused('no_answer', 'The console does not answer. Check your connection.');
}

function parsedOf(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    return {};
  }
}

/** Gets a path and returns `data`. Throws `Refused`. */
export async function get<Data>(path: string): Promise<Data> {
  return (await send<{ data: Data }>('GET', path)).data;
}

/** Posts a body and returns `data`. Throws `Refused`. */
export async function post<Data = void>(
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Data> {
  return (await send<{ data: Data }>('POST', path, body, headers)).data;
}

/** Escapes an id for a path. */
export const idIn = (id: string) => encodeURIComponent(id);

/**
 * Calls of the console API, except calls about instances (`instanceApi`). A refused call throws
 * `Refused`.
 */
export const api = {
  me: () => get<Me>('/me'),
  accounts: () => get<readonly OwnAccount[]>('/accounts'),
  switchAccount: (accountId: string) => post('/account/switch', { account_id: accountId }),

  entryLink: (body: { token: string; kind: 'setup' | 'invitation' }) =>
    post<EntryLinkView>('/entry-link', body),
  setUp: (body: { token: string; email: string; name: string; password: string; code?: string }) =>
    post<SignInState>('/setup', body),
  acceptInvitation: (body: { token: string; name: string; password: string; code?: string }) =>
    post<SignInState>('/invitations/accept', body),
  joinAccount: (body: { token: string }) => post('/invitations/join', body),
  signIn: (body: { email: string; password: string; account_id?: string }) =>
    post<SignInState>('/sign-in', body),
  secondFactor: (code: string) => post<SignInState>('/sign-in/second-factor', { code }),
  signOut: () => post('/sign-out'),

  sessions: () => get<readonly SessionView[]>('/sessions'),
  endSession: (id: string) => send('DELETE', `/sessions/${idIn(id)}`),
  endOtherSessions: () => send('DELETE', '/sessions'),
  changePassword: (body: { password: string; new_password: string }) =>
    send('PUT', '/password', body),
  enrol: (password: string) => post<Enrolment>('/second-factor', { password }),
  confirmEnrolment: (code: string) => post<RecoveryCodes>('/second-factor/confirm', { code }),
  disableSecondFactor: (password: string) => post('/second-factor/disable', { password }),
  newRecoveryCodes: (password: string) =>
    post<RecoveryCodes>('/second-factor/recovery-codes', { password }),

  people: () => get<People>('/members'),
  invite: (body: { email: string; role: Role }) =>
    post<Invitation & { link: string }>('/members/invitations', body),
  takeInvitationBack: (id: string) => send('DELETE', `/members/invitations/${idIn(id)}`),
  changeRole: async (id: string, role: Role) =>
    (await send<{ data: Left }>('PATCH', `/members/${idIn(id)}`, { role })).data,
  removeMember: async (id: string) =>
    (await send<{ data: Left }>('DELETE', `/members/${idIn(id)}`)).data,

  keys: () => get<readonly KeyView[]>('/keys'),
  createKey: (wanted: KeyWanted) => post<NewKey>('/keys', wanted),
  renameKey: (id: string, name: string) => send('PATCH', `/keys/${idIn(id)}`, { name }),
  setKeyScope: (id: string, scope: string) => send('PUT', `/keys/${idIn(id)}/scope`, { scope }),
  rotateKey: (id: string, graceSeconds: number) =>
    post<NewKey>(`/keys/${idIn(id)}/rotate`, { grace_seconds: graceSeconds }),
  disableKey: (id: string) => post(`/keys/${idIn(id)}/disable`),
  enableKey: (id: string) => post(`/keys/${idIn(id)}/enable`),
  revokeKey: (id: string) => send('DELETE', `/keys/${idIn(id)}`),

  usage: () => get<Usage>('/usage'),
  usageMonths: () => get<readonly UsageMonth[]>('/usage/months'),
  usageInstances: () => get<InstanceUsage>('/usage/instances'),
  billing: () => get<Billing>('/billing'),
  checkout: (plan: string) => post<{ url: string }>('/billing/checkout', { plan }),
  portal: () => post<{ url: string }>('/billing/portal'),

  audit: (query: URLSearchParams) => send<AuditPage>('GET', `/audit?${query}`),
};

/** Download address of usage: one month, or all months. */
export const usageExport = (format: 'csv' | 'json', month?: string): string =>
  `/api/usage/export?format=${format}${month === undefined ? '' : `&month=${month}`}`;

/** Download address of the present month's usage by instance. */
export const instanceUsageExport = (format: 'csv' | 'json'): string =>
  `/api/usage/instances/export?format=${format}`;

/** Download address of the audit trail (NDJSON). */
export const AUDIT_EXPORT = '/api/audit/export';
