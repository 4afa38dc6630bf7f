import { IdentityEngineError } from './errors.ts';
import type { Action } from './models.ts';

/**
 * Actions known to this release (interface 2.6), as constants: `ACTIONS.explore`.
 * `Object.values(ACTIONS)` lists the actions.
 */
export const ACTIONS = Object.freeze({
  explore: 'explore',
  question: 'question',
  elaborate: 'elaborate',
  suggest: 'suggest',
  execute: 'execute',
  pivot: 'pivot',
  challenge: 'challenge',
  comfort: 'comfort',
  clarify: 'clarify',
  stabilize: 'stabilize',
  defer: 'defer',
  withdraw: 'withdraw',
} as const satisfies Readonly<Record<string, Action>>);

/** Closed type of known actions. `Action` also admits actions of later service releases. */
export type KnownAction = (typeof ACTIONS)[keyof typeof ACTIONS];

/** Whether a value, such as a language model's answer, is the exact name of a known action. */
export function isKnownAction(value: unknown): value is KnownAction {
  return typeof value === 'string' && Object.hasOwn(ACTIONS, value);
}

/** The guard was asked about an unknown action, such as a misspelt name. */
export class UnknownActionError extends IdentityEngineError {
  /** The unknown action. */
  readonly action: unknown;

  constructor(action: unknown) {
    const given = typeof action === 'string' ? JSON.stringify(action) : String(action);
    super(`unknown action ${given}; actions are ${Object.values(ACTIONS).join(', ')}`);
    this.action = action;
  }
}
