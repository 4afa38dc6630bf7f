import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MODELS } from '#identity/model';
import { type InstanceHead, NO_ROWS, packedHead, unpackedHead } from '#storage/ports/instances';
import { packedModel, unpackedModel } from '#storage/ports/packed-model';

const packing = suite('a packed model');

/** Numbers that often repeat, and numbers that are equal but have other bits. */
const NUMBER = fc.oneof(fc.constantFrom(0, -0, 1, 0.1, -0.1), fc.double());

const bitsOf = (model: Float64Array) => Buffer.from(model.buffer).toString('hex');

packing('is unpacked bit by bit, also next to other models', () => {
  const model = fc
    .array(NUMBER, { maxLength: 255, size: 'max' })
    .map((all) => Float64Array.from(all));
  fc.assert(
    fc.property(model, model, (first, second) => {
      const packed = [first, second].map(packedModel);
      assert.equal(packed.map(unpackedModel).map(bitsOf), [first, second].map(bitsOf));
    }),
  );
});

packing('has room for 255 different numbers', () => {
  const model = Float64Array.from({ length: 255 }, (_, place) => 1 / place);
  assert.is(bitsOf(unpackedModel(packedModel(model))), bitsOf(model));
});

packing('is unpacked into a new array each time', () => {
  const packed = packedModel(Float64Array.of(1, 2));
  unpackedModel(packed)[0] = 3;
  assert.equal(unpackedModel(packed), Float64Array.of(1, 2));
});

packing('takes less than 672 bytes, also after many different observations', () => {
  const model = MODELS.newest;
  const state = model.create({ modeStrengths: Array(7).fill(0.3), energyLevel: 0.8 });
  for (let n = 0; n < 1_000; n += 1) {
    const signal = ((n * 37) % 100) / 100;
    model.advance(state, { mode: n % 7, signal, confidence: 1 }, 60, state);
  }
  const { length } = packedModel(state);
  assert.ok(length < 672, `${length}`);
});

packing('keeps each field of its head', () => {
  // The type names each field, so a new field fails to compile until it is added here.
  const head: Required<InstanceHead> = {
    version: 12,
    accountId: 'acc_1',
    name: 'n',
    description: 'd',
    createdAtMs: 1,
    updatedAtMs: 2,
    deletedAtMs: 3,
    originMs: 4,
    observedAtMs: 5,
    generation: 6,
    historyCount: 7,
    historyStart: 8,
    driftCount: 9,
    driftStart: 10,
    newestHistory: { after: 11, rows: 'r' },
    newestDrift: NO_ROWS,
    floor: { history: 1, drift: 2, generation: 3, cycle: 4, timestampMs: 5, state: undefined },
    tagsJson: '{"a":"b"}',
    changedAtMs: 13,
    modelVersion: '1.1',
    model: Float64Array.of(1, 2, 2),
    recentCalls: [{ callId: 1, version: 2, atMs: 3 }],
  };
  assert.equal(unpackedHead(packedHead(head)), head);
});

packing.run();
