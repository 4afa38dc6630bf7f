import type { Contract } from '#identity/contract';
import type { Model } from '#identity/model';
import { newReport } from '#identity/report';
import { AGENTS, type Case, workOf } from '#test/simulation/model/work';
import { positionsIn } from '#test/support/arbitrary-identity';

/**
 * How often contracts change while agents work. Each field is a share of all observations, from 0
 * to 1.
 */
export type Flicker = {
  /** Observations that changed the set of allowed actions. */
  readonly allowed: number;
  /** Observations that changed the set of forbidden actions. */
  readonly forbidden: number;
  /** Observations that undid a change: both sets equal the sets two observations earlier. */
  readonly returned: number;
  /** Observations that changed the actions of a list or their order. */
  readonly order: number;
  /** Observations that changed the stress state or the drift level. */
  readonly levels: number;
  /** Observations that changed the leading mode. */
  readonly leading: number;
  /** Observations that changed a label of the decision style. */
  readonly style: number;
};

/** Parts of a report as texts, for comparison. */
type Shown = Readonly<
  Record<'allowed' | 'forbidden' | 'order' | 'levels' | 'leading' | 'style', string>
>;

/** Simulates all agents under a model and measures how often their contracts change. */
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
    leading: partOf('leading'),
    style: partOf('style'),
  };
}

/**
 * Returns a filter that passes a contract and the two previous contracts to `isChange`. The filter
 * drops the first contract, because it has no predecessor.
 */
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
    leading: String(positionsIn(contract.dominant)[0]),
    style: JSON.stringify(contract.style),
  };
}

const orderOf = ({ allowed, forbidden }: Contract): string =>
  `${positionsIn(allowed).join(' ')} | ${positionsIn(forbidden).join(' ')}`;

const isSameSets = (one: Shown, other: Shown): boolean =>
  one.allowed === other.allowed && one.forbidden === other.forbidden;
