import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  announcementSubject,
  decodeAnnouncement,
  decodeHeartbeat,
  encodeAnnouncement,
  encodeHeartbeat,
  type Heartbeat,
  heartbeatSubject,
} from '#cluster/heartbeat';

const HEARTBEAT: Heartbeat = {
  cluster: 'cluster-1',
  service: 'engine',
  node: 'engine-1',
  incarnation: '0AbCdEfGhIjK',
  address: '10.0.0.1:8100',
  startedAtMs: 1_795_000_000_000,
  isLeaving: false,
  viewHash: '1234abcd',
  shardCount: 64,
  shards: [
    [0, 1],
    [255, 12_345],
  ],
};

const { cluster, service, incarnation, address } = HEARTBEAT;
const ANNOUNCEMENT = { cluster, service, shard: 7, epoch: 3, incarnation, address };

/** Changes of a heartbeat. Each change alone makes the heartbeat invalid. */
const HEARTBEAT_DAMAGES: readonly Record<string, unknown>[] = [
  { cluster: undefined },
  { cluster: '' },
  { cluster: 5 },
  { service: 'edge' },
  { node: 'x'.repeat(301) },
  { incarnation: null },
  { address: ['10.0.0.1'] },
  { address: '10.0.0.1' },
  { address: 'unix:/run/x.sock' },
  { address: 'dns:///10.0.0.1:8100' },
  { startedAtMs: 1.5 },
  { startedAtMs: '1' },
  { isLeaving: 'no' },
  { viewHash: 7 },
  { shardCount: 0 },
  { shards: undefined },
  { shards: {} },
  { shards: [[1]] },
  { shards: [[1, 2, 3]] },
  { shards: [1, 2] },
  { shards: [[-1, 1]] },
  { shards: [[4_096, 1]] },
  { shards: [[1.5, 1]] },
  { shards: [[1, 0]] },
  { shards: [[1, 2 ** 53]] },
  { shards: [['1', '1']] },
  { shards: Array.from({ length: 4_097 }, () => [1, 1]) },
];

const ANNOUNCEMENT_DAMAGES: readonly Record<string, unknown>[] = [
  { cluster: undefined },
  { service: 'edge' },
  { shard: -1 },
  { shard: '7' },
  { epoch: 0 },
  { epoch: undefined },
  { incarnation: '' },
  { address: 5 },
];

const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

const codec = suite('messages between the members of a cluster');

codec('are read as they were written', () => {
  assert.equal(decodeHeartbeat(encodeHeartbeat(HEARTBEAT)), HEARTBEAT);
  assert.equal(decodeAnnouncement(encodeAnnouncement(ANNOUNCEMENT)), ANNOUNCEMENT);
});

codec('may have fields that this version does not know', () => {
  assert.equal(decodeHeartbeat(bytes({ ...HEARTBEAT, zone: 'a' })), HEARTBEAT);
  assert.equal(decodeAnnouncement(bytes({ ...ANNOUNCEMENT, zone: 'a' })), ANNOUNCEMENT);
});

codec('are refused when any field is wrong', () => {
  for (const damage of HEARTBEAT_DAMAGES) {
    assert.is(
      decodeHeartbeat(bytes({ ...HEARTBEAT, ...damage })),
      undefined,
      JSON.stringify(damage),
    );
  }
  for (const damage of ANNOUNCEMENT_DAMAGES) {
    const damaged = bytes({ ...ANNOUNCEMENT, ...damage });
    assert.is(decodeAnnouncement(damaged), undefined, JSON.stringify(damage));
  }
});

codec('are not confused with each other', () => {
  assert.is(decodeHeartbeat(encodeAnnouncement(ANNOUNCEMENT)), undefined);
  assert.is(decodeAnnouncement(encodeHeartbeat(HEARTBEAT)), undefined);
});

codec('are never decoded from arbitrary bytes, which give undefined instead of an error', () => {
  const anyJson = fc.json().map((text) => new TextEncoder().encode(text));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), anyJson), (message) => {
      assert.is(decodeHeartbeat(message), undefined);
      assert.is(decodeAnnouncement(message), undefined);
    }),
  );
});

codec('are refused when their text is not UTF-8', () => {
  const message = bytes({ ...HEARTBEAT, node: '?' });
  message[message.indexOf('?'.charCodeAt(0))] = 0xff;
  assert.is(decodeHeartbeat(message), undefined);
});

codec('are refused above 64 KiB', () => {
  const padded = bytes({ ...HEARTBEAT, padding: ' '.repeat(64 * 1_024) });
  assert.is(decodeHeartbeat(padded), undefined);
});

codec('stay small: below 4 KiB for 256 shards, and below 64 KiB for the maximum', () => {
  const sizeOf = (count: number, epoch: number): number => {
    const shards = Array.from({ length: count }, (_, shard) => [shard, epoch] as const);
    return encodeHeartbeat({ ...HEARTBEAT, shards }).length;
  };
  assert.ok(sizeOf(256, 10_000) < 4 * 1_024);
  assert.ok(sizeOf(4_096, 10_000_000) < 64 * 1_024);
});

codec('have separate subjects for each service', () => {
  assert.is(heartbeatSubject('identity', 'engine'), 'identity.engine.heartbeat');
  assert.is(announcementSubject('identity', 'limiter'), 'identity.limiter.shard');
});

codec.run();
