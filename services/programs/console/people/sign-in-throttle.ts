import type { User } from '#accounts/people';
import { originOf, type Visit } from '#console/app/visit';
import type { ConsoleAudit } from '#console/people/audit';
import { networkOf } from '#edge/callers/known-callers';
import { Fault } from '#errors/fault';
import type { Clock } from '#stdlib/clock';
import { putNewest } from '#stdlib/hash-map';
import type { MemberStore } from '#storage/ports/people';
import { LogRateLimit } from '#telemetry/log-limits';
import type { Logger } from '#telemetry/logger';

/** A sign-in attempt: source and target. */
type Attempt = {
  /** Target of the attempt. A user with this email may exist or not. */
  readonly email: string;
  readonly address: string;
  /**
   * Digest of the device cookie, if this browser has signed in as this user before. Otherwise
   * undefined.
   */
  readonly deviceDigest: string | undefined;
};

/** An attempt that was counted as a failure. `succeeded` removes this failure. */
export type CountedTry = { readonly succeeded: () => void };

const MINUTE_MS = 60_000;

/** Number of free failures and maximum wait per source. Source: decision 246. */
const LIMITS = {
  /** Per pair of network and email, or of known device and email. */
  pair: { free: 5, waitMsMax: 15 * MINUTE_MS },
  /** Per network, with any email. */
  network: { free: 30, waitMsMax: MINUTE_MS },
  /** Per IPv6 /48 around a network, with any email. */
  site: { free: 300, waitMsMax: MINUTE_MS },
} as const;

/**
 * Slows down guessing without locking out the owner. If others guess passwords for the same email,
 * an unknown browser waits at most `emailWaitMsMax` for them. A known device waits only after its
 * own failures.
 *
 * `begin` counts each attempt as a failure, so that concurrent attempts cannot bypass the limit. A
 * refused attempt is not counted. Counts are per process: n processes allow n times as many
 * attempts. Source: decision 246.
 */
export class SignInThrottle {
  readonly #clock: Clock;
  readonly #pairs = new FailureTable(LIMITS.pair);
  readonly #networks = new FailureTable(LIMITS.network);
  readonly #sites = new FailureTable(LIMITS.site);
  readonly #emails: FailureTable;

  constructor(clock: Clock, options: { readonly free: number; readonly emailWaitMsMax: number }) {
    this.#clock = clock;
    this.#emails = new FailureTable({ free: options.free, waitMsMax: options.emailWaitMsMax });
  }

