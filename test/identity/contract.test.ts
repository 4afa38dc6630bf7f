import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ACTIONS,
  COMMITMENTS,
  EXPRESSIVENESSES,
  RECOVERY_PATHS,
  RISKS,
  TEMPOS,
} from '#identity/contract';
import { MODE_COUNT } from '#identity/modes';
import type { Ranking } from '#identity/ranking';
import { newReport, type Report, readReport } from '#identity/report';
import { bandOf, createState, OFFSET, type State } from '#identity/state';
import { afterAnyCycle, positionsIn, scalarAt } from '#test/support/arbitrary-identity';

/** Risk of each action, in the order of the vocabulary. Copied from model 4. */
const RISK = [0.6, 0.2, 0.2, 0.3, 0.6, 0.7, 0.8, 0.15, 0.1, 0, 0.05, 0.1];

/** A stress value for each stress level, including both ends of the scale. */
const STRESS_OF_LEVEL = [0, 0.4, 0.6, 1];
/** An energy value for each energy band, including the lower end of the scale. */
const ENERGY_OF_BAND = [0, 0.2, 0.4, 0.8];

const actionsOf = (ranking: Ranking): string[] =>
  positionsIn(ranking).map((item) => ACTIONS[item] ?? '?');

const all = (list: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((one) => list.includes(one));

/** Whether a report satisfies row 8 of model 7.1. */
function satisfiesRules(report: Report, energyBand: number): boolean {
  const { contract, snapshot } = report;
  const { style } = contract;
  const allowed = actionsOf(contract.allowed);
  const forbidden = actionsOf(contract.forbidden);
  const dominant = positionsIn(contract.dominant);
  const level = snapshot.stressLevel;
  const isTotal =
    allowed.length > 0 &&
    new Set([...allowed, ...forbidden]).size === allowed.length + forbidden.length &&
    all(ACTIONS, [...allowed, ...forbidden]) &&
    !forbidden.includes('stabilize');
  const isCalming =
    level < 2 ||
    (all(allowed, ['stabilize', 'defer']) &&
      all(forbidden, ['challenge', 'pivot', 'explore', 'execute']));
  const isSheltering =
    level < 3 ||
    (allowed.includes('withdraw') &&
      contract.allowed.items
        .subarray(0, allowed.length)
        .every((action) => (RISK[action] ?? 1) <= 0.12) &&
      contract.isSupportRequired &&
      contract.isCooldownRequired &&
      TEMPOS[style.tempo] === 'paused');
  const isNamed =
    TEMPOS[style.tempo] !== undefined &&
    RISKS[style.risk] !== undefined &&
    EXPRESSIVENESSES[style.expressiveness] !== undefined &&
    COMMITMENTS[style.commitment] !== undefined &&
    RECOVERY_PATHS[contract.path] !== undefined;
  const isFocused =
    dominant.length <= 2 &&
    !positionsIn(contract.suppressed).some((mode) => dominant.includes(mode));
  const isSparing = energyBand > 1 || all(allowed, ['stabilize', 'defer']);
  return isTotal && isCalming && isSheltering && isNamed && isFocused && isSparing;
}

const contract = suite('the contract');

contract('satisfies the rules in every reachable state (row 8)', () => {
  const report = newReport();
  const checkRules = (after: State) => {
    readReport(after, report);
    assert.ok(satisfiesRules(report, scalarAt(after, OFFSET.energyBand)));
  };
  afterAnyCycle(checkRules, 300);
});

contract('satisfies the rules in all 34,992 corners of the state space (row 8)', () => {
  const state = createState({ modeStrengths: [], energyLevel: 0.8 });
  const report = newReport();
  let count = 0;
  for (let corner = 0; corner < 3 ** MODE_COUNT; corner++) {
    for (let mode = 0; mode < MODE_COUNT; mode++) {
      state[OFFSET.tendency + mode] = (Math.floor(corner / 3 ** mode) % 3) / 2;
    }
    for (const [level, stress] of STRESS_OF_LEVEL.entries()) {
      for (const energy of ENERGY_OF_BAND) {
        const band = bandOf(energy);
        state[OFFSET.stress] = stress;
        state[OFFSET.stressLevel] = level;
        state[OFFSET.energy] = energy;
        state[OFFSET.energyBand] = band;
        readReport(state, report);
        count++;
        assert.ok(satisfiesRules(report, band), `corner ${corner}, level ${level}, band ${band}`);
      }
    }
  }
  assert.is(count, 34_992);
});

/** A neutral identity with the given stress level and energy band. */
function neutralAt(stressLevel: number, energyBand: number): Report {
  const state: State = createState({ modeStrengths: [], energyLevel: 0.8 });
  state[OFFSET.stressLevel] = stressLevel;
  state[OFFSET.energyBand] = energyBand;
  const report = newReport();
  readReport(state, report);
  return report;
}

contract('of a neutral identity at rest allows nine actions and forbids none', () => {
  const { contract: open } = neutralAt(0, 3);
  assert.equal(actionsOf(open.allowed), [
    'explore',
    'question',
    'elaborate',
    'suggest',
    'clarify',
    'stabilize',
    'execute',
    'comfort',
    'defer',
  ]);
  assert.equal(actionsOf(open.forbidden), []);
  const { tempo, risk, expressiveness, commitment } = open.style;
  assert.is(TEMPOS[tempo], 'measured');
  assert.is(RISKS[risk], 'balanced');
  assert.is(EXPRESSIVENESSES[expressiveness], 'medium');
  assert.is(COMMITMENTS[commitment], 'medium');
  assert.is(RECOVERY_PATHS[open.path], 'none');
});

contract('allows fewer actions with rising stress and falling energy', () => {
  const forbiddenAt = (level: number, band: number) =>
    actionsOf(neutralAt(level, band).contract.forbidden);
  assert.equal(forbiddenAt(1, 3), ['challenge']);
  const left = (level: number, band: number) => {
    const forbidden = forbiddenAt(level, band);
    return ACTIONS.filter((action) => !forbidden.includes(action));
  };
  const atHigh = ['question', 'elaborate', 'suggest', 'comfort', 'clarify'];
  assert.equal(left(2, 3), [...atHigh, 'stabilize', 'defer', 'withdraw']);
  assert.equal(left(3, 3), ['clarify', 'stabilize', 'defer', 'withdraw']);
  assert.equal(left(0, 0), ['stabilize', 'defer', 'withdraw']);
});

contract('gives rest to a tired identity, and disengagement to an overloaded identity', () => {
  const pathAt = (level: number, band: number) =>
    RECOVERY_PATHS[neutralAt(level, band).contract.path];
  assert.is(pathAt(3, 1), 'rest');
  assert.is(pathAt(3, 3), 'disengagement');
  assert.is(pathAt(0, 2), 'rest');
  assert.is(pathAt(1, 3), 'rest', 'a neutral identity has no coping style');
});

contract.run();
