import { z } from 'zod';
import { monthNameOf } from '#accounts/month';
import { shown } from '#console/answer';
import {
  type InstanceUsage,
  type InstanceUsagePorts,
  instanceUsage,
} from '#console/instance-usage';
import { KeptResults } from '#console/kept-results';
import type { LiveSessions } from '#console/live-sessions';
import { type ConsoleRoute, callerRoute, checkedQuery } from '#console/route';
import { instanceUsageFile } from '#console/usage-export';
import { isoTime } from '#platform/iso-time';

/** Accounts whose usage by instance is looked up at once by one console. Source: decision 263. */
const LOOK_UPS_MAX = 4;

/** Members of an account who wait for it at once: few of the requests that a console serves. Chosen. */
const WAITING_MAX = 16;

/** Accounts of which it is kept, a few KiB each. Chosen. */
const KEPT_MAX = 256;

/** How long it is kept, in milliseconds: an account is looked at once a minute. Source: decision 263. */
const KEPT_MS = 60_000;

/** Query of `GET /api/usage/instances/export`. */
const ExportQuery = z.strictObject({ format: z.enum(['csv', 'json']) });

const NEEDS = { permission: 'usage.read' } as const;

/** Which instances used most of the present month of the caller's account, also as a file. */
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
      const { format } = checkedQuery(ExportQuery, query);
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
