import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { meterOfRow, rowOfMeter, STORED_RESERVATIONS_MAX } from '#storage/ports/meter-codec';
import type { MeterRecord } from '#storage/ports/meters';
import { anyRecord, meterAt, reservations } from '#test/storage/contracts/meter-records';

const row = suite('the row of a meter');

row('is decoded to the original record, even after encoding as JSON', () => {
  const property = fc.property(anyRecord(), (record) => {
    assert.equal(meterOfRow(JSON.parse(JSON.stringify(rowOfMeter(record)))), record);
  });
  fc.assert(property, { numRuns: 500 });
});

row("contains only the record's fields", () => {
  const { version: _, ...record } = meterAt(3, { reservations: reservations(2) });
  assert.equal(meterOfRow(rowOfMeter(meterAt(3, record))), record);
});

row('is rejected or decodes to another record after any change', () => {
  const outcomes = { refused: 0, another: 0 };
  const property = fc.property(anyRecord(), fc.nat(), anyValue(), fc.nat(3), (record, ...how) => {
    const changed = changedRow(rowOfMeter(record), ...how);
    const read = readOrRefused(changed);
    outcomes[read === undefined ? 'refused' : 'another'] += 1;
    if (read === undefined) return;
    assert.equal(withoutAddition(rowOfMeter(read)), withoutAddition(changed));
    for (const part of ['days', 'keys', 'finished']) {
      const kept = additionIn(rowOfMeter(read))[part];
      if (kept !== undefined) assert.equal(kept, additionIn(changed)[part]);
    }
  });
  fc.assert(property, { numRuns: 2_000 });
  // Ensure that both outcomes are tested.
  assert.ok(outcomes.refused > 100 && outcomes.another > 100, JSON.stringify(outcomes));
});

row('holds the maximum number of reservations, and is compact', () => {
  const record = meterAt(1, { reservations: reservations(STORED_RESERVATIONS_MAX) });
  const json = JSON.stringify(rowOfMeter(record));
  assert.ok(json.length < 40 * STORED_RESERVATIONS_MAX, `${json.length} characters`);
  assert.equal(meterOfRow(JSON.parse(json)).reservations, record.reservations);
  assert.ok(JSON.stringify(rowOfMeter(meterAt(1))).length < 80);
});

row('has the days of usage, if they are valid', () => {
  const record = meterOfRow(rowOfMeter(meterAt(3)));
  for (const days of [[0], [30], [4, 0, 0, 30], [0, ...Array<number>(30).fill(7)]]) {
    assert.equal(meterOfRow([...rowOfMeter(record), { days }]), { ...record, days });
  }
  const senseless = [[], [31], [-1], [0.5], [0, 31], [0, 7, 6], [30, 1], [1, '2'], 'x', {}, null];
  for (const days of senseless) {
    assert.equal(meterOfRow([...rowOfMeter(record), { days }]), record, JSON.stringify(days));
  }
});

row('has the usage of each key, if it is valid', () => {
  const record = meterOfRow(rowOfMeter(meterAt(3)));
  const sensible = [
    ['aB3_-6zZ', 20, 4, 7],
    ['--------', 10, 0],
    ['12345678', 0],
  ];
  const { keys } = meterOfRow([...rowOfMeter(record), { keys: sensible }]);
  assert.equal(keys, [
    { prefix: 'aB3_-6zZ', cycles: 20, days: [4, 7] },
    { prefix: '--------', cycles: 10, days: [0] },
    { prefix: '12345678', cycles: 0 },
  ]);
  const senseless = [
    ...[
      [['aB3_-6zZ', 31, 0]],
      [
        ['aB3_-6zZ', 20, 0],
        ['--------', 11, 0],
      ],
    ],
    ...[
      [
        ['aB3_-6zZ', 1, 0],
        ['aB3_-6zZ', 1, 0],
      ],
      [['short', 1, 0]],
      [['aB3_-6z!', 1, 0]],
    ],
    ...[[['aB3_-6zZ', 1]], [['aB3_-6zZ', -1, 0]], [['aB3_-6zZ', 1, 31]], [[1, 1, 0]], [{}], 'x'],
  ];
  for (const one of senseless) {
    assert.equal(meterOfRow([...rowOfMeter(record), { keys: one }]), record, JSON.stringify(one));
  }
});

