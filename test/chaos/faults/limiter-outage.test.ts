import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { outageFigures, refusalTimes } from '#test/chaos/faults/limiter-outage';
import { CallLog, type Outcome } from '#test/chaos/load/call-log';

const REFUSED: Outcome = { kind: 'refused', status: 503, reason: 'limiter_unavailable' };
const THROTTLED: Outcome = { kind: 'throttled', etag: '"e"' };

/** Outage of the limiter that owned the account `mine`. At 2,000, another limiter serves `mine`. */
const OUTAGE = { accounts: new Set(['mine']), fromMs: 1_000, backMs: 2_000, toMs: 3_000 };

/** Logs calls with these accounts and start times. */
function logOf(...calls: [accountId: string, startMs: number, outcome: Outcome, key?: string][]) {
  const log = new CallLog();
  for (const [accountId, startMs, outcome, key] of calls) {
    const fields = { requested: { kind: 'read' }, instance: 'inst_1', dueMs: startMs } as const;
    const call = log.begin({ ...fields, accountId, key, startMs });
    call.endMs = startMs + 90;
    call.outcome = outcome;
  }
  return log.calls;
}

const gone = suite('when one of two limiters was down');

gone('the figures contain the calls, the refusals and the time of the last refusal', () => {
  const calls = logOf(
    ['mine', 900, REFUSED],
    ['mine', 1_010, REFUSED],
    ['mine', 1_600, REFUSED],
    ['mine', 1_700, THROTTLED],
    ['other', 1_900, THROTTLED],
    ['mine', 3_100, REFUSED],
  );
  const own = outageFigures(calls, OUTAGE, 'own');
  assert.equal(own, { calls: 3, refused: 2, refusedUntilMs: 600 });
  const others = outageFigures(calls, OUTAGE, 'others');
  assert.equal(others, { calls: 1, refused: 0, refusedUntilMs: 0 });
});

gone('refusals of other accounts are counted separately, and other errors are ignored', () => {
  const calls = logOf(
    ['other', 1_500, REFUSED],
    ['mine', 1_500, { kind: 'refused', status: 503, reason: 'overloaded' }],
  );
  assert.is(outageFigures(calls, OUTAGE, 'others').refused, 1);
  assert.is(outageFigures(calls, OUTAGE, 'own').refused, 0);
});

gone('calls with a key are ignored, because they are retried', () => {
  const calls = logOf(['mine', 1_500, THROTTLED, 'key']);
  assert.is(outageFigures(calls, OUTAGE, 'own').calls, 0);
});

gone('the longest refusal ignores calls that started after another limiter served', () => {
  const calls = logOf(
    ['mine', 1_500, REFUSED],
    ['other', 1_600, REFUSED],
    ['mine', 2_500, REFUSED],
  );
  for (const call of calls.slice(2)) call.endMs = call.startMs + 5_000;
  assert.is(refusalTimes(calls, OUTAGE).longest, 90);
});

gone.run();
