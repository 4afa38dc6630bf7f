import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ACTIONS, type Action, isAlwaysOpen, isTooDemanding, isTooRisky } from '#identity/contract';
import { OFFSET } from '#identity/state';
import { manner, type Reasoned, reasonsOf } from '#pages/instance/contract-reasons';
import { reportAt, reportOf, someState, statesAfter } from '#test/console/pages/instance/reports';
import { observation, scalarAt } from '#test/support/arbitrary-identity';

const reasons = suite('the reasons behind a contract');

reasons('cover every action once', () => {
  const { allowed, forbidden, left } = reasonsOf(reportAt(1));
  const actions = [...allowed, ...forbidden, ...left].map(({ action }) => action);
  assert.equal(actions.toSorted(), ACTIONS.toSorted());
});

reasons('name the modes that favour an action, and the modes against it', () => {
  const { allowed, forbidden } = reasonsOf(reportAt(1));
  const of = (list: typeof allowed, name: string) =>
    list.find(({ action }) => action === name)?.reason;
  assert.is(
    of(allowed, 'clarify'),
    'Among its strongest inclinations, by Perception (85 %) and Order (75 %).',
  );
  assert.is(
    of(forbidden, 'pivot'),
    'Contradicts its character, by Order (75 %) and Identity (45 %).',
  );
});

reasons('are not invented for an action of a later model', () => {
  const report = reportAt(1);
  const contract = { ...report.contract, allowed_actions: ['dance'] };
  assert.equal(reasonsOf({ ...report, contract }).allowed, [
    { action: 'dance', reason: 'The reason is unknown.' },
  ]);
});

/** Rules that apply to an action in a state. The report does not contain the energy band. */
function rulesIn(state: ReturnType<typeof someState>, action: string) {
  const index = ACTIONS.indexOf(action as Action);
  const stress = scalarAt(state, OFFSET.stressLevel);
  const band = scalarAt(state, OFFSET.energyBand);
  return {
    isOpen: isAlwaysOpen(index, stress, band),
    isTooRisky: isTooRisky(index, stress),
    isTooDemanding: isTooDemanding(index, band),
  };
}

/**
 * Asserts that a reason names the rule that applies. A reason with two rules allows either rule.
 */
function assertAllowed({ action, reason }: Reasoned, { isOpen }: ReturnType<typeof rulesIn>): void {
  if (reason.includes(', or open')) return;
  assert.is(reason.startsWith('Always open'), isOpen, `${action}: ${reason}`);
}

function assertForbidden(
  { action, reason }: Reasoned,
  { isTooRisky, isTooDemanding }: ReturnType<typeof rulesIn>,
): void {
  const rule = /^(Too risky|Needs more energy than the|Contradicts)/.exec(reason)?.[1];
  const holds = {
    'Too risky': isTooRisky,
    'Needs more energy than the': isTooDemanding,
    Contradicts: !isTooRisky && !isTooDemanding,
  }[rule ?? ''];
  assert.ok(holds ?? / or contradicts/.test(reason), `${action}: ${reason}`);
}

reasons('name the model rules that apply, after any observations', () => {
  fc.assert(
    fc.property(fc.array(observation, { minLength: 1, maxLength: 60 }), (observations) => {
      for (const state of statesAfter(someState(), observations)) {
        const { allowed, forbidden } = reasonsOf(reportOf(state));
        for (const each of allowed) assertAllowed(each, rulesIn(state, each.action));
        for (const each of forbidden) assertForbidden(each, rulesIn(state, each.action));
      }
    }),
  );
});

reasons('name both rules if the energy could be in either band', () => {
  const report = reportAt(1);
  const reasonAt = (energy: number) => {
    const snapshot = { ...report.snapshot, energy_level: energy };
    const contract = { ...report.contract, forbidden_actions: ['challenge'] };
    return reasonsOf({ ...report, snapshot, contract }).forbidden[0]?.reason ?? '';
  };
  assert.is(reasonAt(0.49), 'Needs more energy than the available 49 %.');
  assert.match(reasonAt(0.51), /^Needs more energy .* until .* recovers further, or contradicts/);
  assert.match(reasonAt(0.53), /^Contradicts its character/);
});

reasons('name the stress state if it decides manner or recovery', () => {
  const report = reportAt(1);
  const stressed = {
    ...report,
    contract: {
      ...report.contract,
      stress_state: 'OVER',
      recovery_profile: {
        preferred_path: 'disengagement',
        support_required: true,
        cooldown_required: true,
      },
    },
    snapshot: { ...report.snapshot, stress_state: 'OVER' },
  };
  const texts = manner(stressed).map(({ action, reason }) => `${action}. ${reason}`);
  assert.ok(texts.includes('Recovery: disengagement. Stress is OVER.'));
  assert.ok(texts.includes('Cool-down required: yes. Stress is OVER.'));
  const breached = { ...stressed, drift: { ...report.drift, level: 'D3' as const } };
  const last = manner(breached).at(-1)?.reason;
  assert.is(last, 'An identity breach (D3) was just rolled back.');
});

reasons.run();
