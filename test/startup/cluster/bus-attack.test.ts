import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type ListenOptions } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Bus } from '#bus/bus';
import { openNatsBus } from '#bus/nats-bus';
import {
  announcementSubject,
  encodeAnnouncement,
  encodeHeartbeat,
  type Heartbeat,
  heartbeatSubject,
} from '#cluster/heartbeat';
import { systemClock } from '#stdlib/clock';
import { createInstance, observationAt, process } from '#test/support/calls/scene';
import { type OwnCluster, startOwnCluster } from '#test/support/servers/own-cluster';
import { cassandraOrSkip, natsOrSkip } from '#test/support/servers/real-servers';
import { SILENT } from '#test/support/test-logger';

const { address: cassandra, suite } = cassandraOrSkip();
const { address: nats } = natsOrSkip();

/** Maximum epoch of a message, which no real epoch exceeds. */
const UNBEATABLE = Number.MAX_SAFE_INTEGER;

/** A NATS client without the cluster secret, with its own TCP and Unix listeners. */
type Attacker = AsyncDisposable & {
  readonly bus: Bus;
  /** `host:port` of the TCP listener. */
  readonly address: string;
  /** Path of the Unix socket. */
  readonly path: string;
  /** Connections to both listeners. */
  connections(): number;
};

let cluster: OwnCluster;
let attacker: Attacker;
let id = '';

const attacked = suite('when an attacker publishes on NATS');

attacked.before(async () => {
  attacker = await openAttacker();
  cluster = await startOwnCluster({ cassandra, nats }, ['a', 'b'], { limiters: ['limiter'] });
  id = await createInstance(cluster.caller);
});
attacked.after(async () => {
  await cluster[Symbol.asyncDispose]();
  await attacker[Symbol.asyncDispose]();
});

async function openAttacker(): Promise<Attacker> {
  const folder = mkdtempSync(join(tmpdir(), 'bus-attack-'));
  const path = join(folder, 'socket');
  let connections = 0;
  const listenAt = async (where: ListenOptions) => {
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined).resume();
    }).listen(where);
    await once(server, 'listening');
    return server;
  };
  const tcp = await listenAt({ host: '127.0.0.1', port: 0 });
  const unix = await listenAt({ path });
  const onBug = (error: unknown) => assert.unreachable(String(error));
  const options = { servers: [nats], name: 'stranger', clock: systemClock, onBug, logger: SILENT };
  const bus = await openNatsBus(options);
  return {
    bus,
    address: `127.0.0.1:${(tcp.address() as AddressInfo).port}`,
    path,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      await bus[Symbol.asyncDispose]();
      for (const server of [tcp, unix]) server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Captures the next heartbeat of a service, raw and decoded. */
async function overheard(service: 'engine' | 'limiter') {
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  using _heard = attacker.bus.subscribe(heartbeatSubject(cluster.keyspace, service), resolve);
  const raw = await promise;
  const text = Buffer.from(raw).toString();
  return { raw, heartbeat: JSON.parse(text.slice(text.indexOf('{'))) as Heartbeat };
}

/** Repeats messages for longer than two heartbeat intervals. */
async function insist(service: 'engine' | 'limiter', messages: readonly Uint8Array[]) {
  for (let count = 0; count < 12; count += 1) {
    const subject = heartbeatSubject(cluster.keyspace, service);
    for (const message of messages) attacker.bus.publish(subject, message);
    await sleep(200);
  }
}

let seconds = 0;
async function assertServed(): Promise<void> {
  for (let count = 0; count < 5; count += 1) {
    seconds += 10;
    await process(cluster.caller, id, observationAt(seconds));
  }
}

const everyShard = Array.from({ length: 16 }, (_, shard) => [shard, UNBEATABLE] as const);

for (const service of ['limiter', 'engine'] as const) {
  attacked(`no process accepts a false owner of all ${service} shards`, async () => {
    const { heartbeat } = await overheard(service);
    const { address, path } = attacker;
    const claims = [address, `unix:${path}`].map((where) => ({
      ...heartbeat,
      ...{ node: where, incarnation: `i${where}`, address: where, shards: everyShard },
    }));
    const subject = announcementSubject(cluster.keyspace, service);
    for (const [shard, epoch] of everyShard) {
      const { cluster: of, incarnation } = heartbeat;
      const announced = { cluster: of, service, shard, epoch, incarnation, address };
      attacker.bus.publish(subject, encodeAnnouncement(announced));
    }
    await insist(service, claims.map(encodeHeartbeat));
    await assertServed();
    assert.is(attacker.connections(), 0);
  });
}

attacked('no process accepts a false leave or a replayed message', async () => {
  const { raw, heartbeat } = await overheard('engine');
  const owned = async () => {
    const runs = [...cluster.engines.values()];
    return await Promise.all(
      runs.map((run) => cluster.metric(run, 'shards_owned{service="engine"')),
    );
  };
  const before = await owned();
  const leaving = encodeHeartbeat({ ...heartbeat, isLeaving: true, startedAtMs: Date.now() });
  await insist('engine', [leaving, raw]);
  assert.equal(await owned(), before);
  await assertServed();
});

attacked('every process counts dropped messages, and logs some of them', async () => {
  const { edge, engines, limiters } = cluster;
  for (const run of [edge, ...engines.values(), ...limiters.values()]) {
    assert.ok((await cluster.metric(run, 'bus_dropped_total{reason="unsigned"}')) >= 12);
    const lines = run.stderr().split('\n');
    const reported = lines.filter((line) => line.includes('without a signature'));
    assert.ok(reported.length >= 1 && reported.length <= 3, `${reported.length} lines`);
  }
  const dropped = await cluster.metric(edge, 'bus_dropped_total{reason="repeated"}');
  assert.ok(dropped >= 12, `${dropped} repeated`);
});

attacked.run();
