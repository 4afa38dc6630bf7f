import {
  ACTIONS,
  isAlwaysOpen,
  isGated,
  newSnapshot,
  propensities,
  readSnapshot,
  STABILIZE,
  weighActions,
} from '#identity/contract';
import { at, OFFSET, type State } from '#identity/state';

/** Verdicts and action lists of a contract, after one observation. */
type Held = {
  /** Verdict by action: 1 is allowed, 0 is left to the caller, -1 is forbidden. */
  readonly verdicts: readonly number[];
  /** Number of consecutive observations that asked for another verdict, by action. */
  readonly waited: readonly number[];
  /** Allowed actions, in the order of the contract. */
  readonly allowed: readonly number[];
  /** Forbidden actions, in the order of the contract. */
  readonly forbidden: readonly number[];
};

/**
 * Test oracle: a second implementation of model 4.1 with plain lists. A test compares its lists
 * with the packed numbers of the model. `state` is the state after a cycle. `before` is the result
 * for the previous cycle; undefined for a new identity.
 */
export function heldAfter(state: State, before: Held | undefined): Held {
  const snapshot = newSnapshot();
  readSnapshot(state, snapshot);
  const band = at(state, OFFSET.energyBand);
  const isBreached = at(state, OFFSET.driftLevel) === 3;
  const threshold = weighActions(state, snapshot);
  const inclined = [...propensities];
  const judged = ACTIONS.map((_, action) => {
    const inclination = inclined[action] ?? 0;
    const isOpen = isAlwaysOpen(action, snapshot.stressLevel, band);
    const isShut = !isOpen && isGated(action, snapshot.stressLevel, band);
    const isForbidden = isShut || (!isOpen && inclination <= -0.15 && action !== STABILIZE);
    const wanted = isForbidden ? -1 : Number(isOpen || inclination >= threshold);
    const isUrgent = isOpen || isShut || (isBreached && isForbidden);
    const present = isUrgent ? wanted : (before?.verdicts[action] ?? wanted);
    return confirmed(wanted, present, before?.waited[action] ?? 0);
  });
  const verdicts = judged.map(({ verdict }) => verdict);
  if (!verdicts.includes(1)) verdicts[STABILIZE] = 1;
  const orderOf = (verdict: number, last: readonly number[]) => {
    const keyOf = (action: number) => verdict * (inclined[action] ?? 0);
    const order: number[] = [];
    const insert = (action: number, lead: number) => {
      const ahead = order.findLastIndex((other) => keyOf(action) - keyOf(other) <= lead);
      order.splice(ahead + 1, 0, action);
    };
    for (const action of last) if (verdicts[action] === verdict) insert(action, 0.1);
    for (const [action, found] of verdicts.entries()) {
      if (found === verdict && !last.includes(action)) insert(action, 0);
    }
    return order;
  };
  return {
    verdicts,
    waited: judged.map(({ waited }) => waited),
    allowed: orderOf(1, before?.allowed ?? []),
    forbidden: orderOf(-1, before?.forbidden ?? []),
  };
}

/** Keeps the present verdict until three consecutive observations ask for another verdict. */
function confirmed(wanted: number, present: number, waited: number) {
  if (wanted === present || waited === 2) return { verdict: wanted, waited: 0 };
  return { verdict: present, waited: waited + 1 };
}
