import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PLAN_ROWS, type PlanRow, planAfterRow } from '#test/billing/plan-table';

const table = suite('the table of plans');

const worded = (plan: (row: PlanRow) => string) =>
  PLAN_ROWS.map((row) => [row.state, row.event, plan(row)]);

// Report 8: a failed upgrade gave the dearer plan, and unpaid months and ended trials gave a plan.
table('gives the documented plan for each state and event', () => {
  assert.equal(
    worded(planAfterRow),
    worded(({ plan }) => plan),
  );
});

// Report 8: of two updates in one second, the larger event id won.
table('gives the same plan if notifications arrive in reverse order and twice', () => {
  for (const row of PLAN_ROWS) {
    const reversed = row.events.toReversed();
    assert.is(planAfterRow({ ...row, events: [...reversed, ...row.events] }), row.plan, row.event);
  }
});

table.run();
