import { userInfo } from 'node:os';
import type { AuditEntry } from '#audit/entry';
import { AuditTrail } from '#audit/trail';
import type { ClusterPorts } from '#ctl/command';
import { USER_NAME } from '#limiter/admin/route';
import type { AuditStore } from '#storage/ports/audit';

/** Writes down what `ctl` is about to do to accounts in the stores, by the user that it runs for. */
export class OperatorAudit {
  readonly #trail: AuditTrail;

  constructor({ audit: store, clock }: Pick<ClusterPorts, 'audit' | 'clock'>) {
    this.#trail = new AuditTrail({ store, clock });
  }

  /**
   * Fulfils when the line is durable, with what says how it ended, as far as the trail can be reached.
   * Rejects with `audit_unavailable`: it must not happen then.
   */
  async begin(accountId: string, what: OperatorAction): Promise<EndAction> {
    const of = await this.#trail.append(accountId, { ...byOperator(what), outcome: 'begun' });
    return async (outcome) => {
      const { before: _, ...named } = byOperator(what);
      await this.#trail.append(accountId, { ...named, of, outcome }).catch(() => undefined);
    };
  }

  /**
   * Does it between two lines. Rejects with `audit_unavailable` before anything has happened, and as
   * `act`.
   */
  async around<Result>(
    accountId: string,
    what: OperatorAction,
    act: () => Promise<Result>,
  ): Promise<Result> {
    return await this.#trail.around(accountId, byOperator(what), act, () => ({}));
  }
}

/** Says how an action ended. */
export type EndAction = (outcome: AuditEntry['outcome']) => Promise<void>;

/** What is done, by its name, and to what. */
type OperatorAction = Pick<AuditEntry, 'action' | 'target' | 'before' | 'after'>;

function byOperator(what: OperatorAction): Omit<AuditEntry, 'outcome'> {
  return { ...what, actor: { kind: 'operator', name: operatorName() } };
}

/** Removes the months of an account before `keptFrom`; undefined: every month. Answers how many. */
export async function eraseMonths(
  store: AuditStore,
  accountId: string,
  keptFrom: string | undefined,
): Promise<number> {
  const months = await store.months(accountId);
  const over = months.filter((month) => keptFrom === undefined || month < keptFrom);
  for (const month of over) await store.erase(accountId, month);
  return over.length;
}

/** The user of this process; undefined for one that is a mere number, as in some containers. */
export function operatorName(): string | undefined {
  try {
    const { username } = userInfo();
    return USER_NAME.test(username) ? username : undefined;
  } catch {
    return undefined;
  }
}
