import { type EntryLink, hasOwner, normalEmail } from '#accounts/people';
import type { ConsoleConfig, ConsolePorts } from '#console/app/ports';
import {
  AcceptBody,
  CodeBody,
  type ConsoleRoute,
  callerRoute,
  EmptyBody,
  EntryLinkBody,
  JoinBody,
  openRoute,
  SetUpBody,
  SignInBody,
} from '#console/app/route';
import { type Cookies, done, made, originOf, shown, type Visit } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import { describedLink, type Entrant, joinedBy, linkOf } from '#console/people/entry';
import { type LiveSessions, sessionIdOf } from '#console/people/live-sessions';
import type { SignedIn, SignIn } from '#console/people/sign-in';
import { faultFor } from '#errors/fault';

type SignInRouteParts = {
  /** Account of a local run, the default for sign-ins that name no account. */
  readonly localAccountId: string | undefined;
  readonly signIn: SignIn;
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly cookies: Cookies;
};

/** Routes to sign in, to enter a second factor, and to sign out. */
export function signInRoutes(parts: SignInRouteParts): ConsoleRoute[] {
  const { signIn, live, audit, cookies } = parts;
  return [
    openRoute({ method: 'POST', path: '/sign-in', body: SignInBody }, async ({ body, visit }) => {
      const email = normalEmail(body.email) ?? body.email;
      const accountId = body.account_id ?? parts.localAccountId;
      const credentials = { email, accountId, password: body.password };
      const { state, cookies: set } = await signIn.byPassword(credentials, visit);
      return shown({ state }, set);
    }),
    openRoute(
      { method: 'POST', path: '/sign-in/second-factor', body: CodeBody },
      async ({ body, visit }) => {
        const { state, cookies: set } = await signIn.bySecondFactor(body.code, visit);
        return shown({ state }, set);
      },
    ),
    openRoute({ method: 'POST', path: '/sign-out', body: EmptyBody }, async ({ visit }) => {
      const found = await live.find(visit.shown.session);
      if (found !== undefined) {
        const { stored, session } = found;
        const { userId, accountId } = session;
        const actor = { kind: 'user', id: userId, session: sessionIdOf(session) } as const;
        const line = { accountId, actor, ...originOf(visit), action: 'session.end' } as const;
        await audit.around(line, () => live.end(stored, [session]));
      }
      return done([cookies.noSession()]);
    }),
  ];
}

type JoinParts = Pick<ConsolePorts, 'users' | 'members' | 'accounts' | 'clock'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly cookies: Cookies;
};

type SetUpParts = JoinParts &
  Pick<ConsoleConfig, 'localAccountId'> & {
    readonly enter: (link: EntryLink, entrant: Entrant, visit: Visit) => Promise<SignedIn>;
  };

/** Routes for new members: the first owner uses a set-up link, others use an invitation. */
export function setUpRoutes({ enter, localAccountId, ...ports }: SetUpParts): ConsoleRoute[] {
  return [
    openRoute({ method: 'GET', path: '/setup' }, async () => {
      const people =
        localAccountId === undefined ? undefined : await ports.members.find(localAccountId);
      return shown({ is_needed: people !== undefined && !hasOwner(people) });
    }),
    openRoute(
      { method: 'POST', path: '/entry-link', body: EntryLinkBody },
      async ({ body: { token, kind } }) => shown(await describedLink(ports, token, kind)),
    ),
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
        if (link.kind !== 'invitation') throw new Error('the link has another kind');
        const { state, cookies } = await enter(link, { ...others, email: link.email }, visit);
        return made({ state, email: link.email }, cookies);
      },
    ),
    joinRoute(ports),
  ];
}

/** Route by which a signed-in user joins another account, with an invitation for the same email. */
function joinRoute(ports: JoinParts): ConsoleRoute {
  const { live, cookies } = ports;
  const shape = { method: 'POST', path: '/invitations/join', body: JoinBody } as const;
  return callerRoute(live, shape, async ({ caller, body, visit }) => {
    const link = await linkOf(ports, body.token, 'invitation');
    const { stored, session } = caller;
    if (link.kind !== 'invitation' || link.email !== stored.user.email) {
      throw faultFor('other_address', 'this invitation is for another email address');
    }
    const moved = await joinedBy(ports, link, { found: stored, ready: stored.user }, visit);
    const { accountId } = link;
    const { authenticatedBy, createdAtMs } = session;
    const next = { stored: moved, accountId, authenticatedBy, createdAtMs, from: session };
    const value = await live.begin(next, visit);
    return made({ account_id: accountId }, [cookies.session(value)]);
  });
}
