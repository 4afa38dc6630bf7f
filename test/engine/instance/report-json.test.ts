import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  affectedModesJson,
  briefJson,
  contractJson,
  deviationJson,
  driftJson,
  putDecimal,
  reportJson,
  snapshotJson,
  textUpTo,
} from '#engine/json';
import { newReport, type Report, readReport } from '#identity/report';
import type { State } from '#identity/state';
import { flagsOf } from '#identity/transitions';
import { GOLDEN_CASES, live } from '#test/identity/golden-case';
import { reachableState } from '#test/support/arbitrary-identity';

/** Tolerance for serialised values. Source: model 7.2. */
const TOLERANCE = 1e-6;

const INSTANCE_ID = 'inst_0123456789abcdef';

function reportOf(state: State): Report {
  const report = newReport();
  readReport(state, report);
  return report;
}

/** Asserts equal structure and key order, and equal numbers within the tolerance. */
function assertAlike(found: unknown, wanted: unknown, path: string): void {
  if (typeof wanted === 'number' && typeof found === 'number') {
    const gap = Math.abs(found - wanted);
    assert.ok(gap <= TOLERANCE * 1.000001, `${path} is ${found}, not ${wanted}`);
  } else if (typeof wanted === 'object' && wanted !== null) {
    assert.ok(typeof found === 'object' && found !== null, path);
    assert.equal(Object.keys(found), Object.keys(wanted), path);
    const parts = new Map<string, unknown>(Object.entries(found));
    for (const [key, value] of Object.entries(wanted)) {
      assertAlike(parts.get(key), value, `${path}.${key}`);
    }
  } else {
    assert.is(found, wanted, path);
  }
}

const rendered = suite('a rendered report');

for (const golden of GOLDEN_CASES) {
  rendered(`equals the recorded report, key by key: ${golden.id}`, () => {
    const report = reportOf(live(golden));
    const { instance_id, ...snapshot } = JSON.parse(snapshotJson(INSTANCE_ID, report));
    assert.is(instance_id, INSTANCE_ID);
    assertAlike(snapshot, golden.snapshot, 'snapshot');
    assertAlike(JSON.parse(contractJson(report)), golden.contract, 'contract');
    const drift = JSON.parse(driftJson(report));
    const { description, ...deviation } = drift.deviation;
    assert.is(Object.keys(drift.deviation)[0], 'description');
    assert.match(description, /^[A-Z].*\.$/);
    assert.is(drift.level, golden.drift.level);
    assertAlike(deviation, golden.drift.deviation, 'deviation');
    assert.equal(JSON.parse(deviationJson(report)), drift.deviation);
    assert.equal(JSON.parse(affectedModesJson(report)), golden.drift.affected_modes);
    assert.is(report.deviation.isRolledBack, golden.drift.rolled_back);
  });
}

rendered('is valid JSON in its shortest form, for every reachable state', () => {
  fc.assert(
    fc.property(reachableState, (state) => {
      const report = reportOf(state);
      const [snapshot, contract, drift] = [
        snapshotJson(INSTANCE_ID, report),
        contractJson(report),
        driftJson(report),
      ];
      assert.is(
        reportJson(INSTANCE_ID, report),
        `{"snapshot":${snapshot},"contract":${contract},"drift":${drift}}`,
      );
      const texts = [snapshot, contract, drift, affectedModesJson(report)];
      // JSON.stringify of the parsed text gives the same text: no surplus zeros, no -0.
      for (const text of texts) assert.is(JSON.stringify(JSON.parse(text)), text);
    }),
  );
});

// The report before has another state, so a brief report that keeps an old value is found.
rendered('is the part of the whole that a result of a fleet call shows, if it is brief', () => {
  const brief = newReport();
  fc.assert(
    fc.property(reachableState, (state) => {
      const whole = reportOf(state);
      readReport(state, brief, true);
      assert.equal(JSON.parse(briefJson(brief)), {
        cycle: whole.snapshot.cycle,
        stress_state: JSON.parse(snapshotJson(INSTANCE_ID, whole)).stress_state,
        drift_level: JSON.parse(driftJson(whole)).level,
        allowed_actions: JSON.parse(contractJson(whole)).allowed_actions,
        forbidden_actions: JSON.parse(contractJson(whole)).forbidden_actions,
      });
      assert.is(flagsOf(brief), flagsOf(whole));
      assert.is(brief.deviation.isRolledBack, whole.deviation.isRolledBack);
      // A drift event needs the whole deviation.
      if (whole.deviation.level > 0) assert.is(driftJson(brief), driftJson(whole));
    }),
  );
});

rendered('shows equilibrium for a new identity', () => {
  const [golden] = GOLDEN_CASES;
  assert.ok(golden);
  const report = reportOf(live({ ...golden, observations: [] }));
  const { level, deviation } = JSON.parse(driftJson(report));
  assert.is(level, 'D0');
  assert.is(deviation.reason, 'within_band');
  assert.is(deviation.p_value, 1);
  assert.equal(deviation.sustained, {
    statistic: 0,
    limit: 5.298317,
    mode: null,
    direction: null,
  });
  assert.is(affectedModesJson(report), '[]');
});

rendered.run();

/** Formats `value` as in an answer. */
const decimalJson = (value: number): string => textUpTo(putDecimal(value, 0));

const decimal = suite('a number with six decimals');

decimal('has no trailing zeros', () => {
  const texts: [number, string][] = [
    [0, '0'],
    [-0, '0'],
    [-4e-7, '0'],
    [0.5, '0.5'],
    [0.000001, '0.000001'],
    [0.0000005, '0.000001'],
    [0.120001, '0.120001'],
    [0.9999999, '1'],
    [1, '1'],
    [-1.25, '-1.25'],
    [63.766563, '63.766563'],
    [4096.000123, '4096.000123'],
    [4096.5, '4096.5'],
  ];
  for (const [value, text] of texts) assert.is(decimalJson(value), text);
});

decimal('parses to the rounded number at any magnitude', () => {
  const small = fc.integer({ min: -5e9, max: 5e9 }).map((n) => n / 1e6);
  fc.assert(
    fc.property(small, (value) => {
      assert.is(decimalJson(value), JSON.stringify(value + 0));
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const read: number = JSON.parse(decimalJson(value));
      assert.ok(Math.abs(read - value) <= 5.000001e-7 * Math.max(1, Math.abs(value)));
    }),
    { numRuns: 500 },
  );
});

decimal.run();