row('has all finished months, or none if any is invalid', () => {
  const record = meterOfRow(rowOfMeter(meterAt(3)));
  const month = [9, 30, [2, 4], [['aB3_-6zZ', 20, 4, 7]]];
  const finished = [
    {
      ...{ endsAtMs: 9, cyclesUsed: 30, days: [2, 4] },
      keys: [{ prefix: 'aB3_-6zZ', cycles: 20, days: [4, 7] }],
    },
  ];
  const read = (months: unknown) => meterOfRow([...rowOfMeter(record), { finished: months }]);
  assert.equal(read([month]), { ...record, finished });
  for (const strange of [[month, [9]], [[9, -1, [2], []]], [[9, 1, [], []]], [[9, 1, [0]]], 5]) {
    assert.equal(read(strange), record, JSON.stringify(strange));
  }
});

row('has the unrecorded count of its window, if it is valid', () => {
  const record = meterOfRow(rowOfMeter(meterAt(3, { windowWatermark: 50 })));
  const counted = { ...record, unrecorded: 50 };
  assert.equal(meterOfRow(JSON.parse(JSON.stringify(rowOfMeter(counted)))), counted);
  for (const unrecorded of [51, -1, 0.5, '1']) {
    assert.equal(meterOfRow([...rowOfMeter(record), { unrecorded }]), record);
  }
});

row('may end with an object that only later releases understand', () => {
  const record = meterOfRow(rowOfMeter(meterAt(3, { reservations: reservations(2) })));
  const later = [...rowOfMeter(record), { later: [1, 2] }];
  assert.equal(meterOfRow(JSON.parse(JSON.stringify(later))), record);
  assert.throws(() => meterOfRow([...later, 5]), /number \d+ of the row is \[object Object\]/);
});

row('has the format from before call tags existed if no call has a tag', () => {
  const before = [9_000, 7, 4, 1, 2, 8_000, 3, 11, 5, 2, 1, 0, 600, 12, 1, 0, 3, 1_000, 100];
  const record = meterOfRow(before);
  assert.equal(
    record.reservations.map(({ callId, callTag, expiresAtMs }) => [callId, callTag, expiresAtMs]),
    [
      [11, 0, 600],
      [12, 0, 700],
    ],
  );
  assert.equal(rowOfMeter(record), before);
});

const broken = suite('an invalid row of a meter');

const [one, another] = reservations(2);
const rows: [string, unknown, RegExp][] = [
  ['is not a list', { length: 7 }, /the row is not a list/],
  ['is undefined', undefined, /the row is not a list/],
  ['is too short', [0, 0, 0, 0, 0, 0], /the row has 6 numbers/],
  ['ends within a reservation', [0, 0, 0, 0, 0, 0, 0, 1, 2], /the row has 9 numbers/],
  ['ends after a tag', [0, 0, 0, 0, 0, 0, 0, -5], /the row has 8 numbers/],
  ['ends within a keyed reservation', [0, 0, 0, 0, 0, 0, 0, -5, 1, 1, 0, 1, 0], /has 13 numbers/],
  ['has two tags', [0, 0, 0, 0, 0, 0, 0, -5, -6, 1, 0, 1, 0, 9], /callId is -6/],
  ['has a text instead of a number', [0, '0', 0, 0, 0, 0, 0], /number 1 of the row is 0/],
  ['has a fraction', [0, 0.5, 0, 0, 0, 0, 0], /number 1 of the row is 0\.5/],
  ['has null', [0, 0, 0, 0, 0, 0, null], /number 6 of the row is null/],
  ['has a number that is too large', [2 ** 53, 0, 0, 0, 0, 0, 0], /number 0 of the row is 9007/],
];
for (const [circumstance, value, message] of rows) {
  broken(`is rejected if it ${circumstance}`, () => {
    assert.throws(() => meterOfRow(value), message);
  });
}

const senseless = suite('an invalid meter');

