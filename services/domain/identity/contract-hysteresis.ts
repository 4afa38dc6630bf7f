/*
 * Contract of model 1.1: the lists of actions and the decision style of model 1.0, with hysteresis.
 *
 * Model 1.0 compares every propensity with thresholds that move with every observation, so an action
 * near a threshold enters and leaves its list again and again. In model 1.1 a change takes effect
 * after three consecutive observations that ask for another verdict. Whatever stress, energy or a
 * breach forbids is forbidden immediately, and so is every allowed action that model 1.0 forbids.
 */
import {
  ACTIONS,
  ALLOWED,
  type Contract,
  capStyle,
  FORBIDDEN,
  isAlwaysOpen,
  isGated,
  newSnapshot,
  OPEN,
  propensities,
  readSnapshot,
  readStyle,
  STABILIZE,
  verdictOn,
  weighActions,
} from '#identity/contract';
import { IDENTITY_BREACH } from '#identity/drift';
import {
  isRanked,
  itemAt,
  newRanking,
  place,
  placeWithLead,
  type Ranking,
} from '#identity/ranking';
import { at, OFFSET, STATE_LENGTH, type State } from '#identity/state';

/** Version of the layout and rules of this file. */
export const MODEL_1_1_VERSION = '1.1';

/**
 * Additional part of a state of model 1.1, behind the part of model 1.0. Every value is a whole
 * number of at most 24 bits. A list takes two values of six actions each. Source: model 4.1.
 */
const MEMORY = {
  /** Allowed actions in order: per action four bits with its position plus 1, 0 for no action. */
  allowed: STATE_LENGTH,
  /** Forbidden actions in order, encoded like the allowed actions. */
  forbidden: STATE_LENGTH + 2,
  /** Consecutive observations that asked for another verdict: two bits per action. */
  waiting: STATE_LENGTH + 4,
  /**
   * Decision style before stress caps the style. Four bits per label: two for the label, and two
   * for the consecutive observations that asked for another label.
   */
  style: STATE_LENGTH + 5,
  /** Cycle of this generation after which model 1.1 took over; 0: model 1.1 ran from the start. */
  since: STATE_LENGTH + 6,
} as const;

/** Number of doubles in a state of model 1.1. */
export const STATE_LENGTH_1_1 = STATE_LENGTH + 7;

/**
 * Consecutive observations that must ask for another verdict before a change takes effect. With 3,
 * a lasting change is delayed by two observations, and only safety can change a list twice within
 * three observations.
 */
const CONFIRMATIONS = 3;

/**
 * Lead in propensity that lets an action overtake another action in its list. Leads from 0.1 to 0.3
 * were tried. With each of these leads, the order changes less than a quarter as often as in model
 * 1.0. Chosen: the smallest. Source: model 4.1.
 */
const OVERTAKING_LEAD = 0.1;

const ACTION_COUNT = ACTIONS.length;

/** Number of bits for an action, mask of these bits, and number of actions in one value. */
const ACTION_BITS = 4;
const ACTION_MASK = 0b1111;
const ACTIONS_PER_VALUE = 6;

/** Number of bits for a count of waiting observations (0 to 2) or for a style label (0 to 3). */
const SMALL_BITS = 2;
const SMALL_MASK = 0b11;

/** Scratch memory of `updateMemory`. No value is carried from one call to the next. */
const snapshot = newSnapshot();
const previousAllowed = newRanking(ACTION_COUNT);
const previousForbidden = newRanking(ACTION_COUNT);
const verdicts = new Int8Array(ACTION_COUNT);
const style = { tempo: 0, risk: 0, expressiveness: 0, commitment: 0 };

/** A state of model 1.1 with the identity and the verdicts of `first`, a state of any model. */
export function withMemory(first: State): State {
  const state = new Float64Array(STATE_LENGTH_1_1);
  state.set(first.subarray(0, STATE_LENGTH));
  state[MEMORY.since] = at(first, OFFSET.cycle);
  updateLists(state, 1);
  return state;
}

/** Cycle of this generation after which model 1.1 took over; 0: model 1.1 ran from the start. */
export function memorySince(state: State): number {
  return at(state, MEMORY.since);
}

/**
 * Updates the memory after a cycle of model 1.0 in the same state. A breach restores an earlier
 * state, so the memory begins again. Source: model 4.1.
 */
export function updateMemory(state: State): void {
  const isBreached = at(state, OFFSET.driftLevel) === IDENTITY_BREACH;
  if (isBreached) state.fill(0, MEMORY.allowed, MEMORY.since);
  updateLists(state, isBreached ? 1 : CONFIRMATIONS);
}

/** Updates lists and style. A change takes effect after `confirmations` observations. */
function updateLists(state: State, confirmations: number): void {
  readSnapshot(state, snapshot);
  readList(state, MEMORY.allowed, previousAllowed);
  readList(state, MEMORY.forbidden, previousForbidden);
  judgeActions(state, confirmations);
  orderList(ALLOWED, previousAllowed);
  writeList(state, MEMORY.allowed);
  orderList(FORBIDDEN, previousForbidden);
  writeList(state, MEMORY.forbidden);
  state[MEMORY.style] = styleAfter(state, confirmations);
}

