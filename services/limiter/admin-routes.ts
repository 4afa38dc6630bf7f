import type { z } from 'zod';
import { Fault, invalid, toFault } from '#fault/fault';
import type { AccountAdmin } from '#limiter/account-admin';
import type { AdminChange } from '#limiter/admin-audit';
import {
  AccountBody,
  AccountsQuery,
  KeyBody,
  ModelBody,
  PlanBody,
  RetentionBody,
  StatusBody,
} from '#limiter/admin-schema';
import { choiceOf, viewOfAccount, viewOfKey, viewOfUsage } from '#limiter/admin-views';

/** A request to the admin port, read whole. */
type AdminRequest = {
  readonly method: string;
  readonly url: URL;
  /** The parsed JSON body; undefined if there was none. */
  readonly body: unknown;
};

/** What changes something has a name for the log, or does not compile. */
type SideEffect =
  | { readonly method: 'GET'; readonly change?: undefined }
  | { readonly method: 'POST' | 'PUT' | 'DELETE'; readonly change: string };

type Route = SideEffect & {
  /** Groups are the ids in the path. */
  readonly path: RegExp;
  readonly answer: (
    admin: AccountAdmin,
    request: AdminRequest,
    ids: { account: string; key: string },
    nowMs: number,
  ) => Promise<unknown>;
};

const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: /^\/accounts$/,
    change: 'account.create',
    async answer(admin, { body }, _ids, nowMs) {
      const { name, ...plan } = read(AccountBody, body);
      return viewOfAccount(await admin.createAccount({ name, choice: choiceOf(plan) }), nowMs);
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
      viewOfUsage(account, await admin.usage(account)),
  },
  {
    method: 'POST',
    path: /^\/accounts\/(?<account>\w+)\/usage\/reset$/,
    change: 'usage.reset',
    answer: async (admin, _request, { account }) =>
      viewOfUsage(account, await admin.resetUsage(account)),
  },
  {
    method: 'POST',
    path: /^\/accounts\/(?<account>\w+)\/keys$/,
    change: 'key.create',
    async answer(admin, { body }, { account }, nowMs) {
      const { scope, expires_at } = read(KeyBody, body);
      const expiresAtMs = expires_at === undefined ? undefined : Date.parse(expires_at);
      const { key, record } = await admin.createKey(account, { scope, expiresAtMs });
      return { ...viewOfKey(record, nowMs), key };
    },
  },
  {
    method: 'GET',
    path: /^\/accounts\/(?<account>\w+)\/keys$/,
    answer: async (admin, _request, { account }, nowMs) =>
      (await admin.listKeys(account)).map((key) => viewOfKey(key, nowMs)),
  },
  {
    method: 'DELETE',
    path: /^\/accounts\/(?<account>\w+)\/keys\/(?<key>\w+)$/,
    change: 'key.revoke',
    answer: async (admin, _request, { account, key }, nowMs) =>
      viewOfKey(await admin.revokeKey(account, key), nowMs),
  },
];

/**
 * Answers one request of an administrator. Rejects with the fault that refuses it. `audit` is
 * called for a change before its answer is given, also for one that is refused.
 */
export async function answerAdmin(
  admin: AccountAdmin,
  request: AdminRequest,
  nowMs: number,
  audit: (change: AdminChange) => void,
): Promise<unknown> {
  for (const route of ROUTES) {
    const match = route.method === request.method && route.path.exec(request.url.pathname);
    if (!match) continue;
    const { account = '', key = '' } = match.groups ?? {};
    const answer = async () => await route.answer(admin, request, { account, key }, nowMs);
    const { change } = route;
    if (change === undefined) return await answer();
    return await audited(change, match.groups ?? {}, request.body, answer, audit);
  }
  throw new Fault('not_found', `there is no ${request.method} ${request.url.pathname}`);
}

/** Answers a change and reports its outcome to `audit`. */
async function audited(
  change: string,
  named: { readonly account?: string; readonly key?: string },
  requested: unknown,
  answer: () => Promise<unknown>,
  audit: (change: AdminChange) => void,
): Promise<unknown> {
  const { account: accountId, key: keyId } = named;
  try {
    const made = await answer();
    const id = idOf(made);
    const [newAccount, newKey] = change.startsWith('key.') ? [undefined, id] : [id, undefined];
    const ids = { accountId: accountId ?? newAccount, keyId: keyId ?? newKey };
    audit({ change, ...ids, requested, outcome: 'done' });
    return made;
  } catch (error) {
    // What was requested is logged only where it was understood.
    audit({ change, accountId, keyId, requested: undefined, outcome: toFault(error).code });
    throw error;
  }
}

/** The id of the account or key that an answer shows. */
function idOf(answer: unknown): string | undefined {
  const shown: { readonly id?: unknown } = typeof answer === 'object' && answer ? answer : {};
  return typeof shown.id === 'string' ? shown.id : undefined;
}

/** `value` as the schema reads it; throws `invalid_request` that names the first wrong field. */
function read<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  reason: 'wrong_type' | 'invalid_parameter' = 'wrong_type',
): z.infer<Schema> {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue?.path.join('.') || undefined;
  const text = issue?.message ?? 'the request is not what this route takes';
  throw invalid(reason, field, field === undefined ? text : `${field}: ${text}`);
}
