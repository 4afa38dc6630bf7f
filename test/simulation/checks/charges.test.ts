import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { MeterHead } from '#storage/ports/meters';
import { type Charged, checkCharges } from '#test/simulation/checks/charges';
import type { Grants } from '#test/simulation/checks/ledger';
import { Violation } from '#test/simulation/stored/version-index';

const MONTH_ENDS_MS = Date.UTC(2026, 1, 1);
const MONTH_S = MONTH_ENDS_MS / 1_000;

const HEAD: MeterHead = {
  version: 7,
  monthEndsAtMs: MONTH_ENDS_MS,
  monthWatermark: 30,
  cyclesUsed: 29,
  cyclesExpired: 3,
  cyclesLost: 6,
  windowEndsAtMs: 0,
  windowWatermark: 0,
  reservations: [
    {
      callTag: 0,
      callId: 1,
      cycles: 1,
      used: 0,
      callsOpen: 1,
      monthEndsAtMs: MONTH_ENDS_MS,
      expiresAtMs: MONTH_ENDS_MS,
    },
  ],
};

const GRANTS: Grants = {
  windows: new Map([
    [1_000, 6],
    [1_001, 4],
    [1_060, 10],
  ]),
  committed: new Map([
    [MONTH_S - 1, 90],
    [MONTH_S, 20],
  ]),
  committedInEither: 0,
  unsettled: 4,
};

/** An account without a violation. */
const HONEST: Charged = {
  accountId: 'account00000',
  limits: { requestsPerMinute: 10, cyclesPerMonth: 90, instances: 1_000 },
  grants: GRANTS,
  head: HEAD,
  isUndisturbed: false,
};

/** Violation found in a changed copy of the valid account. */
function finding(change: Partial<Charged>): string {
  try {
    checkCharges({ ...HONEST, ...change });
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    return error.message;
  }
  return 'nothing';
}

const withGrants = (change: Partial<Grants>) => finding({ grants: { ...GRANTS, ...change } });
const withHead = (change: Partial<MeterHead>) => finding({ head: { ...HEAD, ...change } });

const charges = suite('the charge check');

charges('accepts an account whose charges are all explained', () => {
  assert.is(finding({}), 'nothing');
  const committed = new Map([[MONTH_S, 30]]);
  const exact = { ...GRANTS, committed, unsettled: 0 };
  const head = { ...HEAD, cyclesUsed: 30, cyclesExpired: 0, cyclesLost: 0, reservations: [] };
  assert.is(finding({ grants: exact, head, isUndisturbed: true }), 'nothing');
  const unused = { ...GRANTS, committed: new Map(), unsettled: 0 };
  assert.is(finding({ grants: unused, head: undefined }), 'nothing');
});

charges('finds more requests or cycles than the plan allows', () => {
  const tooMany = '11 requests admitted in one window; the plan allows 10';
  assert.match(withGrants({ windows: new Map([[1_000, 11]]) }), tooMany);
  const halves = new Map([
    [1_000, 6],
    [1_005, 5],
  ]);
  assert.match(withGrants({ windows: halves }), tooMany);
  assert.match(withGrants({ committed: new Map([[MONTH_S - 1, 91]]) }), '91 cycles committed');
});

charges('finds committed cycles without a charge', () => {
  assert.match(withGrants({ committed: new Map([[MONTH_S, 31]]) }), '31 cycles committed, but');
  assert.match(finding({ head: undefined }), 'no meter is stored');
});

charges('finds unexplained charges', () => {
  assert.match(withGrants({ committed: new Map([[MONTH_S, 19]]) }), 'but only 19 committed');
  assert.is(withGrants({ committed: new Map([[MONTH_S, 19]]), committedInEither: 1 }), 'nothing');
  assert.match(withGrants({ unsettled: 3 }), 'but only 3 unsettled');
});

charges('finds cycles lost without a crash, whether recorded or not', () => {
  assert.match(finding({ isUndisturbed: true }), '6 lost, 3 expired, 1 reserved), but');
  assert.match(withHead({ cyclesLost: 5, cyclesUsed: 28 }), 'nothing');
  const head = { ...HEAD, cyclesLost: 0, cyclesUsed: 23 };
  assert.match(finding({ head, isUndisturbed: true }), '6 lost');
});

charges.run();
