import type { ApiKeyRecord } from '#accounts/account';
import { Fault } from '#fault/fault';
import type { AccountAdmin } from '#limiter/account-admin';
import type { MakeChange } from '#limiter/admin-audit';
import { type AdminRequest, type Route, read } from '#limiter/admin-route';
import {
  AccountBody,
  AccountsQuery,
  ModelBody,
  PlanBody,
  RetentionBody,
  StatusBody,
} from '#limiter/admin-schema';
import { choiceOf, viewOfAccount } from '#limiter/admin-views';
import { KEY_ROUTES } from '#limiter/key-routes';
import { viewOfKey } from '#limiter/key-views';
import { viewOfMonth, viewOfUsage } from '#limiter/usage-views';

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
 * Answers one request of an administrator. Rejects with the fault that refuses it. What changes
 * something is done by `make`.
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
  throw new Fault('not_found', `there is no ${request.method} ${request.url.pathname}`);
}

async function keysOf(admin: AccountAdmin, accountId: string): Promise<readonly ApiKeyRecord[]> {
  return (await admin.find(accountId))?.keys ?? [];
}

/** What a change will change, as it stands; undefined where it is not there. */
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