/** Writes the lists and the style in the memory to `into`. Source: model 4.1. */
export function readMemory(state: State, stressLevel: number, into: Contract): void {
  readList(state, MEMORY.allowed, into.allowed);
  readList(state, MEMORY.forbidden, into.forbidden);
  let bits = at(state, MEMORY.style);
  for (const field of STYLE_FIELDS) {
    into.style[field] = bits & SMALL_MASK;
    bits >>= 2 * SMALL_BITS;
  }
  capStyle(stressLevel, into.style);
}

/** Fills `verdicts`, and writes the waiting observations to `state`. */
function judgeActions(state: State, confirmations: number): void {
  const { stressLevel } = snapshot;
  const energyBand = at(state, OFFSET.energyBand);
  const threshold = weighActions(state, snapshot);
  readVerdicts();
  const before = at(state, MEMORY.waiting);
  let waiting = 0;
  let isAnyAllowed = false;
  for (let action = 0; action < ACTION_COUNT; action++) {
    const shift = action * SMALL_BITS;
    const waited = (before >> shift) & SMALL_MASK;
    const wanted = verdictOn(action, threshold, stressLevel, energyBand);
    const isDue = waited + 1 >= confirmations || isUrgent(state, action, wanted);
    if (isDue) verdicts[action] = wanted;
    if (wanted !== verdicts[action]) waiting |= (waited + 1) << shift;
    isAnyAllowed ||= verdicts[action] === ALLOWED;
  }
  state[MEMORY.waiting] = waiting;
  if (!isAnyAllowed) verdicts[STABILIZE] = ALLOWED;
}

/**
 * Whether a verdict takes effect immediately: because stress or energy requires the verdict, or
 * because model 1.0 forbids an action that is still allowed.
 */
function isUrgent(state: State, action: number, wanted: number): boolean {
  const { stressLevel } = snapshot;
  const energyBand = at(state, OFFSET.energyBand);
  if (wanted === OPEN) return false;
  if (wanted === ALLOWED) return isAlwaysOpen(action, stressLevel, energyBand);
  return verdicts[action] === ALLOWED || isGated(action, stressLevel, energyBand);
}

/** Fills `verdicts` from the previous lists. */
function readVerdicts(): void {
  verdicts.fill(OPEN);
  for (let index = 0; index < previousAllowed.count; index++) {
    verdicts[itemAt(previousAllowed, index)] = ALLOWED;
  }
  for (let index = 0; index < previousForbidden.count; index++) {
    verdicts[itemAt(previousForbidden, index)] = FORBIDDEN;
  }
}

const ordered = newRanking(ACTION_COUNT);

/**
 * Fills `ordered` with the actions of a verdict in their previous order. An action overtakes every
 * action that it leads clearly. A new action follows the last action that it does not lead.
 */
function orderList(verdict: number, previous: Ranking): void {
  ordered.count = 0;
  for (let index = 0; index < previous.count; index++) {
    const action = itemAt(previous, index);
    if (verdicts[action] !== verdict) continue;
    placeWithLead(ordered, action, verdict * at(propensities, action), OVERTAKING_LEAD);
  }
  for (let action = 0; action < ACTION_COUNT; action++) {
    if (verdicts[action] !== verdict || isRanked(previous, action)) continue;
    place(ordered, action, verdict * at(propensities, action));
  }
}

function readList(state: State, offset: number, into: Ranking): void {
  let bits = at(state, offset);
  into.count = 0;
  for (let index = 0; index < ACTION_COUNT; index++) {
    if (index === ACTIONS_PER_VALUE) bits = at(state, offset + 1);
    const found = bits & ACTION_MASK;
    if (found === 0) return;
    into.items[index] = found - 1;
    into.count++;
    bits >>= ACTION_BITS;
  }
}

/** Writes `ordered` to the list at `offset`. */
function writeList(state: State, offset: number): void {
  let low = 0;
  let high = 0;
  for (let index = 0; index < ordered.count; index++) {
    const code = itemAt(ordered, index) + 1;
    if (index < ACTIONS_PER_VALUE) low |= code << (index * ACTION_BITS);
    else high |= code << ((index - ACTIONS_PER_VALUE) * ACTION_BITS);
  }
  state[offset] = low;
  state[offset + 1] = high;
}

const STYLE_FIELDS = ['tempo', 'risk', 'expressiveness', 'commitment'] as const;

/** Bits of the style after this cycle. Each of the four labels has its own hysteresis. */
function styleAfter(state: State, confirmations: number): number {
  readStyle(state, snapshot, style);
  const before = at(state, MEMORY.style);
  let bits = 0;
  let shift = 0;
  for (const field of STYLE_FIELDS) {
    const present = (before >> shift) & SMALL_MASK;
    const waited = (before >> (shift + SMALL_BITS)) & SMALL_MASK;
    const isDue = style[field] === present || waited + 1 >= confirmations;
    bits |= (isDue ? style[field] : present | ((waited + 1) << SMALL_BITS)) << shift;
    shift += 2 * SMALL_BITS;
  }
  return bits;
}
