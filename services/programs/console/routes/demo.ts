import {
  type CallerAsked,
  type ConsoleRoute,
  callerRoute,
  EmptyBody,
  lineOf,
} from '#console/app/route';
import { shown } from '#console/app/visit';
import type { DemoCaller, DemoFleets } from '#console/demo/fleet';
import type { AuditAction, ConsoleAudit } from '#console/people/audit';
import { type LiveSessions, sessionIdOf } from '#console/people/live-sessions';

type DemoParts = {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly fleets: DemoFleets;
};

type DemoAsked = Omit<CallerAsked<unknown>, 'body'>;

const PATH = '/demo-fleet';

/** Routes that show, load and remove the demonstration fleet of the caller's account. */
export function demoRoutes({ live, audit, fleets }: DemoParts): ConsoleRoute[] {
  const show = { method: 'GET', path: PATH, permission: 'instances.read' } as const;
  const writes = { path: PATH, permission: 'instances.write', isCostly: true } as const;
  const load = { method: 'POST', body: EmptyBody, ...writes } as const;
  const remove = { method: 'DELETE', ...writes } as const;
  const audited =
    ({ caller, visit }: DemoAsked, action: AuditAction) =>
    <Changed extends Readonly<Record<string, unknown>>>(act: () => Promise<Changed>) =>
      audit.around(lineOf(caller, visit, action), act, (after) => ({ after }));
  return [
    callerRoute(live, show, async ({ caller }) =>
      shown(await fleets.standing(caller.membership.accountId)),
    ),
    callerRoute(live, load, async (asked) =>
      shown(await fleets.load(demoCaller(asked), audited(asked, 'demo.load'))),
    ),
    callerRoute(live, remove, async (asked) =>
      shown(await fleets.remove(demoCaller(asked), audited(asked, 'demo.remove'))),
    ),
  ];
}

function demoCaller({ caller: { session }, visit: { address } }: DemoAsked): DemoCaller {
  const { userId, accountId } = session;
  const sessionId = sessionIdOf(session);
  const member = { userId, sessionId };
  return { caller: { accountId, credential: sessionId, member }, address };
}
