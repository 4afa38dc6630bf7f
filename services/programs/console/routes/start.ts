import { type ConsoleRoute, callerRoute } from '#console/app/route';
import { shown } from '#console/app/visit';
import type { LiveSessions } from '#console/people/live-sessions';
import { type StartPorts, startOf } from '#console/start/first-steps';

/** Route for the overview: number of instances, and first steps of the account. */
export function startRoutes(ports: StartPorts & { readonly live: LiveSessions }): ConsoleRoute[] {
  const start = { method: 'GET', path: '/start', permission: 'instances.read' } as const;
  return [
    callerRoute(ports.live, start, async ({ caller }) =>
      shown(await startOf(ports, caller.membership.accountId)),
    ),
  ];
}
