import { z } from 'zod';
import type { ApiKeyRecord } from '#accounts/account';
import { auditKeptFrom } from '#accounts/plan';
import { accountAt } from '#accounts/plan-change';
import type { AuditTrail } from '#audit/trail';
import { Fault, invalid } from '#errors/fault';
import type { AccountAdmin } from '#limiter/admin/accounts';
import { type AdminRequest, type MakeChange, type Route, read } from '#limiter/admin/route';
import {
  AccountBody,
  AccountsQuery,
  AuditLinesQuery,
  type AuditLinesView,
  type AuditMonthsView,
  GRACE_MS,
  KeyBody,
  KeyNameBody,
  KeyScopeBody,
  ModelBody,
  PlanBody,
  RetentionBody,
  RotationBody,
  StatusBody,
} from '#limiter/admin/schema';
import {
  choiceOf,
  viewOfAccount,
  viewOfKey,
  viewOfMonth,
  viewOfUsage,
  viewOfUsedKey,
} from '#limiter/admin/views';
import { AUDIT_LINES_MAX } from '#storage/ports/audit';
import { LOG_LEVELS } from '#telemetry/logger';
import type { ProcessControl } from '#telemetry/process-control';

/** Admin port routes for account keys. */
const KEY_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: /^\/accounts\/(?<account>\w+)\/keys$/,
    change: 'key.create',
    async answer(admin, { body, by }, { account }, nowMs) {
      const { name, scope, expires_at, networks } = read(KeyBody, body);
      const expiresAtMs = expires_at === undefined ? undefined : Date.parse(expires_at);
      const request = { name, scope, expiresAtMs, networks, createdBy: by };
      const { key, record } = await admin.createKey(account, request);
      return { ...viewOfKey(record, nowMs), key };
    },
  },
  {
    method: 'GET',
    path: /^\/accounts\/(?<account>\w+)\/keys$/,
    answer: async (admin, _request, { account }, nowMs) =>
      (await admin.listKeys(account)).map((key) => viewOfUsedKey(key, nowMs)),
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/name$/,
    change: 'key.rename',
    answer: async (admin, { body }, { account, key }, nowMs) =>
      viewOfKey(await admin.renameKey(account, key, read(KeyNameBody, body).name), nowMs),
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/scope$/,
    change: 'key.scope',
    answer: async (admin, { body }, { account, key }, nowMs) =>
      viewOfKey(await admin.setKeyScope(account, key, read(KeyScopeBody, body).scope), nowMs),
  },
  {
    method: 'POST',
    path: /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/rotate$/,
    change: 'key.rotate',
    async answer(admin, { body, by }, { account, key: keyId }, nowMs) {
      const graceMs = GRACE_MS[read(RotationBody, body).grace];
      const { key, record, replaced } = await admin.rotateKey(account, keyId, graceMs, by);
      return { ...viewOfKey(record, nowMs), key, replaced: viewOfKey(replaced, nowMs) };
    },
  },
  changing('POST', /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/disable$/, {
    change: 'key.disable',
    run: (admin, account, key) => admin.disableKey(account, key),
  }),
  changing('POST', /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)\/enable$/, {
    change: 'key.enable',
    run: (admin, account, key) => admin.enableKey(account, key),
  }),
  changing('DELETE', /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)$/, {
    change: 'key.revoke',
    run: (admin, account, key) => admin.revokeKey(account, key),
  }),
];

/** A route that changes a key and takes no body. */
function changing(
  method: 'POST' | 'DELETE',
  path: RegExp,
  {
    change,
    run,
  }: {
    readonly change: string;
    readonly run: (admin: AccountAdmin, account: string, key: string) => Promise<ApiKeyRecord>;
  },
): Route {
  return {
    method,
    path,
    change,
    answer: async (admin, _request, { account, key }, nowMs) =>
      viewOfKey(await run(admin, account, key), nowMs),
  };
}

