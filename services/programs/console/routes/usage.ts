import { z } from 'zod';
import type { ApiKeyRecord } from '#accounts/account';
import { maskedKey } from '#accounts/api-key';
import { monthNameOf } from '#accounts/quota-windows';
import type { ConsolePorts } from '#console/app/ports';
import { type ConsoleRoute, callerRoute, checkedQuery } from '#console/app/route';
import { shown } from '#console/app/visit';
import type { LiveSessions } from '#console/people/live-sessions';
import { forecastOf, instanceUsageFile, usageFile } from '#console/usage/export';
import {
  type InstanceUsage,
  type InstanceUsagePorts,
  instanceUsage,
} from '#console/usage/instance-usage';
import { KeptResults } from '#console/usage/kept-results';
import { viewOfMonth, viewOfUsage } from '#limiter/admin/views';
import { isoTime } from '#stdlib/clock';

type UsageParts = Pick<ConsolePorts, 'usage' | 'accounts' | 'clock'> & {
  readonly live: LiveSessions;
};

/** Query of `GET /api/usage/export`: one month, or all known months. */
const UsageExportQuery = z.strictObject({
  format: z.enum(['csv', 'json']),
  month: z
    .string()
    .regex(/^\d{4}-\d{2}$/, { error: 'must be a month such as 2026-01' })
    .optional(),
});

const NEEDS = { permission: 'usage.read' } as const;

/** Routes for the account's usage: present minute and month, past months, and an export. */
export function usageRoutes({ live, usage, accounts, clock }: UsageParts): ConsoleRoute[] {
  const present = { method: 'GET', path: '/usage', ...NEEDS } as const;
  const past = { method: 'GET', path: '/usage/months', ...NEEDS } as const;
  const file = { method: 'GET', path: '/usage/export', isCostly: true, ...NEEDS } as const;
  const keysOf = async (accountId: string): Promise<readonly ApiKeyRecord[]> =>
    (await accounts.find(accountId))?.keys ?? [];
  return [
    callerRoute(live, present, async ({ caller: { membership } }) => {
      const { accountId } = membership;
      const used = await usage.usage(accountId);
      const view = viewOfUsage(accountId, used, await keysOf(accountId));
      const forecast = forecastOf(used, clock.wallMs());
      return shown({ ...view, ...(forecast && { forecast: viewOfForecast(forecast) }) });
    }),
    callerRoute(live, past, async ({ caller: { membership } }) => {
      const { accountId } = membership;
      const [months, keys] = [await usage.months(accountId), await keysOf(accountId)];
      const masked = new Map(keys.map(({ id, hint }) => [id, hint && maskedKey(hint)]));
      const named = ({ keys: used, ...month }: ReturnType<typeof viewOfMonth>) => ({
        ...month,
        keys: used.map((key) => {
          const value = masked.get(key.id);
          return { ...key, ...(value !== undefined && { masked: value }) };
        }),
      });
      return shown(months.map((month) => named(viewOfMonth(month, keys))));
    }),
    callerRoute(live, file, async ({ caller: { membership }, query }) => {
      const data = checkedQuery(UsageExportQuery, query);
      const { accountId } = membership;
      const [all, keys] = [await usage.months(accountId), await keysOf(accountId)];
      const isWanted = (name: string) => data.month === undefined || data.month === name;
      const months = all.filter(({ endsAtMs }) => isWanted(monthNameOf(endsAtMs - 1)));
      const name = `usage-${accountId}${data.month === undefined ? '' : `-${data.month}`}`;
      return usageFile(name, data.format, months, keys);
    }),
  ];
}

function viewOfForecast({ cycles, usedUpAtMs }: NonNullable<ReturnType<typeof forecastOf>>) {
  return { cycles, ...(usedUpAtMs !== undefined && { used_up_at: isoTime(usedUpAtMs) }) };
}

/** Maximum concurrent look-ups for usage by instance, per console. Source: decision 263. */
const LOOK_UPS_MAX = 4;

/** Maximum members who wait for one look-up of their account. A small part of all requests. */
const WAITING_MAX = 16;

/** Maximum accounts whose usage report is cached (a few KiB each). */
const KEPT_MAX = 256;

/**
 * Cache lifetime in milliseconds, so that an account causes one look-up a minute. Source: decision
 * 263.
 */
const KEPT_MS = 60_000;

/** Query of `GET /api/usage/instances/export`. */
const InstanceUsageExportQuery = z.strictObject({ format: z.enum(['csv', 'json']) });

/** Routes for the instances with the most cycles in the present month, as JSON and as a file. */
export function instanceUsageRoutes(
  ports: InstanceUsagePorts & { readonly live: LiveSessions },
): ConsoleRoute[] {
  const { live } = ports;
  const results = new KeptResults<InstanceUsage>(ports.clock, {
    ...{ atOnce: LOOK_UPS_MAX, waitingMax: WAITING_MAX, keptMax: KEPT_MAX, keptMs: KEPT_MS },
  });
  const usageOf = (accountId: string): Promise<InstanceUsage> =>
    results.of(accountId, () => instanceUsage(ports, accountId));
  const present = { method: 'GET', path: '/usage/instances', ...NEEDS } as const;
  const file = {
    method: 'GET',
    path: '/usage/instances/export',
    isCostly: true,
    ...NEEDS,
  } as const;
  return [
    callerRoute(live, present, async ({ caller: { membership } }) =>
      shown(viewOf(await usageOf(membership.accountId))),
    ),
    callerRoute(live, file, async ({ caller: { membership }, query }) => {
      const { format } = checkedQuery(InstanceUsageExportQuery, query);
      const { accountId } = membership;
      const used = await usageOf(accountId);
      const part = used.isComplete ? 'instances' : 'instances-incomplete';
      const name = `usage-${accountId}-${monthNameOf(used.monthBeginsAtMs)}-${part}`;
      return instanceUsageFile(name, format, used);
    }),
  ];
}

function viewOf(used: InstanceUsage) {
  return {
    month: monthNameOf(used.monthBeginsAtMs),
    as_of: isoTime(used.asOfMs),
    cycles: used.cycles,
    instances: used.instances,
    other_cycles: used.otherCycles,
    instances_total: used.instancesTotal,
    instances_listed: used.instancesListed,
    is_complete: used.isComplete,
  };
}
