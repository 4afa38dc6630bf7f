import { permissionsOf, SESSION_MS_MAX } from '#accounts/people';
import type { ApiAddresses, ConsolePorts } from '#console/app/ports';
import { type ConsoleRoute, callerRoute, lineOf, SwitchBody } from '#console/app/route';
import { type Cookies, done, shown } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import { type Caller, type LiveSessions, sessionIdOf } from '#console/people/live-sessions';
import { Fault } from '#errors/fault';
import { isoTime } from '#stdlib/clock';

type OwnParts = Pick<ConsolePorts, 'accounts' | 'members'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly cookies: Cookies;
  readonly api: ApiAddresses | undefined;
};

/** Routes about the signed-in user: profile, accounts and sessions. */
export function ownRoutes(parts: OwnParts): ConsoleRoute[] {
  const { live, members } = parts;
  return [
    callerRoute(live, { method: 'GET', path: '/me' }, async ({ caller }) =>
      shown(await viewOfMe(parts, caller)),
    ),
    callerRoute(live, { method: 'GET', path: '/accounts' }, async ({ caller }) => {
      const own = await members.accountsOf(caller.stored.user.id);
      const views = own.map(async ({ accountId, role }) => {
        return { id: accountId, name: await nameOf(parts, accountId), role };
      });
      return shown(await Promise.all(views));
    }),
    switchRoute(parts),
    ...sessionRoutes(parts),
  ];
}

function switchRoute({ live, members, audit, cookies }: OwnParts): ConsoleRoute {
  const shape = { method: 'POST', path: '/account/switch', body: SwitchBody } as const;
  return callerRoute(live, shape, async ({ caller, body, visit }) => {
    const { stored, session } = caller;
    const accountId = body.account_id;
    const people = await members.find(accountId);
    if (!people.members.some(({ userId }) => userId === stored.user.id)) {
      throw new Fault('not_found', 'you are not a member of this account');
    }
    const { authenticatedBy, createdAtMs } = session;
    const next = { stored, accountId, authenticatedBy, createdAtMs, from: session };
    const line = { ...lineOf(caller, visit, 'session.switch'), accountId };
    const value = await audit.around(line, () => live.begin(next, visit));
    return shown({ account_id: accountId }, [cookies.session(value)]);
  });
}

function sessionRoutes({ live, audit, cookies }: OwnParts): ConsoleRoute[] {
  return [
    callerRoute(live, { method: 'GET', path: '/sessions' }, async ({ caller }) => {
      const all = await live.listOf(caller.stored);
      return shown(
        all.map((session) => ({
          id: sessionIdOf(session),
          is_current: session.digest === caller.session.digest,
          created_at: isoTime(session.createdAtMs),
          last_seen_at: isoTime(session.lastSeenAtMs),
          address: session.address,
          client: session.client,
          authenticated_by: session.authenticatedBy,
        })),
      );
    }),
    callerRoute(live, { method: 'DELETE', path: '/sessions' }, async ({ caller, visit }) => {
      const line = lineOf(caller, visit, 'session.end', { target: 'others' });
      await audit.around(line, () => live.endOthers(caller.stored, caller.session.digest));
      return done();
    }),
    callerRoute(
      live,
      { method: 'DELETE', path: '/sessions/:id' },
      async ({ caller, params, visit }) => {
        const all = await live.listOf(caller.stored);
        const session = all.find((each) => sessionIdOf(each) === params['id']);
        if (session === undefined) throw new Fault('not_found', 'you do not have this session');
        const line = lineOf(caller, visit, 'session.end', { target: sessionIdOf(session) });
        await audit.around(line, () => live.end(caller.stored, [session]));
        return done(session.digest === caller.session.digest ? [cookies.noSession()] : []);
      },
    ),
  ];
}

async function viewOfMe(parts: OwnParts, { stored, session, membership }: Caller) {
  const { user } = stored;
  const { accountId, role } = membership;
  return {
    user: {
      id: user.id,
      email: user.email,
      name: user.name,
      second_factor: user.secondFactor?.state === 'active' ? 'on' : 'off',
      recovery_codes_left: user.recoveryDigests.length,
    },
    account: { id: accountId, name: await nameOf(parts, accountId) },
    role,
    permissions: permissionsOf(role),
    session: {
      id: sessionIdOf(session),
      authenticated_by: session.authenticatedBy,
      expires_at: isoTime(session.createdAtMs + SESSION_MS_MAX),
    },
    ...viewOfApi(parts.api),
  };
}

function viewOfApi(api: ApiAddresses | undefined) {
  if (api === undefined) return {};
  const { url, docsUrl } = api;
  return { api_url: url, ...(docsUrl !== undefined && { api_docs_url: docsUrl }) };
}

/** Account name. Null if the account no longer exists. */
async function nameOf({ accounts }: OwnParts, accountId: string): Promise<string | null> {
  return (await accounts.find(accountId))?.account.name ?? null;
}
