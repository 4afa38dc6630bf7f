import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkDemands } from '#test/chaos/checks/demands';
import { Findings } from '#test/chaos/checks/findings';
import { callsMeanwhile, storeOutageLines } from '#test/chaos/faults/store-outage';
import { CallLog, type Outcome, type Requested } from '#test/chaos/load/call-log';

const ACKNOWLEDGED: Outcome = { kind: 'acknowledged', etag: '"e"', bodyHash: '', cycle: 1 };
const FAILED: Outcome = { kind: 'unknown', why: '503 deadline_exceeded' };
const THROTTLED: Outcome = { kind: 'throttled', etag: '"e"' };

/** Outage from 10 to 20 s. Memory may answer reads for 2 s (read lease). */
const OUTAGE = { nodes: ['cassandra1', 'cassandra2'], fromMs: 10_000, toMs: 20_000 };

const RESET: Requested = { kind: 'reset', mode: 'default' };
const READ: Requested = { kind: 'read' };

type Sent = readonly [requested: Requested, startMs: number, endMs: number, outcome: Outcome];

function callsOf(...sent: readonly Sent[]) {
  const log = new CallLog();
  for (const [requested, startMs, endMs, outcome] of sent) {
    const fields = { accountId: 'a', instance: 'inst_1', key: undefined, dueMs: startMs };
    Object.assign(log.begin({ ...fields, requested, startMs }), { endMs, outcome });
  }
  return log.calls;
}

function findingsOf(...sent: readonly Sent[]): string[] {
  const findings = new Findings();
  const log = { calls: callsOf(...sent) };
  checkDemands([], { log, disturbances: [], storeOutages: [OUTAGE] }, findings);
  return findings.lines;
}

const gone = suite('the check of an outage of two of three Cassandra nodes');

gone('reports a change that is requested and acknowledged during the outage', () => {
  assert.equal(findingsOf([RESET, 10_001, 10_900, ACKNOWLEDGED]), [
    'call 1: reset acknowledged 0.9 s after the start of a store outage',
  ]);
});

gone('accepts a change that is requested before or answered after the outage', () => {
  const before: Sent = [RESET, 9_999, 11_000, ACKNOWLEDGED];
  const after: Sent = [RESET, 10_001, 20_000, ACKNOWLEDGED];
  assert.equal(findingsOf(before, after), []);
});

gone('accepts answers from memory only until the read lease ends', () => {
  const early: Sent = [READ, 10_001, 11_999, ACKNOWLEDGED];
  const late: Sent = [READ, 10_001, 12_001, ACKNOWLEDGED];
  assert.equal(findingsOf(early, [RESET, 10_001, 11_999, THROTTLED]), []);
  const finding = 'call 1: read answered 2.0 s after the start of a store outage';
  assert.equal(findingsOf(late), [finding]);
  assert.is(findingsOf([RESET, 10_001, 12_001, THROTTLED]).length, 1);
});

gone('accepts a failed call', () => {
  assert.equal(findingsOf([RESET, 10_001, 19_000, FAILED]), []);
});

gone('counts changes and reads separately in the report', () => {
  const calls = callsOf(
    [RESET, 10_001, 10_900, ACKNOWLEDGED],
    [READ, 10_001, 11_000, ACKNOWLEDGED],
    [RESET, 10_001, 19_000, FAILED],
    [RESET, 10_001, 21_000, FAILED],
  );
  assert.is(callsMeanwhile(calls, OUTAGE).length, 3);
  const text = storeOutageLines(calls, [OUTAGE]).join('\n');
  assert.ok(text.endsWith('| 10.0 | 3 | 1 | 1 | 1 |'), text);
});

const one = suite('a fault that may fail 0.5 % of the calls');

const FAULT = { name: 'kill-store-node', title: 'kill -9 of a node', errorShareMax: 0.005 };
const DISTURBANCE = {
  fault: FAULT.name,
  text: '',
  fromMs: 1_000,
  toMs: 2_000,
  servedAfterMs: undefined,
};

/** Findings if the first `failed` calls fail. The fault has 1,000 calls, one per millisecond. */
function findingsAfter(failed: number): string[] {
  const findings = new Findings();
  const sent = Array.from({ length: 1_000 }, (_, index): Sent => {
    return [RESET, 1_000 + index, 3_000, index < failed ? FAILED : ACKNOWLEDGED];
  });
  const log = { calls: callsOf(...sent, [RESET, 999, 3_000, FAILED]) };
  checkDemands([FAULT], { log, disturbances: [DISTURBANCE], storeOutages: [] }, findings);
  return findings.lines;
}

one('is no finding at the limit; calls before the fault are not counted', () => {
  assert.equal(findingsAfter(5), []);
});

one('is a finding above the limit', () => {
  assert.equal(findingsAfter(6), [
    'kill -9 of a node: 6 of 1,000 calls failed (0.60 %); at most 0.50 % may fail',
  ]);
});

gone.run();
one.run();
