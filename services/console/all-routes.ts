import { ConsoleAudit } from '#console/console-audit';
import type { ConsoleConfig, ConsolePorts } from '#console/console-ports';
import type { Cookies } from '#console/cookies';
import { enterBy } from '#console/entry';
import { FailureTrail } from '#console/failure-trail';
import type { LiveSessions } from '#console/live-sessions';
import { Passwords } from '#console/passwords';
import type { ConsoleRoute } from '#console/route';
import { auditRoutes } from '#console/routes/audit-routes';
import { billingRoutes } from '#console/routes/billing-routes';
import { credentialRoutes } from '#console/routes/credential-routes';
import { instanceUsageRoutes } from '#console/routes/instance-usage-routes';
import { keyRoutes } from '#console/routes/key-routes';
import { memberRoutes } from '#console/routes/member-routes';
import { ownRoutes } from '#console/routes/own-routes';
import { setUpRoutes } from '#console/routes/set-up-routes';
import { signInRoutes } from '#console/routes/sign-in-routes';
import { usageRoutes } from '#console/routes/usage-routes';
import { SecondFactors } from '#console/second-factors';
import { SignIn } from '#console/sign-in';
import { AccountBilling } from '#edge/account-billing';

/** What routes need of the application that they are part of. */
type Setting = {
  readonly cookies: Cookies;
  readonly origin: () => string;
  readonly live: LiveSessions;
};

/** Every route of the console, each with no more than it needs. */
export function consoleRoutes(
  { secrets, localAccountId }: ConsoleConfig,
  ports: ConsolePorts,
  { cookies, origin, live }: Setting,
): ConsoleRoute[] {
  const { users, sessions, members, accounts, clock, randomness, keys, usage } = ports;
  const audit = new ConsoleAudit(ports.trail);
  const passwords = new Passwords();
  const secondFactors = new SecondFactors({ clock, randomness }, secrets);
  const trail = new FailureTrail({ ...ports, audit });
  const signIn = new SignIn({
    ...{ users, sessions, members, clock, randomness, metrics: ports.metrics },
    ...{ audit, live, passwords, secondFactors, cookies, trail },
  });
  const entry = { users, members, clock, randomness, audit, passwords, signIn };
  return [
    ...setUpRoutes({
      ...{ users, members, clock, live, audit, cookies, localAccountId },
      enter: (link, entrant, visit) => enterBy(entry, link, entrant, visit),
    }),
    ...signInRoutes({ sessions, signIn, live, audit, cookies, localAccountId }),
    ...ownRoutes({ accounts, members, sessions, live, audit, cookies }),
    ...credentialRoutes({ users, live, audit, cookies, passwords, secondFactors, signIn }),
    ...keyRoutes({ keys, clock, members, users, live, audit }),
    ...auditRoutes({ live, audit, trail: ports.trail }),
    ...billingRoutes({ live, billing: new AccountBilling(ports.limiter), origin }),
    ...usageRoutes({ live, usage, accounts, clock }),
    ...instanceUsageRoutes({ live, usage, clock, engine: ports.engine }),
    ...memberRoutes({ users, members, keys, clock, randomness, live, audit, origin }),
  ];
}