const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: /^\/accounts$/,
    change: 'account.create',
    async answer(admin, { body }, { account: id }, nowMs) {
      const { name, ...plan } = read(AccountBody, body);
      const made = await admin.createAccount({ id, name, choice: choiceOf(plan) });
      return viewOfAccount(made, nowMs);
    },
  },
  {
    method: 'GET',
    path: /^\/accounts$/,
    async answer(admin, { url }, _ids, nowMs) {
      const { after, limit } = read(
        AccountsQuery,
        Object.fromEntries(url.searchParams),
        'invalid_parameter',
      );
      const page = await admin.listAccounts({ afterId: after, limit });
      return page.map((account) => viewOfAccount(account, nowMs));
    },
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/plan$/,
    change: 'account.plan',
    answer: async (admin, { body }, { account }, nowMs) =>
      viewOfAccount(await admin.setPlan(account, choiceOf(read(PlanBody, body))), nowMs),
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/status$/,
    change: 'account.status',
    answer: async (admin, { body }, { account }, nowMs) =>
      viewOfAccount(await admin.setStatus(account, read(StatusBody, body).status), nowMs),
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/model$/,
    change: 'account.model',
    async answer(admin, { body }, { account }, nowMs) {
      const { model_version } = read(ModelBody, body);
      return viewOfAccount(await admin.setModel(account, model_version ?? undefined), nowMs);
    },
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/retention$/,
    change: 'account.retention',
    async answer(admin, { body }, { account }, nowMs) {
      const { retention_days } = read(RetentionBody, body);
      return viewOfAccount(await admin.setRetention(account, retention_days ?? undefined), nowMs);
    },
  },
  {
    method: 'GET',
    path: /^\/accounts\/(?<account>\w+)\/usage$/,
    answer: async (admin, _request, { account }) =>
      viewOfUsage(account, await admin.usage(account), await keysOf(admin, account)),
  },
  {
    method: 'GET',
    path: /^\/accounts\/(?<account>\w+)\/usage\/months$/,
    async answer(admin, _request, { account }) {
      const [months, keys] = [await admin.months(account), await keysOf(admin, account)];
      return months.map((month) => viewOfMonth(month, keys));
    },
  },
  {
    method: 'POST',
    path: /^\/accounts\/(?<account>\w+)\/usage\/reset$/,
    change: 'usage.reset',
    answer: async (admin, _request, { account }) =>
      viewOfUsage(account, await admin.resetUsage(account), await keysOf(admin, account)),
  },
  ...KEY_ROUTES,
];

/**
 * Answers an admin request. Rejects with the fault if a request is refused. `make` executes all
 * changes.
 */
export async function answerAdmin(
  admin: AccountAdmin,
  request: AdminRequest,
  nowMs: number,
  make: MakeChange,
): Promise<unknown> {
  for (const route of ROUTES) {
    const match = route.method === request.method && route.path.exec(request.url.pathname);
    if (!match) continue;
    const { account = admin.newAccountId(), key = '' } = match.groups ?? {};
    const answer = async () => await route.answer(admin, request, { account, key }, nowMs);
    const { change } = route;
    if (change === undefined) return await answer();
    const before = await presentState(admin, change, { account, key }, nowMs);
    const keyId = key === '' ? undefined : key;
    return await make(
      { change, accountId: account, keyId, requested: request.body, before },
      answer,
    );
  }
  throw new Fault('not_found', `there is no route ${request.method} ${request.url.pathname}`);
}

async function keysOf(admin: AccountAdmin, accountId: string): Promise<readonly ApiKeyRecord[]> {
  return (await admin.find(accountId))?.keys ?? [];
}

/** The target's state before a change; undefined if the account does not exist. */
async function presentState(
  admin: AccountAdmin,
  change: string,
  { account: accountId, key: keyId }: { account: string; key: string },
  nowMs: number,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (change === 'account.create') return {};
  const found = await admin.find(accountId);
  if (found === undefined || !change.startsWith('key.'))
    return found && viewOfAccount(found.account, nowMs);
  const key = found.keys.find(({ id }) => id === keyId);
  return key === undefined ? {} : viewOfKey(key, nowMs);
}

const MONTHS = /^\/accounts\/(?<account>\w+)\/audit$/;
const LINES = /^\/accounts\/(?<account>\w+)\/audit\/(?<month>\d{4}-\d{2})$/;

