import type { User } from '#accounts/people';
import type { ConsolePorts } from '#console/app/ports';
import {
  CodeBody,
  type ConsoleRoute,
  callerRoute,
  lineOf,
  NewPasswordBody,
  PasswordBody,
} from '#console/app/route';
import { type Cookies, done, shown } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import type { LiveSessions } from '#console/people/live-sessions';
import type { Passwords } from '#console/people/passwords';
import type { SecondFactors } from '#console/people/second-factors';
import { changedUser, deviceDigestOf, type SignIn } from '#console/people/sign-in';
import { faultFor } from '#errors/fault';

type CredentialParts = Pick<ConsolePorts, 'users'> & {
  readonly live: LiveSessions;
  readonly audit: ConsoleAudit;
  readonly cookies: Cookies;
  readonly passwords: Passwords;
  readonly secondFactors: SecondFactors;
  readonly signIn: SignIn;
};

/**
 * Routes for password, second factor and recovery codes. Each change needs the password or a code
 * again.
 */
export function credentialRoutes(parts: CredentialParts): ConsoleRoute[] {
  return [passwordRoute(parts), ...enrolmentRoutes(parts), ...changeRoutes(parts)];
}

function passwordRoute(parts: CredentialParts): ConsoleRoute {
  const { live, users, audit, cookies, passwords, signIn } = parts;
  const shape = { method: 'PUT', path: '/password', body: NewPasswordBody } as const;
  return callerRoute(live, shape, async ({ caller, body, visit }) => {
    const { stored, session } = caller;
    await signIn.confirm(caller, body.password, visit);
    const { email } = stored.user;
    const passwordHash = await passwords.hash(body.new_password, email, 'new_password');
    const device = deviceDigestOf(stored.user, visit);
    const changed = await audit.around(lineOf(caller, visit, 'user.password'), () =>
      changedUser(users, stored, (user) => {
        assertSame(user, stored.user);
        const deviceDigests = device === undefined ? [] : [device];
        const credentialsVersion = user.credentialsVersion + 1;
        return { ...user, passwordHash, credentialsVersion, deviceDigests };
      }),
    );
    const { accountId, authenticatedBy } = session;
    const next = { stored: changed, accountId, authenticatedBy, from: session };
    const value = await live.begin(next, visit);
    // All other sessions have ended: they have the old credentials version.
    return done([cookies.session(value)]);
  });
}

function enrolmentRoutes(parts: CredentialParts): ConsoleRoute[] {
  const { live, users, audit, cookies, secondFactors, signIn } = parts;
  const enrol = { method: 'POST', path: '/second-factor', body: PasswordBody } as const;
  const confirm = { method: 'POST', path: '/second-factor/confirm', body: CodeBody } as const;
  return [
    callerRoute(live, enrol, async ({ caller, body, visit }) => {
      await signIn.confirm(caller, body.password, visit);
      const { user, secret, uri } = secondFactors.enrolled(caller.stored.user);
      await audit.around(lineOf(caller, visit, 'user.second_factor_enrol'), () =>
        changedUser(users, caller.stored, (now) => {
          assertSame(now, caller.stored.user);
          return { ...now, ...pick(user) };
        }),
      );
      return shown({ secret, uri });
    }),
    callerRoute(live, confirm, async ({ caller, body, visit }) => {
      const { stored, session } = caller;
      const tried = signIn.codeTry(stored.user, visit);
      if (secondFactors.confirmed(stored.user, body.code) === undefined) {
        tried.failed();
        throw wrongCode();
      }
      let codes: readonly string[] = [];
      const changed = await audit.around(lineOf(caller, visit, 'user.second_factor_confirm'), () =>
        changedUser(users, stored, (user) => {
          const confirmed = secondFactors.confirmed(user, body.code);
          if (confirmed === undefined) throw wrongCode();
          codes = confirmed.codes;
          return confirmed.user;
        }),
      );
      tried.succeeded();
      const { accountId } = session;
      const next = { stored: changed, accountId, authenticatedBy: 'password+totp' } as const;
      const value = await live.begin({ ...next, from: session }, visit);
      return shown({ recovery_codes: codes }, [cookies.session(value)]);
    }),
  ];
}

function changeRoutes(parts: CredentialParts): ConsoleRoute[] {
  const { live, users, audit, cookies, secondFactors, signIn } = parts;
  const disable = { method: 'POST', path: '/second-factor/disable', body: PasswordBody } as const;
  const codes = { ...disable, path: '/second-factor/recovery-codes' } as const;
  return [
    callerRoute(live, disable, async ({ caller, body, visit }) => {
      await signIn.confirm(caller, body.password, visit);
      secondFactors.disabled(caller.stored.user);
      const changed = await audit.around(lineOf(caller, visit, 'user.second_factor_disable'), () =>
        changedUser(users, caller.stored, (user) => secondFactors.disabled(user)),
      );
      const { accountId, authenticatedBy } = caller.session;
      const next = { stored: changed, accountId, authenticatedBy, from: caller.session };
      return done([cookies.session(await live.begin(next, visit))]);
    }),
    callerRoute(live, codes, async ({ caller, body, visit }) => {
      await signIn.confirm(caller, body.password, visit);
      secondFactors.withCodes(caller.stored.user);
      let shownOnce: readonly string[] = [];
      await audit.around(lineOf(caller, visit, 'user.recovery_codes'), () =>
        changedUser(users, caller.stored, (user) => {
          const next = secondFactors.withCodes(user);
          shownOnce = next.codes;
          return next.user;
        }),
      );
      return shown({ recovery_codes: shownOnce });
    }),
  ];
}

/** Throws if another request has changed the password or second factor meanwhile. */
function assertSame(now: User, seen: User): void {
  const isSame =
    now.credentialsVersion === seen.credentialsVersion &&
    now.secondFactor?.state === seen.secondFactor?.state;
  if (!isSame) throw faultFor('second_factor_state', 'your credentials just changed; retry');
}

function pick({ secondFactor, recoveryDigests }: User): Partial<User> {
  return secondFactor === undefined ? { recoveryDigests } : { secondFactor, recoveryDigests };
}

function wrongCode() {
  return faultFor('wrong_code', 'this code is wrong or was already used; enter a new code');
}
