/*
 * Transitions: changes of an instance that its platform wants to hear of. A transition is stored as
 * numbers; `GET /v1/events` shows it as JSON.
 */
import { ACTIONS, type Action } from '#identity/contract';
import { DRIFT_LEVELS, IDENTITY_BREACH } from '#identity/drift';
import { MODE_COUNT, MODE_NAMES } from '#identity/modes';
import { itemAt, type Ranking } from '#identity/ranking';
import type { Report } from '#identity/report';
import { STRESS_STATES } from '#identity/state';

/** Types of transitions. Their positions are stored, so the order never changes. */
export const TRANSITIONS = [
  'created',
  'renamed',
  'reset',
  'deleted',
  'rolled_back',
  'drift_changed',
  'stress_changed',
  'contract_changed',
  'mode_changed',
] as const;
/** Type of a transition. */
export type TransitionType = (typeof TRANSITIONS)[number];

/**
 * Types that callers must ask for, because they are frequent. They do not move the time of an
 * instance's newest change.
 */
export const FREQUENT_TYPES: ReadonlySet<TransitionType> = new Set([
  'contract_changed',
  'mode_changed',
]);

const FREQUENT = new Set(TRANSITIONS.flatMap((type, at) => (FREQUENT_TYPES.has(type) ? [at] : [])));

/**
 * Leading modes: the first dominant mode, or `None` if all modes are weak. Their positions are
 * stored, so the order never changes.
 */
export const LEADING_MODES = [...MODE_NAMES, 'None'] as const;

/**
 * Watched values of a state in one number: stress state (2 bits), drift level (2 bits), allowed
 * actions (12 bits), forbidden actions (12 bits) and leading mode (3 bits).
 */
export type Flags = number;

/** A transition as numbers: the position of its type, the cycle, and flags after and before. */
export type Transition = readonly [type: number, cycle: number, after: Flags, before: Flags];

const DRIFT_SHIFT = 2;
const ALLOWED_SHIFT = 4;
const FORBIDDEN_SHIFT = ALLOWED_SHIFT + ACTIONS.length;
const MODE_SHIFT = FORBIDDEN_SHIFT + ACTIONS.length;
const LEVEL_BITS = 0b11;
/** Position of `None` in `LEADING_MODES`. */
const NO_MODE = MODE_COUNT;
const ACTION_BITS = (1 << ACTIONS.length) - 1;

/** Largest value of flags. */
export const FLAGS_MAX: Flags = 2 ** (MODE_SHIFT + 3) - 1;

/** Bits of the contract's lists in flags. */
const CONTRACT_BITS = 2 ** MODE_SHIFT - 2 ** ALLOWED_SHIFT;

/** Reads the flags of a report. */
export function flagsOf({ snapshot, contract, deviation }: Report): Flags {
  return (
    snapshot.stressLevel |
    (deviation.level << DRIFT_SHIFT) |
    (actionsIn(contract.allowed) << ALLOWED_SHIFT) |
    (actionsIn(contract.forbidden) << FORBIDDEN_SHIFT) |
    (leadingIn(contract.dominant) << MODE_SHIFT)
  );
}

function leadingIn(dominant: Ranking): number {
  return dominant.count === 0 ? NO_MODE : itemAt(dominant, 0);
}

/** Set of the actions in a ranking, as bits. The order of the actions is not part of the set. */
function actionsIn(ranking: Ranking): number {
  let bits = 0;
  for (let place = 0; place < ranking.count; place += 1) bits |= 1 << itemAt(ranking, place);
  return bits;
}

/** Transition with the type of a change of the instance itself. */
export function lifecycleTransition(
  type: 'created' | 'renamed' | 'reset' | 'deleted',
  cycle: number,
  after: Flags,
  before: Flags,
): Transition {
  return [TRANSITIONS.indexOf(type), cycle, after, before];
}

const ROLLED_BACK = TRANSITIONS.indexOf('rolled_back');
const DRIFT_CHANGED = TRANSITIONS.indexOf('drift_changed');
const STRESS_CHANGED = TRANSITIONS.indexOf('stress_changed');
const CONTRACT_CHANGED = TRANSITIONS.indexOf('contract_changed');
const MODE_CHANGED = TRANSITIONS.indexOf('mode_changed');