/**
 * Answers a request for stored audit lines, which `ctl` verifies. Undefined for other requests.
 * Rejects with `not_found` for an unknown account.
 */
export async function answerAudit(
  { admin, trail }: { readonly admin: AccountAdmin; readonly trail: AuditTrail },
  { method, url }: { readonly method: string; readonly url: URL },
  nowMs: number,
): Promise<z.infer<typeof AuditMonthsView> | z.infer<typeof AuditLinesView> | undefined> {
  const months = method === 'GET' ? MONTHS.exec(url.pathname)?.groups : undefined;
  if (months !== undefined) {
    const account = (await admin.find(months['account'] ?? ''))?.account;
    if (account === undefined) throw new Fault('not_found', 'there is no such account');
    const kept_from = auditKeptFrom(accountAt(account, nowMs).plan, nowMs);
    return { months: await trail.heads(account.id), ...(kept_from && { kept_from }) };
  }
  const { account = '', month = '' } = (method === 'GET' && LINES.exec(url.pathname)?.groups) || {};
  if (account === '') return undefined;
  const { data } = AuditLinesQuery.safeParse(Object.fromEntries(url.searchParams));
  if (data === undefined) throw invalid('invalid_parameter', 'after', 'a number of a line');
  return await trail.linesAfter(account, month, data.after, AUDIT_LINES_MAX);
}

/** A file that the admin port serves without a token. */
export type PageFile = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
};

/** Cluster overview for operators: a report, and the page that displays it. */
export type ClusterOverview = {
  /** Builds the present report. Ends in bounded time, even if nodes do not answer. */
  readonly report: () => Promise<object>;
  /** Finds a page file by path. */
  readonly file: (path: string) => PageFile | undefined;
};

/** Report path, which needs the token. Page files need no token. */
const REPORT = '/cluster/report';

/**
 * The requested page file; undefined for other requests. Throws `not_found` if the file does not
 * exist.
 */
export function pageFileOf(
  { file }: ClusterOverview,
  { method, url }: { readonly method: string | undefined; readonly url: URL },
): PageFile | undefined {
  const { pathname } = url;
  if (method !== 'GET' || pathname === REPORT || !/^\/cluster(?:\/|$)/.test(pathname)) {
    return undefined;
  }
  const found = file(pathname);
  if (found === undefined) throw new Fault('not_found', `there is no ${method} ${pathname}`);
  return found;
}

/** Answers a report request; undefined for other requests. */
export async function answerCluster(
  { report }: ClusterOverview,
  { method, url }: { readonly method: string; readonly url: URL },
): Promise<object | undefined> {
  return method === 'GET' && url.pathname === REPORT ? await report() : undefined;
}

/** Maximum CPU profile length, in seconds. A profile grows by about a megabyte per second. */
export const PROFILE_SECONDS_MAX = 60;

const LevelBody = z.strictObject({ level: z.enum(LOG_LEVELS) });
const ProfileBody = z.strictObject({ seconds: z.int().min(1).max(PROFILE_SECONDS_MAX) });

/** A request about the process. */
type ProcessRequest = {
  readonly method: string;
  readonly url: URL;
  readonly body: unknown;
  readonly requestedBy: string;
};

/** Answers a request about the process; undefined for other requests. */
export async function answerProcess(
  control: ProcessControl | undefined,
  { method, url, body, requestedBy }: ProcessRequest,
): Promise<object | undefined> {
  if (control === undefined) return undefined;
  switch (`${method} ${url.pathname}`) {
    case 'GET /process':
      return control.describe();
    case 'PUT /process/log-level':
      return control.setLogLevel(read(LevelBody, body).level, requestedBy);
    case 'POST /process/cpu-profile':
      return await control.profile(read(ProfileBody, body).seconds, requestedBy);
    case 'POST /process/heap-snapshot':
      return await control.heapSnapshot(requestedBy);
  }
  return undefined;
}

/** Fault for an account request to a process without accounts. */
export function noAccounts(): Fault {
  return new Fault(
    'not_found',
    'this process has no accounts: ask a limiter or a standalone process',
  );
}
