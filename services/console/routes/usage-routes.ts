import { shown } from '#console/answer';
import type { ConsolePorts } from '#console/console-ports';
import type { LiveSessions } from '#console/live-sessions';
import { type ConsoleRoute, callerRoute } from '#console/route';
import { viewOfUsage } from '#limiter/admin-views';

/** What the caller's account has used: its minute, its month, and each day of it. */
export function usageRoutes({
  live,
  usage,
}: Pick<ConsolePorts, 'usage'> & { readonly live: LiveSessions }): ConsoleRoute[] {
  const read = { method: 'GET', path: '/usage', permission: 'usage.read' } as const;
  return [
    callerRoute(live, read, async ({ caller }) => {
      const { accountId } = caller.membership;
      return shown(viewOfUsage(accountId, await usage(accountId)));
    }),
  ];
}
