import { type EntryLink, hasOwner } from '#accounts/people';
import { made, shown } from '#console/answer';
import type { ConsoleAudit } from '#console/console-audit';
import type { ConsoleConfig, ConsolePorts } from '#console/console-ports';
import type { Cookies } from '#console/cookies';
import { type Entrant, joinedBy } from '#console/entry';
import { linkOf } from '#console/entry-links';
import type { LiveSessions } from '#console/live-sessions';
import { type ConsoleRoute, callerRoute, openRoute } from '#console/route';
import { AcceptBody, JoinBody, SetUpBody } from '#console/schemas';
import type { SignedIn } from '#console/sign-in';
import type { Visit } from '#console/visit';
import { faultFor } from '#fault/fault';

type JoinParts = Pick<ConsolePorts, 'users' | 'members' | 'clock'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly cookies: Cookies;
};

type SetUpParts = JoinParts &
  Pick<ConsoleConfig, 'localAccountId'> & {
    readonly enter: (link: EntryLink, entrant: Entrant, visit: Visit) => Promise<SignedIn>;
  };

/** How people come in: the first owner by a set-up link, others by an invitation. */
export function setUpRoutes({ enter, localAccountId, ...ports }: SetUpParts): ConsoleRoute[] {
  return [
    openRoute({ method: 'GET', path: '/setup' }, async () => {
      const people =
        localAccountId === undefined ? undefined : await ports.members.find(localAccountId);
      return shown({ is_needed: people !== undefined && !hasOwner(people) });
    }),
    openRoute({ method: 'POST', path: '/setup', body: SetUpBody }, async ({ body, visit }) => {
      const { token, ...entrant } = body;
      const link = await linkOf(ports, token, 'setup');
      const { state, cookies } = await enter(link, entrant, visit);
      return made({ state }, cookies);
    }),
    openRoute(
      { method: 'POST', path: '/invitations/accept', body: AcceptBody },
      async ({ body, visit }) => {
        const { token, ...others } = body;
        const link = await linkOf(ports, token, 'invitation');
        if (link.kind !== 'invitation') throw new Error('a link is of the kind that was asked for');
        const { state, cookies } = await enter(link, { ...others, email: link.email }, visit);
        return made({ state, email: link.email }, cookies);
      },
    ),
    joinRoute(ports),
  ];
}

/** Who is signed in joins another account by an invitation of the own address, as the same user. */
function joinRoute(ports: JoinParts): ConsoleRoute {
  const { live, cookies } = ports;
  const shape = { method: 'POST', path: '/invitations/join', body: JoinBody } as const;
  return callerRoute(live, shape, async ({ caller, body, visit }) => {
    const link = await linkOf(ports, body.token, 'invitation');
    const { stored, session } = caller;
    if (link.kind !== 'invitation' || link.email !== stored.user.email) {
      throw faultFor('other_address', 'this invitation is for another address than yours');
    }
    const moved = await joinedBy(ports, link, { found: stored, ready: stored.user }, visit);
    const { accountId } = link;
    const { authenticatedBy, createdAtMs } = session;
    const next = { stored: moved, accountId, authenticatedBy, createdAtMs, from: session };
    const value = await live.begin(next, visit);
    return made({ account_id: accountId }, [cookies.session(value)]);
  });
}
