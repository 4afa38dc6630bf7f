import type { Account } from '#accounts/account';
import type { AuditEntry } from '#audit/entry';
import { type AuditTrail, auditUnavailable } from '#audit/trail';
import { composeConsole } from '#console/app/app';
import type { ConsoleConfig, ConsolePorts } from '#console/app/ports';
import { makeSetUpLink } from '#console/people/entry';
import type { CourierClient } from '#grpc/courier-messages';
import type { AccountAdmin } from '#limiter/admin/accounts';
import { unchanging } from '#stdlib/files';
import { systemRandomness } from '#stdlib/randomness';
import { memoryAccountStore } from '#storage/memory/accounts';
import { memoryMemberStore, memorySessionStore, memoryUserStore } from '#storage/memory/people';
import { createLogger } from '#telemetry/logger';
import { createMetrics } from '#telemetry/metrics';
import { Browser } from '#test/console/browser';
import { serviceBehind } from '#test/console/service-behind';
import { ManualClock } from '#test/support/manual-clock';
import { TEST_ORIGIN } from '#test/support/test-logger';

/** A valid password of the first owner. */
export const PASSWORD = 'a fine and private place';

/** Id of the account under test. */
export const ACCOUNT_ID = 'accountOfAda';
/** Id of another account. */
export const OTHER_ACCOUNT_ID = 'accountOfBob';

/**
 * A listening console with stores in memory, a service behind it, a manual clock and recorded
 * output.
 */
export type TestConsole = AsyncDisposable & {
  readonly origin: string;
  readonly clock: ManualClock;
  readonly ports: ConsolePorts;
  readonly admin: AccountAdmin;
  /** Lines of all audit trails. */
  readonly audited: AuditEntry[];
  /** Makes audit writes fail, or succeed again. */
  readonly failAudit: (isFailing: boolean) => void;
  /** All lines of the log. */
  readonly log: () => string;
  /** A browser without a cookie. */
  readonly browser: (address?: string) => Browser;
  /** Creates a set-up link and returns its token. */
  readonly setUpToken: (accountId?: string) => Promise<string>;
  /** Returns a browser with a new session of the account's owner. */
  readonly owner: (email?: string, accountId?: string) => Promise<Browser>;
  /** Invites a member and returns a browser with the member's session. */
  readonly member: (owner: Browser, email: string, role: string) => Promise<Browser>;
};

/**
 * Opens a console; `config` and `ports` replace defaults. `courier` sends webhooks. Undefined:
 * nothing is sent.
 */
export async function openConsole(
  config: Partial<ConsoleConfig> = {},
  ports: Partial<ConsolePorts> = {},
  courier?: CourierClient,
): Promise<TestConsole> {
  const lines: string[] = [];
  const audited: AuditEntry[] = [];
  const state = { isAuditFailing: false };
  const clock = new ManualClock();
  const accounts = memoryAccountStore(clock);
  for (const id of [ACCOUNT_ID, OTHER_ACCOUNT_ID]) await accounts.create(someAccount(id));
  const behind = serviceBehind(clock, accounts, courier);
  noteLines(behind.ports.trail, (entry) => {
    if (state.isAuditFailing) throw auditUnavailable(new Error('the disk is full'));
    audited.push(entry);
  });
  const whole: ConsolePorts = {
    ...{
      users: memoryUserStore(),
      sessions: memorySessionStore(clock),
      members: memoryMemberStore(),
    },
    ...{ accounts, clock, randomness: systemRandomness, metrics: createMetrics() },
    logger: createLogger('debug', TEST_ORIGIN, { write: (line: string) => void lines.push(line) }),
    ...behind.ports,
    ...ports,
  };
  // The fake browsers set their address in X-Forwarded-For.
  const settings: ConsoleConfig = {
    ...{ origin: undefined, trustedProxies: ['127.0.0.1'], localAccountId: ACCOUNT_ID },
    secrets: unchanging(['the secret of this test']),
    clusterSecrets: unchanging(['the secret of this test']),
    ...config,
  };
  const running = await composeConsole({ host: '127.0.0.1', port: 0 }, settings, whole);
  const { origin, address } = running;
  const browser = (from = '203.0.113.7') => new Browser(address, { origin, from });
  const setUpToken = async (accountId = ACCOUNT_ID) =>
    tokenIn(await makeSetUpLink(whole, accountId, origin));
  const owner = async (email = 'ada@example.com', accountId = ACCOUNT_ID) => {
    const own = browser();
    const body = { token: await setUpToken(accountId), email, password: PASSWORD, name: 'Ada' };
    await own.expect(201, 'POST', '/setup', body);
    return own;
  };
  return {
    ...{ origin, clock, ports: whole, admin: behind.admin, audited, browser, setUpToken, owner },
    failAudit: (isFailing) => {
      state.isAuditFailing = isFailing;
    },
    log: () => lines.join(''),
    async member(inviting, email, role) {
      const { data } = await inviting.expect(201, 'POST', '/members/invitations', { email, role });
      const own = browser();
      const body = { token: tokenIn(data['link']), password: PASSWORD, name: 'A Member' };
      await own.expect(201, 'POST', '/invitations/accept', body);
      return own;
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await behind[Symbol.asyncDispose]();
    },
  };
}

/** The token at the end of a link. */
export function tokenIn(link: unknown): string {
  const token = String(link).split('/').at(-1);
  if (token === undefined || !token.includes('.')) throw new Error(`no link: ${String(link)}`);
  return token;
}

/** Calls `note` with each audit line before the trail appends it. */
function noteLines(trail: Pick<AuditTrail, 'append'>, note: (entry: AuditEntry) => void): void {
  const append = trail.append.bind(trail);
  trail.append = async (accountId, entry) => {
    note(entry);
    return await append(accountId, entry);
  };
}

function someAccount(id: string): Account {
  const limits = { requestsPerMinute: 1_000, cyclesPerMonth: 10_000, instances: 1_000 };
  return { id, name: `Account ${id}`, plan: 'free', status: 'active', limits, createdAtMs: 1 };
}
