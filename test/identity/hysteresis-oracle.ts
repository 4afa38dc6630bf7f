import {
  ACTIONS,
  isAlwaysOpen,
  isGated,
  newSnapshot,
  propensities,
  readSnapshot,
  readStyle,
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
  /**
   * Style label by field, before the caps of stress. `waited` is the number of consecutive
   * observations that asked for another label.
   */
  readonly style: readonly { readonly label: number; readonly waited: number }[];
};

const STYLE_FIELDS = ['tempo', 'risk', 'expressiveness', 'commitment'] as const;

/**
 * Test oracle: a second implementation of model 4.1 with plain lists. A test compares its lists
 * with the packed numbers of the model. `state` is the state after a cycle. `previous` is the
 * result for the previous cycle; undefined for a new identity.
 */
export function heldAfter(state: State, previous: Held | undefined): Held {
  // A breach restores an earlier state, so the lists begin again.
  const before = at(state, OFFSET.driftLevel) === 3 ? undefined : previous;
  const snapshot = newSnapshot();
  readSnapshot(state, snapshot);
  const band = at(state, OFFSET.energyBand);
  const threshold = weighActions(state, snapshot);
  const inclined = [...propensities];
  const judged = ACTIONS.map((_, action) => {
    const inclination = inclined[action] ?? 0;
    const isOpen = isAlwaysOpen(action, snapshot.stressLevel, band);
    const isShut = !isOpen && isGated(action, snapshot.stressLevel, band);
    const isForbidden = isShut || (!isOpen && inclination <= -0.15 && action !== STABILIZE);
    const wanted = isForbidden ? -1 : Number(isOpen || inclination >= threshold);
    const isUrgent = isOpen || isShut || (isForbidden && before?.verdicts[action] === 1);
    const present = isUrgent ? wanted : (before?.verdicts[action] ?? wanted);
    return confirmed(wanted, present, before?.waited[action] ?? 0);
  });
  const verdicts = judged.map(({ verdict }) => verdict);
  if (!verdicts.includes(1)) verdicts[STABILIZE] = 1;
  const orderOf = (verdict: number, last: readonly number[]) => {
    const keyOf = (action: number) => verdict * (inclined[action] ?? 0);
    const order: number[] = [];
    for (const action of last.filter((one) => verdicts[one] === verdict)) {
      const led = order.findIndex((other) => keyOf(action) - keyOf(other) > 0.1);
      order.splice(led < 0 ? order.length : led, 0, action);
    }
    for (const [action, found] of verdicts.entries()) {
      if (found !== verdict || last.includes(action)) continue;
      const ahead = order.findLastIndex((other) => keyOf(action) <= keyOf(other));
      order.splice(ahead + 1, 0, action);
    }
    return order;
  };
  const styled = { tempo: 0, risk: 0, expressiveness: 0, commitment: 0 };
  readStyle(state, snapshot, styled);
  const style = STYLE_FIELDS.map((field, index) => {
    const last = before?.style[index];
    const { verdict: label, waited } = confirmed(
      styled[field],
      last?.label ?? styled[field],
      last?.waited ?? 0,
    );
    return { label, waited };
  });
  return {
    verdicts,
    waited: judged.map(({ waited }) => waited),
    allowed: orderOf(1, before?.allowed ?? []),
    forbidden: orderOf(-1, before?.forbidden ?? []),
    style,
  };
}

/** Keeps the present verdict or label until three consecutive observations ask for another. */
function confirmed(wanted: number, present: number, waited: number) {
  if (wanted === present || waited === 2) return { verdict: wanted, waited: 0 };
  return { verdict: present, waited: waited + 1 };
}