  /** Counts an attempt. Throws `rate_limited` if the source must still wait. */
  begin(attempt: Attempt): CountedTry {
    const sources = this.#sourcesOf(attempt);
    const nowMs = this.#clock.monotonicMs();
    const waitMs = Math.max(...sources.map(([table, source]) => table.waitMs(source, nowMs)));
    if (waitMs > 0) {
      const retryAfterS = Math.ceil(waitMs / 1_000);
      throw new Fault('rate_limited', 'too many failed sign-in attempts', { retryAfterS });
    }
    for (const [table, source] of sources) table.count(source, nowMs);
    return {
      succeeded: () => {
        for (const [table, source] of sources) {
          if (table === this.#pairs) table.clear(source);
          else table.forgive(source, this.#clock.monotonicMs());
        }
      },
    };
  }

  #sourcesOf({ email, address, deviceDigest }: Attempt): [FailureTable, string][] {
    if (deviceDigest !== undefined) return [[this.#pairs, `${email} device ${deviceDigest}`]];
    const { name, site } = networkOf(address);
    return [
      [this.#pairs, `${email} network ${name}`],
      [this.#emails, email],
      [this.#networks, name],
      ...(site === undefined ? [] : ([[this.#sites, site]] as [FailureTable, string][])),
    ];
  }
}

/** Number of free failures, and bounds for the exponential back-off afterwards. */
type FailureLimits = {
  /** Failures before the first wait. */
  readonly free: number;
  /** Maximum wait, in milliseconds. The first wait is a second, and each further wait doubles. */
  readonly waitMsMax: number;
};

/** The first wait, in milliseconds. */
const FIRST_WAIT_MS = 1_000;

/** Time after the last failure until failures are forgotten, in milliseconds. */
const REMEMBERED_MS = 60 * 60_000;

/** Maximum remembered sources. The oldest is evicted first. */
const SOURCES_MAX = 10_000;

type Failures = { readonly count: number; readonly lastMs: number };

/**
 * Failures by source, in bounded memory. Times are monotonic milliseconds. Source: decision 246.
 */
class FailureTable {
  readonly #limits: FailureLimits;
  readonly #failures = new Map<string, Failures>();

  constructor(limits: FailureLimits) {
    this.#limits = limits;
  }

  /** Returns the milliseconds until the source may try again, or 0 if the source may try now. */
  waitMs(source: string, nowMs: number): number {
    const { count, lastMs } = this.#of(source, nowMs);
    const { free, waitMsMax } = this.#limits;
    if (count < free) return 0;
    const spanMs = Math.min(waitMsMax, FIRST_WAIT_MS * 2 ** (count - free));
    return Math.max(0, lastMs + spanMs - nowMs);
  }

  /** Counts a failure. */
  count(source: string, nowMs: number): void {
    const { count } = this.#of(source, nowMs);
    putNewest(this.#failures, source, { count: count + 1, lastMs: nowMs }, SOURCES_MAX);
  }

  /** Removes one counted failure. */
  forgive(source: string, nowMs: number): void {
    const { count, lastMs } = this.#of(source, nowMs);
    if (count > 1) this.#failures.set(source, { count: count - 1, lastMs });
    else this.#failures.delete(source);
  }

  /** Forgets a source. */
  clear(source: string): void {
    this.#failures.delete(source);
  }

  #of(source: string, nowMs: number): Failures {
    const known = this.#failures.get(source);
    const isRemembered = known !== undefined && nowMs - known.lastMs < REMEMBERED_MS;
    return isRemembered ? known : { count: 0, lastMs: nowMs };
  }
}

/**
 * Maximum concurrent writes to audit trails. Failures beyond this number are not written; the log
 * counts them.
 */
const WRITING_MAX = 32;

type TrailPorts = {
  readonly audit: ConsoleAudit;
  readonly members: Pick<MemberStore, 'accountsOf'>;
  readonly clock: Clock;
  readonly logger: Logger;
};

/**
 * Writes failed sign-ins to the audit trails of the user's accounts. Runs in the background,
 * because a known email must not take longer than an unknown email.
 */
export class FailureTrail {
  readonly #ports: TrailPorts;
  readonly #lost: LogRateLimit;
  #writing = 0;

  constructor(ports: TrailPorts) {
    this.#ports = ports;
    this.#lost = new LogRateLimit(ports.clock);
  }

  /** Records a failure. A failure without a user has no trail. */
  failed(user: User | undefined, visit: Visit): void {
    if (user === undefined) return;
    if (this.#writing >= WRITING_MAX) {
      this.#lose('too many audit writes are in flight');
      return;
    }
    this.#writing += 1;
    this.#write(user, visit)
      .catch((error: Error) => this.#lose(error.message))
      .finally(() => {
        this.#writing -= 1;
      });
  }

  async #write({ id }: User, visit: Visit): Promise<void> {
    const { audit, members } = this.#ports;
    for (const { accountId } of await members.accountsOf(id)) {
      const actor = { kind: 'anonymous' } as const;
      await audit.refused({
        accountId,
        actor,
        ...originOf(visit),
        action: 'session.fail',
        target: id,
      });
    }
  }

  #lose(why: string): void {
    this.#lost.run((others) =>
      this.#ports.logger.warn({ why, others }, 'the audit trail lacks a failed sign-in'),
    );
  }
}
