import { type KeyScope, WHOLE_SCOPE } from '#accounts/api-key';
import { ADMIN_TOKEN } from '#test/support/calls/admin-token';
import type { Service } from '#test/support/servers/service';

/** An answer with its body. */
export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed JSON body, untyped; undefined without a JSON body. */
  readonly body: ReturnType<typeof JSON.parse>;
};

/** Headers and body of a request; `json` is serialized, `body` is sent unchanged. */
export type Sent = {
  readonly json?: unknown;
  readonly body?: string;
  readonly headers?: Record<string, string>;
};

/** A client with an API key. */
export type Caller = {
  readonly accountId: string;
  readonly key: string;
  /** Sends a request to a path under `/v1`. */
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
};

/** Options for a test account; by default an enterprise account with high limits. */
export type RequestedCaller = {
  readonly plan?: 'free' | 'indie' | 'pro';
  readonly requestsPerMinute?: number;
  readonly cyclesPerMonth?: number;
  readonly instances?: number;
  /** Default: all permissions. */
  readonly scope?: KeyScope;
};

/** Creates an account with one key through the admin port. */
export async function newCaller(
  service: Service,
  requested: RequestedCaller = {},
): Promise<Caller> {
  const { requestsPerMinute = 1_000_000, cyclesPerMonth = 1_000_000_000 } = requested;
  const agreed = { requests_per_minute: requestsPerMinute, cycles_per_month: cyclesPerMonth };
  const { instances } = requested;
  const limits = instances === undefined ? agreed : { ...agreed, instances };
  const plan =
    requested.plan === undefined ? { plan: 'enterprise', limits } : { plan: requested.plan };
  const account = await admin(service, 'POST', '/accounts', { name: 'test', ...plan });
  return callerOf(
    service,
    account.id,
    await newKey(service, account.id, requested.scope ?? WHOLE_SCOPE),
  );
}

/** Creates another key for an account. */
export async function newKey(service: Service, accountId: string, scope: string): Promise<string> {
  const made = await admin(service, 'POST', `/accounts/${accountId}/keys`, { scope });
  return made.key;
}

/** A client with this key. */
export function callerOf(service: Service, accountId: string, key: string): Caller {
  return {
    accountId,
    key,
    send: (method, path, sent) =>
      send(service, method, path, {
        ...sent,
        headers: { authorization: `Bearer ${key}`, ...sent?.headers },
      }),
  };
}

/** Sends a request to a path under `/v1`, without a key unless given in the headers. */
export async function send(
  service: Service,
  method: string,
  path: string,
  sent: Sent = {},
): Promise<Answer> {
  const body = sent.json === undefined ? sent.body : JSON.stringify(sent.json);
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(`${service.api}${path}`, {
    method,
    headers: { ...type, ...sent.headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  const { status, headers } = response;
  return { status, headers, text, body: isJson && text !== '' ? JSON.parse(text) : undefined };
}

/** Calls the admin port and returns the data. Throws unless successful. */
export async function admin(
  service: Service,
  method: string,
  path: string,
  json?: unknown,
): Promise<ReturnType<typeof JSON.parse>> {
  const response = await fetch(`${service.adminUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text).data;
}
