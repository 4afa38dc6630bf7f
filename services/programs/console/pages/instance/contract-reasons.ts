import type { Contract, Processed as Report } from '#clients/typescript/src/models';
import { ACTIONS, affinityOf, isAlwaysOpen, isTooDemanding, isTooRisky } from '#identity/contract';
import { bandOf, energyBandAfter, STRESS_STATES } from '#identity/state';
import { MODES, valuesOf } from '#pages/instance/modes';
import { levelText } from '#pages/parts/format';

/** An action, and the model rule that allows or forbids the action (model 4). */
export type Reasoned = { readonly action: string; readonly reason: string };

/** Actions of a contract by status, with reasons. */
type ReasonedActions = {
  readonly allowed: readonly Reasoned[];
  readonly forbidden: readonly Reasoned[];
  /** Actions in neither list; the caller decides. */
  readonly left: readonly Reasoned[];
};

/** Maximum number of modes that a reason names. */
const NAMED_MODES_MAX = 2;

/** Highest and lowest possible energy band. The band depends on past energy (hysteresis). */
type Bands = { readonly highest: number; readonly lowest: number };

/** Explains from a report alone why each action is allowed, forbidden or left to the caller. */
export function reasonsOf(report: Report): ReasonedActions {
  const { allowed_actions: allowed, forbidden_actions: forbidden } = report.contract;
  const isNamed = (action: string) => allowed.includes(action) || forbidden.includes(action);
  const reasoned = (reasonOf: (action: number, report: Report) => string) => (action: string) => {
    const index = (ACTIONS as readonly string[]).indexOf(action);
    // A later model may have actions that this page does not support.
    return { action, reason: index < 0 ? 'The reason is unknown.' : reasonOf(index, report) };
  };
  return {
    allowed: allowed.map(reasoned(whyAllowed)),
    forbidden: forbidden.map(reasoned(whyForbidden)),
    left: ACTIONS.filter((action) => !isNamed(action)).map(reasoned(whyLeft)),
  };
}

function whyAllowed(action: number, report: Report): string {
  const { stress, bands } = conditionsOf(report);
  if (isAlwaysOpen(action, stress, bands.highest)) {
    return stress >= HIGH_STRESS
      ? `Always open under ${report.snapshot.stress_state} stress.`
      : `Always open at ${levelText(report.snapshot.energy_level)} energy.`;
  }
  const leading = leaningOf(action, report, 1);
  const inclined = `Among its strongest inclinations${leading === '' ? '' : `, by ${leading}`}`;
  if (!isAlwaysOpen(action, stress, bands.lowest)) return `${inclined}.`;
  return `${inclined}, or open because its energy has not yet recovered enough.`;
}

function whyForbidden(action: number, report: Report): string {
  const { stress, bands } = conditionsOf(report);
  const { stress_state: state, energy_level: energy } = report.snapshot;
  if (isTooRisky(action, stress)) return `Too risky under ${state} stress.`;
  if (isTooDemanding(action, bands.highest)) {
    return `Needs more energy than the available ${levelText(energy)}.`;
  }
  const against = leaningOf(action, report, -1);
  const character = `Contradicts its character${against === '' ? '' : `, by ${against}`}`;
  if (!isTooDemanding(action, bands.lowest)) return `${character}.`;
  const first = character.slice(0, 1).toLowerCase() + character.slice(1);
  return `Needs more energy than is available until it recovers further, or ${first}.`;
}

function whyLeft(action: number, report: Report): string {
  const leading = leaningOf(action, report, 1);
  const weak = 'Not forbidden, but the inclination is much weaker than for other actions';
  return leading === '' ? `${weak}.` : `${weak}. Modes in favor: ${leading}.`;
}

const HIGH_STRESS = STRESS_STATES.indexOf('HIGH');

function conditionsOf({ snapshot }: Report): { readonly stress: number; readonly bands: Bands } {
  const { energy_level: energy, stress_state: state } = snapshot;
  const stress = (STRESS_STATES as readonly string[]).indexOf(state);
  return { stress, bands: { highest: bandOf(energy), lowest: energyBandAfter(energy, 0) } };
}

/**
 * Text with the modes that speak most for an action (`sign` 1) or against it (`sign` -1), and the
 * strengths of these modes.
 */
function leaningOf(action: number, { snapshot }: Report, sign: 1 | -1): string {
  return valuesOf(snapshot.mode_strengths)
    .map((strength, mode) => ({
      mode,
      strength,
      weight: sign * affinityOf(action, mode) * strength,
    }))
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, NAMED_MODES_MAX)
    .map(({ mode, strength }) => `${MODES[mode]?.[1]} (${levelText(strength)})`)
    .join(' and ');
}

/** Returns the other terms of a contract, each with the rule that sets the term. */
export function manner({ contract, drift, snapshot }: Report): readonly Reasoned[] {
  const { decision_style: style, recovery_profile: recovery } = contract;
  const { stress_state: stress } = snapshot;
  return [
    { action: `Tempo: ${words(style.tempo)}`, reason: capped(stress, 'pauses', 'slows down') },
    { action: `Risk: ${words(style.risk)}`, reason: capped(stress, 'avoids risk', 'is cautious') },
    { action: `Expressiveness: ${words(style.expressiveness)}`, reason: FROM_MODES },
    {
      action: `Commitment threshold: ${words(style.commitment_threshold)}`,
      reason: 'From its modes and stress. An unstable instance needs more evidence.',
    },
    { action: `Recovery: ${words(recovery.preferred_path)}`, reason: whyPath(contract) },
    {
      action: `Support required: ${yesNo(recovery.support_required)}`,
      reason: whySupport(contract),
    },
    {
      action: `Cool-down required: ${yesNo(recovery.cooldown_required)}`,
      reason: whyCooldown(contract, drift.level === 'D3'),
    },
  ];
}

const FROM_MODES = 'From its modes, energy and stress.';

function capped(stress: string, over: string, high: string): string {
  if (stress === 'OVER') return `Under OVER stress it always ${over}.`;
  return stress === 'HIGH' ? `From its modes. Under HIGH stress it ${high}.` : FROM_MODES;
}

function whyPath({ energy_level: energy, stress_state: stress, recovery_profile }: Contract) {
  switch (recovery_profile.preferred_path) {
    case 'none':
      return 'Stress is LOW and there is enough energy.';
    case 'rest':
      return `Energy is ${levelText(energy)}, or no coping mode is strong in its set-point.`;
    case 'disengagement':
      return 'Stress is OVER.';
    default:
      return `The preferred way of coping of its set-point, under ${stress} stress.`;
  }
}

function whySupport({ stress_state: stress, recovery_profile }: Contract): string {
  if (!recovery_profile.support_required) return 'Stress is too low, or has not lasted.';
  if (stress === 'OVER') return 'Stress is OVER.';
  return 'Stress is HIGH for some time, or HIGH with little energy.';
}

function whyCooldown({ stress_state: stress, recovery_profile }: Contract, isBreach: boolean) {
  if (!recovery_profile.cooldown_required) return 'No breach, no overload, and energy is left.';
  if (isBreach) return 'An identity breach (D3) was just rolled back.';
  return stress === 'OVER' ? 'Stress is OVER.' : 'Its energy is nearly used up.';
}

const words = (name: string): string => name.replaceAll('_', ' ');
const yesNo = (value: boolean): string => (value ? 'yes' : 'no');