const records: [string, Partial<MeterRecord>, RegExp][] = [
  ['a negative month', { monthEndsAtMs: -1 }, /monthEndsAtMs is -1/],
  ['a negative watermark', { windowWatermark: -3 }, /windowWatermark is -3/],
  [
    'a watermark below the usage',
    { monthWatermark: 9 },
    /10 cycles are used, above the watermark 9/,
  ],
  [
    'more cycles expired and lost than used',
    { cyclesLost: 10 },
    /1 cycles expired and 10 were lost/,
  ],
  ['a fraction of a cycle', { cyclesUsed: 3.5 }, /cyclesUsed is 3\.5/],
  [
    'too many reservations',
    { reservations: reservations(STORED_RESERVATIONS_MAX + 1) },
    /the record has 16385 reservations, above 16384/,
  ],
];
const open: [string, object, RegExp][] = [
  ['more used than reserved', { cycles: 1, used: 2 }, /used 2 of 1 cycles/],
  ['a negative number of cycles', { cycles: -1 }, /cycles is -1/],
  ['a negative expiry', { expiresAtMs: -1 }, /expiresAtMs is -1/],
  ['a negative number of calls', { callsOpen: -1 }, /callsOpen is -1/],
  ['the id of another call', { callId: another?.callId }, /two reservations have the same call id/],
  ['a future month', { monthEndsAtMs: 2 ** 52 }, /cycles of a future month/],
];
for (const [circumstance, fields, message] of open) {
  const changed = { ...one, ...fields } as MeterRecord['reservations'][number];
  const list = [changed, another].filter((each) => each !== undefined);
  records.push([`a reservation with ${circumstance}`, { reservations: list }, message]);
}
for (const [circumstance, fields, message] of records) {
  senseless(`is rejected if it has ${circumstance}, on write and read`, () => {
    const record = meterAt(1, fields);
    assert.throws(() => rowOfMeter(record), message);
    assert.throws(() => meterOfRow(uncheckedRow(record)), /is invalid/);
  });
}

for (const part of [row, broken, senseless]) part.run();

/** Encodes a record without checks. A change of this row layout requires a new format number. */
function uncheckedRow(record: MeterRecord): number[] {
  let beforeMs = 0;
  const behind = record.reservations.flatMap((each) => {
    const { callId, callTag, cycles, used, callsOpen, monthEndsAtMs, expiresAtMs } = each;
    const laterMs = expiresAtMs - beforeMs;
    beforeMs = expiresAtMs;
    const six = [callId, cycles, used, callsOpen, record.monthEndsAtMs - monthEndsAtMs, laterMs];
    return callTag === 0 ? six : [-callTag, ...six];
  });
  const { monthEndsAtMs, monthWatermark, cyclesUsed, cyclesExpired, cyclesLost } = record;
  const month = [monthEndsAtMs, monthWatermark, cyclesUsed, cyclesExpired, cyclesLost];
  return [...month, record.windowEndsAtMs, record.windowWatermark, ...behind];
}

function anyValue(): fc.Arbitrary<unknown> {
  const numbers = [fc.nat(1_000), fc.maxSafeNat(), fc.integer(), fc.double()];
  return fc.oneof(...numbers, fc.constantFrom(null, undefined, '1', [], {}, 2 ** 53));
}

/** Fields of the object at the end of a row, or no fields without such an object. */
function additionIn(row: readonly unknown[]): Readonly<Record<string, unknown>> {
  const last = row.at(-1);
  return typeof last === 'object' && last !== null ? { ...last } : {};
}

/** A row without the object at its end. */
function withoutAddition(row: readonly unknown[]): readonly unknown[] {
  const last = row.at(-1);
  const isAdded = last !== null && typeof last === 'object' && !Array.isArray(last);
  return isAdded ? row.slice(0, -1) : row;
}

/**
 * A row with a change at one number. `how` 0 replaces the number, 1 inserts a value, 2 removes the
 * number, and 3 truncates the row.
 */
function changedRow(whole: readonly unknown[], place: number, value: unknown, how: number) {
  const at = place % whole.length;
  const changed: unknown[] = [...whole];
  if (how === 0) changed[at] = value;
  else if (how === 1) changed.splice(at, 0, value);
  else if (how === 2) changed.splice(at, 1);
  else changed.length = at;
  return changed;
}

function readOrRefused(changed: unknown): MeterRecord | undefined {
  try {
    return meterOfRow(changed);
  } catch (error) {
    assert.match((error as Error).message, /^a stored meter is invalid: /);
    return undefined;
  }
}
