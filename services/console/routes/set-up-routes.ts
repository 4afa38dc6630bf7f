import { type EntryLink, hasOwner } from '#accounts/people';
import { made, shown } from '#console/answer';
import type { ConsoleConfig, ConsolePorts } from '#console/console-ports';
import type { Entrant } from '#console/entry';
import { linkOf } from '#console/entry-links';
import { type ConsoleRoute, openRoute } from '#console/route';
import { AcceptBody, SetUpBody } from '#console/schemas';
import type { SignedIn } from '#console/sign-in';
import type { Visit } from '#console/visit';

type SetUpParts = Pick<ConsolePorts, 'members' | 'clock'> &
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
  ];
}
