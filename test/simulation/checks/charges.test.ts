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

/** An account whose charges are all explained. */
const HONEST: Charged = {
  accountId: 'account00000',
  limits: { requestsPerMinute: 10, cyclesPerMonth: 90, instances: 1_000 },
  grants: GRANTS,
  head: HEAD,
  isUndisturbed: false,
};

/** Finding for a changed copy of the honest account. */
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

const charges = suite('the check of charges');

charges('finds nothing if every cycle is explained', () => {
  assert.is(finding({}), 'nothing');
  const committed = new Map([[MONTH_S, 30]]);
  const exact = { ...GRANTS, committed, unsettled: 0 };
  const head = { ...HEAD, cyclesUsed: 30, cyclesExpired: 0, cyclesLost: 0, reservations: [] };
  assert.is(finding({ grants: exact, head, isUndisturbed: true }), 'nothing');
  const unused = { ...GRANTS, committed: new Map(), unsettled: 0 };
  assert.is(finding({ grants: unused, head: undefined }), 'nothing');
});

charges('finds a window and a month above the plan', () => {
  assert.match(withGrants({ windows: new Map([[1_000, 11]]) }), '11 of 10 requests');
  const halves = new Map([
    [1_000, 6],
    [1_005, 5],
  ]);
  assert.match(withGrants({ windows: halves }), '11 of 10 requests');
  assert.match(withGrants({ committed: new Map([[MONTH_S - 1, 91]]) }), '91 of 90 cycles');
});

charges('finds committed cycles without a charge', () => {
  assert.match(withGrants({ committed: new Map([[MONTH_S, 31]]) }), '31 cycles committed and only');
  assert.match(finding({ head: undefined }), 'nothing recorded');
});

charges('finds unexplained charges', () => {
  assert.match(withGrants({ committed: new Map([[MONTH_S, 19]]) }), 'for 19 committed cycles');
  assert.is(withGrants({ committed: new Map([[MONTH_S, 19]]), committedInEither: 1 }), 'nothing');
  assert.match(withGrants({ unsettled: 3 }), 'with 3 cycles unsettled');
});

charges('finds losses without a crash, both acknowledged and pending', () => {
  assert.match(finding({ isUndisturbed: true }), '6 lost, 3 expired, 1 reserved) without a crash');
  assert.match(withHead({ cyclesLost: 5, cyclesUsed: 28 }), 'nothing');
  const head = { ...HEAD, cyclesLost: 0, cyclesUsed: 23 };
  assert.match(finding({ head, isUndisturbed: true }), '6 lost');
});

charges.run();
