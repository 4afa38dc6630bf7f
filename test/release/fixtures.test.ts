import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeRecord, linesOf } from '#actor-runtime/record-codec';
import { headOf } from '#engine/instance/state';
import { knownVersions } from '#storage/cassandra/migrate';
import { decodeHead } from '#storage/ports/head-codec';
import { unpackedHead } from '#storage/ports/instances';
import { versionsIn } from '#storage/ports/schema-versions';
import { FIXTURES, fixturesOf, fixtureVersions } from '#test/release/fixture-folders';
import { FIXTURE_KINDS, plainJson } from '#test/release/fixture-kinds';
import { presentFixtures } from '#test/release/present-fixtures';
import { sampleEngineCalls, sampleLimiterCalls } from '#test/release/sample-calls';
import { replayed, sampleInstances } from '#test/release/sample-instances';
import { sampleMeters } from '#test/release/sample-meters';

/**
 * Describes the first value of `then` that is missing or different in `now`, with its path.
 * Undefined if `now` has all values. Additional values are allowed, because later versions may add
 * fields.
 */
function lossIn(then: unknown, now: unknown, path = ''): string | undefined {
  if (typeof then !== 'object' || then === null) {
    return Object.is(then, now) ? undefined : `${path} is ${String(now)}, not ${String(then)}`;
  }
  if (typeof now !== 'object' || now === null) return `${path} is ${String(now)}`;
  if (Array.isArray(then) && Array.isArray(now) && then.length !== now.length) {
    return `${path} has ${now.length} entries, not ${then.length}`;
  }
  const present = new Map(Object.entries(now));
  for (const [name, value] of Object.entries(then)) {
    const loss = lossIn(value, present.get(name), `${path}.${name}`);
    if (loss !== undefined) return loss;
  }
  return undefined;
}

/** Bytes of a kind as the current program writes them. */
const bytesOf = (kind: string) =>
  presentFixtures()[kind]?.map(({ bytes }) => Buffer.from(bytes)) ?? [];

const writing = suite('the fixtures of the current program');

writing('cover every kind of bytes in less than 300 kB', () => {
  const written = presentFixtures();
  assert.equal(Object.keys(written).sort(), Object.keys(FIXTURE_KINDS).sort());
  for (const [kind, entries] of Object.entries(written)) assert.ok(entries.length > 0, kind);
  const read = Object.entries(written).map(([kind, entries]) =>
    entries.map(({ key, bytes }) => FIXTURE_KINDS[kind]?.(Buffer.from(bytes), key)),
  );
  assert.ok(JSON.stringify(plainJson([written, read]), undefined, 1).length < 300_000);
});

writing('are deterministic', () => {
  assert.equal(plainJson(presentFixtures()), plainJson(presentFixtures()));
});

writing('decode to their original values', () => {
  const read = (kind: string) =>
    bytesOf(kind).flatMap((bytes) => FIXTURE_KINDS[kind]?.(bytes, {}) as object[]);
  const callsIn = (kind: string) => read(kind).map((one) => Reflect.get(one, 'call'));
  assert.equal(plainJson(callsIn('engine-requests')), plainJson(sampleEngineCalls()));
  assert.equal(plainJson(callsIn('limiter-requests')), plainJson(sampleLimiterCalls()));
  const meters = sampleMeters().map(({ head }) => head);
  assert.equal(read('meters'), meters);
  const lives = sampleInstances();
  const heads = bytesOf('heads').map((bytes, at) => decodeHead(lives[at]?.instanceId ?? '', bytes));
  assert.equal(
    heads,
    lives.map(({ checkpoint }) => unpackedHead(checkpoint.head)),
  );
});

for (const version of fixtureVersions()) {
  const reading = suite(`the fixtures of release ${version}`);

  for (const [kind, fixtures] of fixturesOf(version)) {
    reading(`of kind ${kind} have the same decoded content as before`, () => {
      for (const { key, bytes, read } of fixtures) {
        const now = plainJson(FIXTURE_KINDS[kind]?.(Buffer.from(bytes, 'base64'), key));
        assert.is(lossIn(read, now, JSON.stringify(key)), undefined);
      }
    });
  }

  reading('have a journal whose replay gives the same heads, bit for bit', () => {
    const all = fixturesOf(version);
    const lines = (all.get('journal') ?? []).flatMap(({ bytes }) =>
      linesOf(Buffer.from(bytes, 'base64')),
    );
    const records = lines.map(decodeRecord);
    for (const { key, bytes } of all.get('heads') ?? []) {
      const id = String(key['instance']);
      const own = records.filter(({ actorId }) => actorId === id);
      const { model, modelVersion, ...head } = unpackedHead(headOf(replayed(id, own)));
      const stored = decodeHead(id, Buffer.from(bytes, 'base64'));
      assert.equal([...model], [...stored.model]);
      assert.equal(
        [modelVersion, head.version, head.generation, head.historyCount, head.driftCount],
        [
          stored.modelVersion,
          stored.version,
          stored.generation,
          stored.historyCount,
          stored.driftCount,
        ],
      );
    }
  });

  reading('have wire messages that this release only extends', () => {
    const args = ['breaking', 'proto', '--against', `${FIXTURES}/${version}/proto`];
    const { status, stdout, stderr } = spawnSync('node_modules/.bin/buf', args, {
      encoding: 'utf8',
    });
    assert.is(status, 0, `${stdout}${stderr}`);
  });

  reading('have a schema that this release only extends', () => {
    const released = versionsIn(readFileSync(`${FIXTURES}/${version}/schema.cql`, 'utf8'));
    assert.equal(knownVersions().slice(0, released.length), released);
  });

  reading.run();
}

writing.run();
