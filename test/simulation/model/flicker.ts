import type { Contract } from '#identity/contract';
import type { Model } from '#identity/model';
import { newReport } from '#identity/report';
import { AGENTS, type Case, workOf } from '#test/simulation/model/work';
import { positionsIn } from '#test/support/arbitrary-identity';

/** Changes of contracts as shares of all observations, from 0 to 1. */
export type Flicker = {
  /** The set of allowed actions changed. */
  readonly allowed: number;
  /** The set of forbidden actions changed. */
  readonly forbidden: number;
  /** A set changed, and both sets are equal to the sets two observations earlier. */
  readonly returned: number;
  /** The order of the actions in a list changed, or the set of the actions. */
  readonly order: number;
  /** Stress state or drift level changed. */
  readonly levels: number;
  /** A label of the decision style changed. */
  readonly style: number;
};

/** A contract as texts that can be compared. */
type Shown = Readonly<Record<'allowed' | 'forbidden' | 'order' | 'levels' | 'style', string>>;

/** Flicker of all agents of the simulation under a model. */
export function flickerOf(model: Model, pace: Case): Flicker {
  const lives = AGENTS.map((agent) =>
    [...workOf(model, agent, pace)].map((state) => shownOf(model, state)),
  );
  const observations = lives.reduce((sum, shown) => sum + shown.length - 1, 0);
  const share = (isChange: (shown: Shown, last: Shown, before: Shown | undefined) => boolean) => {
    const changes = lives.map((life) => life.filter(isChangeAt(isChange)).length);
    return changes.reduce((sum, count) => sum + count, 0) / observations;
  };
  const partOf = (part: keyof Shown) => share((shown, last) => shown[part] !== last[part]);
  return {
    allowed: partOf('allowed'),
    forbidden: partOf('forbidden'),
    returned: share(
      (shown, last, before) =>
        !isSameSets(shown, last) && before !== undefined && isSameSets(shown, before),
    ),
    order: partOf('order'),
    levels: partOf('levels'),
    style: partOf('style'),
  };
}

/** Compares a contract with the two previous contracts. The first contract is no change. */
function isChangeAt(isChange: (shown: Shown, last: Shown, before: Shown | undefined) => boolean) {
  return (shown: Shown, index: number, life: readonly Shown[]): boolean => {
    const last = life[index - 1];
    return last !== undefined && isChange(shown, last, life[index - 2]);
  };
}

function shownOf(model: Model, state: Float64Array): Shown {
  const report = newReport();
  model.readReport(state, report);
  const { contract, snapshot, deviation } = report;
  return {
    allowed: positionsIn(contract.allowed).sort().join(' '),
    forbidden: positionsIn(contract.forbidden).sort().join(' '),
    order: orderOf(contract),
    levels: `${snapshot.stressLevel} ${deviation.level}`,
    style: JSON.stringify(contract.style),
  };
}

const orderOf = ({ allowed, forbidden }: Contract): string =>
  `${positionsIn(allowed).join(' ')} | ${positionsIn(forbidden).join(' ')}`;

const isSameSets = (one: Shown, other: Shown): boolean =>
  one.allowed === other.allowed && one.forbidden === other.forbidden;