/**
 * Appends the transitions between two flags, in the order of `TRANSITIONS`. `isCycle`: the later
 * flags are those of an observation, so a breach was rolled back.
 */
export function addTransitions(
  into: Transition[],
  cycle: number,
  after: Flags,
  before: Flags,
  isCycle: boolean,
): void {
  const level = levelIn(after);
  if (isCycle && level === IDENTITY_BREACH) into.push([ROLLED_BACK, cycle, after, before]);
  if (after === before) return;
  if (level !== levelIn(before)) into.push([DRIFT_CHANGED, cycle, after, before]);
  if (stressIn(after) !== stressIn(before)) into.push([STRESS_CHANGED, cycle, after, before]);
  if (((after ^ before) & CONTRACT_BITS) !== 0) {
    into.push([CONTRACT_CHANGED, cycle, after, before]);
  }
  if (modeIn(after) !== modeIn(before)) into.push([MODE_CHANGED, cycle, after, before]);
}

/** Whether a transition moves the time of an instance's newest change. */
export function isNoted(transitions: readonly (readonly number[])[]): boolean {
  return transitions.some(([type = 0]) => !FREQUENT.has(type));
}

/** Position of the stress state in `STRESS_STATES`. */
export function stressIn(flags: Flags): number {
  return flags & LEVEL_BITS;
}

/** Position of the drift level in `DRIFT_LEVELS`. */
export function levelIn(flags: Flags): number {
  return (flags >>> DRIFT_SHIFT) & LEVEL_BITS;
}

/** Position of the leading mode in `LEADING_MODES`. */
export function modeIn(flags: Flags): number {
  return flags >>> MODE_SHIFT;
}

/** Actions that entered and left a list. */
type ListChange = { readonly added: readonly Action[]; readonly removed: readonly Action[] };

/** A transition as fields of an event. */
type TransitionFields = {
  readonly type: TransitionType;
  readonly cycle: number;
  readonly stress_state?: string;
  readonly drift_level?: string;
  readonly from?: string;
  readonly to?: string;
  readonly allowed_actions?: ListChange;
  readonly forbidden_actions?: ListChange;
};

/** Fields of a transition for an event. Throws an Error for an unknown type. */
export function transitionFields([position, cycle, after, before]: Transition): TransitionFields {
  const type = TRANSITIONS[position];
  if (type === undefined) throw new Error(`a transition has the unknown type ${position}`);
  if (type === 'deleted') return { type, cycle };
  const stress = { stress_state: stressName(after) };
  const present = { type, cycle, ...stress, drift_level: levelName(after) };
  switch (type) {
    case 'created':
    case 'renamed':
    case 'reset':
    case 'rolled_back':
      return present;
    case 'drift_changed':
      return { ...present, from: levelName(before), to: levelName(after) };
    case 'stress_changed':
      return { ...present, from: stressName(before), to: stressName(after) };
    case 'contract_changed':
      return {
        ...present,
        allowed_actions: listChange(after, before, ALLOWED_SHIFT),
        forbidden_actions: listChange(after, before, FORBIDDEN_SHIFT),
      };
    case 'mode_changed':
      return { ...present, from: modeName(before), to: modeName(after) };
  }
}

/** Values of flags as in the API, except the actions. */
export function flagNames(flags: Flags) {
  return {
    stress_state: stressName(flags),
    drift_level: levelName(flags),
    dominant_mode: modeName(flags),
  };
}

function stressName(flags: Flags): string {
  return STRESS_STATES[stressIn(flags)] ?? '';
}

function levelName(flags: Flags): string {
  return DRIFT_LEVELS[levelIn(flags)] ?? '';
}

function modeName(flags: Flags): string {
  return LEADING_MODES[modeIn(flags)] ?? '';
}

function listChange(after: Flags, before: Flags, shift: number): ListChange {
  const now = (after >>> shift) & ACTION_BITS;
  const then = (before >>> shift) & ACTION_BITS;
  return { added: actionsOf(now & ~then), removed: actionsOf(then & ~now) };
}

function actionsOf(bits: number): Action[] {
  return ACTIONS.filter((_, action) => (bits & (1 << action)) !== 0);
}
