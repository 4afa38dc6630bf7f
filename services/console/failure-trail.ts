import type { User } from '#accounts/user';
import type { ConsoleAudit } from '#console/console-audit';
import { originOf, type Visit } from '#console/visit';
import type { Clock } from '#platform/clock';
import { LogRateLimit } from '#platform/log-rate-limit';
import type { Logger } from '#platform/logger';
import type { MemberStore } from '#storage/member-store';

/** Lines about failures that are being written at once; of more a number stands in the log. Chosen. */
const WRITING_MAX = 32;

type TrailPorts = {
  readonly audit: ConsoleAudit;
  readonly members: Pick<MemberStore, 'accountsOf'>;
  readonly clock: Clock;
  readonly logger: Logger;
};

/**
 * Writes sign-ins that failed to the audit trail of each account of the user. No answer waits for that:
 * nothing is done that a line would have to precede, and a known email must not take longer than an
 * unknown one.
 */
export class FailureTrail {
  readonly #ports: TrailPorts;
  readonly #lost: LogRateLimit;
  #writing = 0;

  constructor(ports: TrailPorts) {
    this.#ports = ports;
    this.#lost = new LogRateLimit(ports.clock);
  }

  /** Notes a failure; of no user there is no trail. */
  failed(user: User | undefined, visit: Visit): void {
    if (user === undefined) return;
    if (this.#writing >= WRITING_MAX) {
      this.#lose('too many at once');
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
      this.#ports.logger.warn({ why, others }, 'a failed sign-in is missing in the audit trail'),
    );
  }
}
