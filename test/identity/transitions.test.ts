import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACTIONS } from '#identity/contract';
import { newRanking, place } from '#identity/ranking';
import { newReport } from '#identity/report';
import {
  addTransitions,
  FLAGS_MAX,
  flagsOf,
  lifecycleTransition,
  type Transition,
  transitionFields,
} from '#identity/transitions';

/** Flags of a report with these values. */
function flags(
  stress: number,
  level: number,
  allowed: number[] = [],
  forbidden: number[] = [],
  dominant: number[] = [],
) {
  const report = newReport();
  report.snapshot.stressLevel = stress;
  report.deviation.level = level;
  for (const [order, action] of allowed.entries()) {
    place(report.contract.allowed, action, 1 - order / 100);
  }
  for (const [order, action] of forbidden.entries()) {
    place(report.contract.forbidden, action, 1 - order / 100);
  }
  for (const [order, mode] of dominant.entries()) {
    place(report.contract.dominant, mode, 1 - order / 100);
  }
  return flagsOf(report);
}

function between(after: number, before: number, isCycle = true) {
  const into: Transition[] = [];
  addTransitions(into, 5, after, before, isCycle);
  return into.map((transition) => transitionFields(transition));
}

const found = suite('transitions between two states');

found('have a fixed order: rolled back, drift, stress, actions, mode', () => {
  const fields = between(flags(3, 3, [1], [], [2]), flags(0, 0, [2]));
  assert.equal(
    fields.map(({ type, from, to }) => [type, from, to]),
    [
      ['rolled_back', undefined, undefined],
      ['drift_changed', 'D0', 'D3'],
      ['stress_changed', 'LOW', 'OVER'],
      ['contract_changed', undefined, undefined],
      ['mode_changed', 'None', 'Order'],
    ],
  );
});

found('are none for another order of the same actions', () => {
  assert.equal(between(flags(1, 0, [1, 2, 3], [4]), flags(1, 0, [3, 2, 1], [4])), []);
});

found('name the actions that came and went, of both lists', () => {
  const [one] = between(flags(0, 0, [0, 1], [11]), flags(0, 0, [1, 2], []));
  assert.equal(one?.allowed_actions, { added: [ACTIONS[0]], removed: [ACTIONS[2]] });
  assert.equal(one?.forbidden_actions, { added: [ACTIONS[11]], removed: [] });
});

found('report another leading mode, and not as a change of the actions', () => {
  const before = flags(0, 0, [1], [11], [5]);
  const changes = between(flags(0, 0, [1], [11], [6]), before);
  assert.equal(
    changes.map(({ type, from, to }) => [type, from, to]),
    [['mode_changed', 'Identity', 'Stress_Response']],
  );
  assert.equal(between(flags(0, 0, [1], [11], [5, 2]), before), [], 'only the first mode leads');
});

found('report a second breach in a row, but not a reset from a breach', () => {
  const breach = flags(3, 3);
  assert.equal(
    between(breach, breach).map(({ type }) => type),
    ['rolled_back'],
  );
  assert.equal(between(breach, breach, false), []);
});

const numbers = suite('flags');

numbers('fit all actions of both lists into a whole positive number', () => {
  const all = ACTIONS.map((_, action) => action);
  assert.is(newRanking(ACTIONS.length).count, 0);
  assert.is(flags(3, 3, all, all, []), FLAGS_MAX);
  assert.ok(FLAGS_MAX < 2 ** 31, 'bit operations keep the sign');
});

numbers('are absent from the event of a deletion', () => {
  const fields = transitionFields(lifecycleTransition('deleted', 7, 1, 1));
  assert.equal(fields, { type: 'deleted', cycle: 7 });
});

for (const group of [found, numbers]) group.run();
