import { normalEmail } from '#accounts/user';
import { done, shown } from '#console/answer';
import type { ConsoleAudit } from '#console/console-audit';
import type { ConsolePorts } from '#console/console-ports';
import type { Cookies } from '#console/cookies';
import { type LiveSessions, sessionIdOf } from '#console/live-sessions';
import { type ConsoleRoute, openRoute } from '#console/route';
import { CodeBody, EmptyBody, SignInBody } from '#console/schemas';
import type { SignIn } from '#console/sign-in';
import { originOf } from '#console/visit';

type SignInRouteParts = Pick<ConsolePorts, 'sessions'> & {
  /** The account of a local run, of which people are who name none. */
  readonly localAccountId: string | undefined;
  readonly signIn: SignIn;
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly cookies: Cookies;
};

/** Signing in, with a second factor where there is one, and out. */
export function signInRoutes(parts: SignInRouteParts): ConsoleRoute[] {
  const { signIn, live, audit, cookies, sessions } = parts;
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
        const { session } = found;
        const { userId, accountId, digest } = session;
        const actor = { kind: 'user', id: userId, session: sessionIdOf(session) } as const;
        const line = { accountId, actor, ...originOf(visit), action: 'session.end' } as const;
        await audit.around(line, () => sessions.end(userId, [digest]));
      }
      return done([cookies.noSession()]);
    }),
  ];
}
