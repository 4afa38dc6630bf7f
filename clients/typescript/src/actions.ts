import { IdentityEngineError } from './errors.ts';
import type { Action } from './models.ts';

/**
 * The actions that this release knows (interface 2.6), for code that names them: `ACTIONS.explore`.
 * `Object.values(ACTIONS)` lists them.
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

/** A closed type of the known actions; `Action` also has those of later releases of the service. */
export type KnownAction = (typeof ACTIONS)[keyof typeof ACTIONS];

/** Whether a value, such as the answer of a language model, is exactly the name of a known action. */
export function isKnownAction(value: unknown): value is KnownAction {
  return typeof value === 'string' && Object.hasOwn(ACTIONS, value);
}

/** A guard was asked about a word that is no action, such as a misspelt one. */
export class UnknownActionError extends IdentityEngineError {
  /** The word that the guard was asked about. */
  readonly action: unknown;

  constructor(action: unknown) {
    const given = typeof action === 'string' ? JSON.stringify(action) : String(action);
    super(`unknown action ${given}; actions are ${Object.values(ACTIONS).join(', ')}`);
    this.action = action;
  }
}
