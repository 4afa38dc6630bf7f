import { isKnownAction, type KnownAction, UnknownActionError } from './actions.ts';
import type { CallOptions } from './call-options.ts';
import { IdentityEngineError } from './errors.ts';
import type { HeldContract } from './held-contract.ts';
import type { Action, Contract } from './models.ts';

/** What a contract says of an action; `open`: it stands in neither list and is left to the caller (interface 2.6). */
export type Verdict = 'allowed' | 'forbidden' | 'open';

/** How a guard judges. */
export type GuardOptions = {
  /** A contract older than this many milliseconds makes the guard throw; default: any age will do. */
  readonly maxAgeMs?: number | undefined;
};

/** The contract forbids the action. */
export class ActionForbiddenError extends IdentityEngineError {
  readonly action: Action;
  /** The contract that forbids it. */
  readonly contract: Contract;

  constructor(action: Action, contract: Contract) {
    super(`the contract forbids ${action}`);
    this.action = action;
    this.contract = contract;
  }
}

/** The guard has not seen a contract: call `refresh`, or process an observation through the same handle. */
export class NoContractError extends IdentityEngineError {
  constructor() {
    super('the guard has no contract yet; call refresh or process an observation');
  }
}

/** The newest contract is older than the guard's `maxAgeMs`. */
export class StaleContractError extends IdentityEngineError {
  /** Age of the contract, in milliseconds. */
  readonly ageMs: number;

  constructor(ageMs: number, maxAgeMs: number) {
    super(`the contract is ${Math.round(ageMs)} ms old, more than ${maxAgeMs} ms; call refresh`);
    this.ageMs = ageMs;
  }
}

/**
 * Asks the newest contract of an instance before the agent acts. Every answer through the same
 * `client.instance(id)` that has a contract updates it, so it costs no request of its own.
 */
export class ContractGuard {
  readonly #held: HeldContract;
  readonly #load: (options: CallOptions) => Promise<unknown>;
  readonly #maxAgeMs: number;

  /** Made by `instance.guard()`. */
  constructor(
    held: HeldContract,
    load: (options: CallOptions) => Promise<unknown>,
    { maxAgeMs = Number.POSITIVE_INFINITY }: GuardOptions,
  ) {
    this.#held = held;
    this.#load = load;
    if (!(maxAgeMs >= 0)) {
      throw new IdentityEngineError(`maxAgeMs must be at least 0, not ${maxAgeMs}`);
    }
    this.#maxAgeMs = maxAgeMs;
  }

  /** The newest contract; undefined until one was seen. */
  get contract(): Contract | undefined {
    return this.#held.contract;
  }

  /** Milliseconds since the request that brought the contract began, or its event came; undefined until one was seen. */
  get ageMs(): number | undefined {
    return this.#held.ageMs;
  }

  /**
   * The verdict of the contract on an action. An action that this release does not know is judged only if the
   * contract names it. Throws `UnknownActionError`, `NoContractError` or `StaleContractError`.
   */
  verdict(action: KnownAction): Verdict {
    if (!isKnownAction(action) && !this.#isNamed(action)) throw new UnknownActionError(action);
    const contract = this.#current();
    if (contract.forbidden_actions.includes(action)) return 'forbidden';
    return contract.allowed_actions.includes(action) ? 'allowed' : 'open';
  }

  /** Whether the contract does not forbid an action. Throws what `verdict` throws. */
  allows(action: KnownAction): boolean {
    return this.verdict(action) !== 'forbidden';
  }

  /** Throws `ActionForbiddenError` for a forbidden action, and what `verdict` throws. */
  require(action: KnownAction): void {
    if (!this.allows(action)) throw new ActionForbiddenError(action, this.#current());
  }

  /** Takes a contract that came another way, as of now. */
  update(contract: Contract): void {
    const nowMs = performance.now();
    this.#held.take({ contract, cycle: undefined, beganAtMs: nowMs, ageFromMs: nowMs });
  }

  /** Asks the service for the contract. Throws what `instance.contract` throws. */
  async refresh(options: CallOptions = {}): Promise<void> {
    await this.#load(options);
  }

  #isNamed(action: Action): boolean {
    const { contract } = this.#held;
    if (contract === undefined) return false;
    return [...contract.allowed_actions, ...contract.forbidden_actions].includes(action);
  }

  #current(): Contract {
    const { contract, ageMs = 0 } = this.#held;
    if (contract === undefined) throw new NoContractError();
    if (ageMs > this.#maxAgeMs) throw new StaleContractError(ageMs, this.#maxAgeMs);
    return contract;
  }
}
