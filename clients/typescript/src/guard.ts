import { isKnownAction, type KnownAction, UnknownActionError } from './actions.ts';
import type { CallOptions } from './calls/call-options.ts';
import { IdentityEngineError } from './errors.ts';
import type { HeldContract } from './held-contract.ts';
import type { Action, Contract } from './models.ts';

/**
 * Verdict of a contract on an action. `open`: the contract neither allows nor forbids the action,
 * so the caller decides (interface 2.6).
 */
export type Verdict = 'allowed' | 'forbidden' | 'open';

/** Guard options. */
export type GuardOptions = {
  /**
   * Maximum age of the contract, in milliseconds. With an older contract, the guard throws.
   * Default: any age.
   */
  readonly maxAgeMs?: number | undefined;
};

/** The contract forbids the action. */
export class ActionForbiddenError extends IdentityEngineError {
  readonly action: Action;
  /** The contract that forbids the action. */
  readonly contract: Contract;

  constructor(action: Action, contract: Contract) {
    super(`the contract forbids ${action}`);
    this.action = action;
    this.contract = contract;
  }
}

/**
 * The guard has no contract yet: call `refresh`, or process an observation through the same handle.
 */
export class NoContractError extends IdentityEngineError {
  constructor() {
    super('the guard has no contract yet; call refresh or process an observation');
  }
}

/** The newest contract is older than `maxAgeMs`. */
export class StaleContractError extends IdentityEngineError {
  /** Age of the contract, in milliseconds. */
  readonly ageMs: number;

  constructor(ageMs: number, maxAgeMs: number) {
    super(`the contract is ${Math.round(ageMs)} ms old, more than ${maxAgeMs} ms; call refresh`);
    this.ageMs = ageMs;
  }
}

/**
 * Checks actions against the newest contract of an instance. Every contract that the same handle
 * (`client.instance(id)`) receives updates the guard. Checks therefore send no requests.
 */
export class ContractGuard {
  readonly #held: HeldContract;
  readonly #load: (options: CallOptions) => Promise<unknown>;
  readonly #maxAgeMs: number;

  /** Created by `instance.guard()`. */
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

  /** Newest contract; undefined before the first contract. */
  get contract(): Contract | undefined {
    return this.#held.contract;
  }

  /**
   * Age of the contract in milliseconds, from the start of the request or the arrival of the event.
   * Undefined before the first contract.
   */
  get ageMs(): number | undefined {
    return this.#held.ageMs;
  }

  /**
   * Returns the contract's verdict on an action. Throws `UnknownActionError` for an action that
   * neither this release nor the contract lists, `NoContractError` or `StaleContractError`.
   */
  verdict(action: KnownAction): Verdict {
    if (!isKnownAction(action) && !this.#isNamed(action)) throw new UnknownActionError(action);
    const contract = this.#current();
    if (contract.forbidden_actions.includes(action)) return 'forbidden';
    return contract.allowed_actions.includes(action) ? 'allowed' : 'open';
  }

  /** Whether the contract does not forbid an action. Throws the errors of `verdict`. */
  allows(action: KnownAction): boolean {
    return this.verdict(action) !== 'forbidden';
  }

  /** Throws `ActionForbiddenError` for a forbidden action, and the errors of `verdict`. */
  require(action: KnownAction): void {
    if (!this.allows(action)) throw new ActionForbiddenError(action, this.#current());
  }

  /** Stores a contract that the caller received elsewhere. The age of the contract starts now. */
  update(contract: Contract): void {
    const nowMs = performance.now();
    this.#held.take({ contract, cycle: undefined, beganAtMs: nowMs, ageFromMs: nowMs });
  }

  /** Requests the current contract. Throws the errors of `instance.contract`. */
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
