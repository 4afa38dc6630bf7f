import type { Contract, Instance, Processed as Report } from '#clients/typescript/src/models';
import { MODES } from '#pages/instance/modes';
import { counted, inWords, levelText, localTime, numberText } from '#pages/parts/format';

/** An instance with the data to compare. */
export type Side = Pick<Report, 'snapshot' | 'contract'> & {
  readonly instance: Instance;
  /** Drift level after the last cycle. Undefined before the first observation. */
  readonly drift: Report['drift']['level'] | undefined;
};

/** The values of a property in both instances, and their difference. */
type Fact = {
  readonly what: string;
  readonly first: string;
  readonly second: string;
  /** Difference as text. Empty if the values are equal. */
  readonly difference: string;
};

/** Action status in a contract. */
type Standing = 'allowed' | 'forbidden' | 'open';

/** Actions in two contracts, grouped by difference. */
type ActionDifference = {
  readonly differing: readonly {
    readonly action: string;
    readonly first: Standing;
    readonly second: Standing;
  }[];
  /** Actions that both contracts allow. */
  readonly allowed: readonly string[];
  /** Actions that both contracts forbid. */
  readonly forbidden: readonly string[];
};

const DRIFT_TEXTS: Readonly<Record<string, string>> = {
  D0: 'D0: within its band',
  D1: 'D1: situational',
  D2: 'D2: sustained',
  D3: 'D3: breach, rolled back',
};

/** Properties of two instances: state and decision style, with their differences. */
export function factsOf(first: Side, second: Side): Fact[] {
  const text = (what: string, of: (side: Side) => string): Fact =>
    factOf(what, of(first), of(second), 'differs');
  const number = (what: string, of: (side: Side) => number): Fact =>
    factOf(what, numberText(of(first)), numberText(of(second)), signed(of(second) - of(first)));
  const level = (what: string, of: (side: Side) => number): Fact =>
    factOf(what, levelText(of(first)), levelText(of(second)), points(of(second) - of(first)));
  const style = (
    what: string,
    key: 'tempo' | 'risk' | 'expressiveness' | 'commitment_threshold',
  ): Fact => text(what, ({ contract }) => inWords(contract.decision_style[key]));
  return [
    text('Created', ({ instance }) => localTime(instance.created_at)),
    number('Cycle', ({ snapshot }) => snapshot.cycle),
    level('Energy', ({ snapshot }) => snapshot.energy_level),
    level('Stability', ({ snapshot }) => snapshot.stability_index),
    text('Stress', ({ snapshot }) => snapshot.stress_state),
    text('Drift', ({ drift }) =>
      drift === undefined ? 'Not observed yet' : (DRIFT_TEXTS[drift] ?? drift),
    ),
    text('Leading modes', ({ contract }) => listText(contract.dominant_modes)),
    text('Suppressed modes', ({ contract }) => listText(contract.suppressed_modes)),
    style('Tempo', 'tempo'),
    style('Risk', 'risk'),
    style('Expressiveness', 'expressiveness'),
    style('Commitment', 'commitment_threshold'),
    text('Recovers by', ({ contract }) => inWords(contract.recovery_profile.preferred_path)),
  ];
}

/** Compares the allowed and forbidden actions of two contracts. */
export function actionsOf(first: Contract, second: Contract): ActionDifference {
  const listed = [first, second].flatMap(({ allowed_actions, forbidden_actions }) => [
    ...allowed_actions,
    ...forbidden_actions,
  ]);
  const both = [...new Set(listed)].map((action) => ({
    action,
    first: standingOf(first, action),
    second: standingOf(second, action),
  }));
  const alike = (standing: Standing) =>
    both.filter((one) => one.first === standing && one.second === standing);
  return {
    differing: both.filter((one) => one.first !== one.second),
    allowed: alike('allowed').map(({ action }) => action),
    forbidden: alike('forbidden').map(({ action }) => action),
  };
}

/** Names the modes with the largest differences, at most three, as a sentence. */
export function furthestText(first: Side, second: Side): string {
  const apart = MODES.map(([key, name]) => ({
    name,
    by: second.snapshot.mode_strengths[key] - first.snapshot.mode_strengths[key],
  }))
    .filter(({ by }) => points(by) !== '')
    .toSorted((a, b) => Math.abs(b.by) - Math.abs(a.by));
  if (apart.length === 0) return 'No mode differs.';
  const named = apart.slice(0, 3).map(({ name, by }) => `${name} (${points(by)})`);
  return `Furthest apart: ${named.join(', ')}.`;
}

function standingOf(contract: Contract, action: string): Standing {
  if (contract.allowed_actions.includes(action)) return 'allowed';
  return contract.forbidden_actions.includes(action) ? 'forbidden' : 'open';
}

function factOf(what: string, first: string, second: string, difference: string): Fact {
  return { what, first, second, difference: first === second ? '' : difference };
}

function listText(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map(inWords).join(', ');
}

const signed = (value: number): string => `${value > 0 ? '+' : '−'}${numberText(Math.abs(value))}`;

/** Formats a difference of two levels in percentage points. Empty if it rounds to zero. */
function points(by: number): string {
  const tenths = Math.round(Math.abs(by) * 1_000) / 10;
  if (tenths === 0) return '';
  return `${by > 0 ? '+' : '−'}${counted(tenths, 'point')}`;
}
