import { Fault, toFault } from '#fault/fault';
import type { AccountAdmin } from '#limiter/account-admin';
import type { AdminChange } from '#limiter/admin-audit';
import { type AdminRequest, type Route, read } from '#limiter/admin-route';
import {
  AccountBody,
  AccountsQuery,
  ModelBody,
  PlanBody,
  RetentionBody,
  StatusBody,
} from '#limiter/admin-schema';
import { choiceOf, viewOfAccount, viewOfUsage } from '#limiter/admin-views';
import { KEY_ROUTES } from '#limiter/key-routes';

const ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: /^\/accounts$/,
    change: 'account.create',
    async answer(admin, { body }) {
      const { name, ...plan } = read(AccountBody, body);
      return viewOfAccount(await admin.createAccount({ name, choice: choiceOf(plan) }));
    },
  },
  {
    method: 'GET',
    path: /^\/accounts$/,
    async answer(admin, { url }) {
      const { after, limit } = read(
        AccountsQuery,
        Object.fromEntries(url.searchParams),
        'invalid_parameter',
      );
      return (await admin.listAccounts({ afterId: after, limit })).map(viewOfAccount);
    },
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/plan$/,
    change: 'account.plan',
    answer: async (admin, { body }, { account }) =>
      viewOfAccount(await admin.setPlan(account, choiceOf(read(PlanBody, body)))),
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/status$/,
    change: 'account.status',
    answer: async (admin, { body }, { account }) =>
      viewOfAccount(await admin.setStatus(account, read(StatusBody, body).status)),
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/model$/,
    change: 'account.model',
    async answer(admin, { body }, { account }) {
      const { model_version } = read(ModelBody, body);
      return viewOfAccount(await admin.setModel(account, model_version ?? undefined));
    },
  },
  {
    method: 'PUT',
    path: /^\/accounts\/(?<account>\w+)\/retention$/,
    change: 'account.retention',
    async answer(admin, { body }, { account }) {
      const { retention_days } = read(RetentionBody, body);
      return viewOfAccount(await admin.setRetention(account, retention_days ?? undefined));
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
  ...KEY_ROUTES,
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
