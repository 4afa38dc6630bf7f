import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openNatsBus } from '#bus/nats-bus';
import { heartbeatSubject } from '#cluster/heartbeat';
import { clusterSecretFile } from '#deploy/local/cluster-secrets';
import { newAccount } from '#deploy/local/new-account';
import { addressOf } from '#deploy/local/processes/readiness';
import { systemClock } from '#stdlib/clock';
import { CONSOLE_REHEARSALS } from '#test/observe/console-rehearsals';
import type { LightLoad } from '#test/observe/light-load';
import { paused, type Rehearsal } from '#test/observe/rehearsal';
import type { WatchedCluster } from '#test/observe/watched-cluster';
import { SILENT } from '#test/support/test-logger';

/** Pause in ms after which a node is fenced, because its journal has no progress for 5 s. */
const FENCING_PAUSE_MS = 15_000;

/** Interval between kills in ms, enough for a restart after 2 s and a scrape. */
const BETWEEN_KILLS_MS = 15_000;

/** Alternating pause and work times of a slowed Cassandra, in milliseconds. */
const PULSE_MS = { pause: 700, work: 30 } as const;

/** Heartbeat subjects of engines and limiters, on which a stranger publishes. */
const STRANGE_SUBJECTS = (['engine', 'limiter'] as const).map((service) =>
  heartbeatSubject('identity-engine', service),
);

/** All rehearsals on a local cluster. Faults with the fewest after-effects come first. */
export const REHEARSALS: readonly Rehearsal[] = [
  {
    alerts: ['BusDisconnected'],
    fault: 'NATS is paused',
    provoke: async (cluster) => paused(cluster, ['nats']),
  },
  {
    alerts: ['ForgedMessages'],
    fault: 'unsigned messages are published on the subjects of the cluster',
    provoke: publishAsStranger,
  },
  {
    alerts: ['CredentialReloadFails'],
    fault: 'the file of the cluster secret is emptied',
    provoke: emptySecretFile,
  },
  {
    alerts: ['CyclesLostInCrash'],
    fault: 'a limiter is killed after each of several small accounts has made a call',
    provoke: killLimiter,
  },
  {
    alerts: ['ProcessRestarts'],
    fault: 'an engine is killed, and killed again after its restart',
    provoke: async (cluster) => {
      cluster.signal('engine2', 'SIGKILL');
      await sleep(BETWEEN_KILLS_MS);
      cluster.signal('engine2', 'SIGKILL');
      return nothing;
    },
  },
  {
    alerts: ['JournalFenced'],
    fault: 'an engine is paused for 15 s',
    provoke: async (cluster) => {
      const resume = paused(cluster, ['engine1']);
      await sleep(FENCING_PAUSE_MS);
      await resume();
      return nothing;
    },
  },
  {
    alerts: ['ProcessDown'],
    fault: 'an edge is paused',
    provoke: async (cluster) => paused(cluster, ['edge2']),
  },
  {
    alerts: ['NoEdge'],
    fault: 'all edges are paused',
    provoke: async (cluster) => paused(cluster, cluster.namesOf('edge')),
  },
  ...CONSOLE_REHEARSALS,
  {
    alerts: ['FailsClosed', 'ShardWithoutOwner', 'AvailabilityBurnsFast'],
    fault: 'all limiters are paused',
    provoke: async (cluster) => paused(cluster, cluster.namesOf('limiter')),
  },
  // Comes before faults that slow all nodes, because those faults also raise this alert.
  {
    alerts: ['StoreServerSlow'],
    fault: 'one of three Cassandra nodes is paused most of the time',
    cassandraNodes: 3,
    // Cassandra regards a node that is paused all the time as down and sends it no requests.
    provoke: async (cluster) => pulsed(cluster, cluster.namesOf('cassandra').slice(0, 1)),
  },
  {
    alerts: ['StoreSlow', 'MailboxWaits'],
    fault: 'Cassandra is paused most of the time while callers send keyed calls to one instance',
    provoke: pulseCassandra,
  },
  {
    alerts: ['StoreFails', 'CheckpointsFail'],
    fault: 'Cassandra is paused',
    provoke: async (cluster) => paused(cluster, cluster.namesOf('cassandra')),
  },
  // Comes last, because its many successful requests would hide failures for an hour.
  {
    alerts: ['EventLoopBusy'],
    fault: 'an edge receives as many requests as it can answer',
    provoke: floodEdge,
  },
];

/** Alerts that only promtool tests, with the reason why no rehearsal raises them. */
export const NOT_REHEARSED: Readonly<Record<string, string>> = {
  AvailabilityBurnsSteadily: 'the alert averages over six hours and half an hour',
  AvailabilityBurnsSlowly: 'the alert averages over three days and six hours',
  LatencyBurnsFast:
    'a seventh of all process calls in an hour must be slow, which takes nine minutes',
  LatencyBurnsSteadily: 'the alert averages over six hours and half an hour',
  LatencyBurnsSlowly: 'the alert averages over three days and six hours',
  CertificateExpiresSoon: 'a local cluster uses no TLS',
  CertificateExpires: 'a local cluster uses no TLS',
  ClockDeviates: 'all processes share the clock of the machine',
  AuditUnavailable: 'without Cassandra, actions are refused before their audit line is written',
  ReplayMismatch: 'no fault of a running cluster changes stored observations',
  LogLinesLost: 'a full disk of the machine would also end the rehearsal',
  NoWebhookDelivered: 'the alert waits for 15 minutes, longer than a rehearsal',
  TransitionsUnrecorded: 'a local cluster takes over the shard of a feed within 15 s',
  IndexRepaired: 'no fault of a running cluster flips a bit of an index or loses a change',
  IndexUnreadable: 'no fault of a running cluster damages the stored state of an instance',
  IndexBuildFails: 'the alert waits for 10 minutes, longer than a rehearsal',
  UnflushedTailGrows: 'a local cluster needs too long for 150,000 records',
};

const nothing = async (): Promise<void> => undefined;

async function emptySecretFile({ plan }: WatchedCluster): Promise<() => Promise<void>> {
  const file = clusterSecretFile(plan.folder);
  const secret = readFileSync(file);
  writeFileSync(file, '');
  return async () => writeFileSync(file, secret);
}

async function publishAsStranger({ plan }: WatchedCluster): Promise<() => Promise<void>> {
  const nats = plan.processes.find(({ kind }) => kind === 'nats');
  if (nats === undefined) throw new Error('this cluster uses an external NATS');
  const bus = await openNatsBus({
    servers: [addressOf(nats)],
    name: 'stranger',
    clock: systemClock,
    onBug: () => undefined,
    logger: SILENT,
  });
  for (let sent = 0; sent < 20; sent += 1) {
    for (const subject of STRANGE_SUBJECTS) bus.publish(subject, Buffer.from('{}'));
    await sleep(100);
  }
  return async () => await bus[Symbol.asyncDispose]();
}

/** Kills the first limiter. Its lost cycles are counted when another limiter loads the accounts. */
async function killLimiter(cluster: WatchedCluster, load: LightLoad): Promise<() => Promise<void>> {
  const limits = { requests_per_minute: 1_000, cycles_per_month: 10_000 };
  const names = Array.from({ length: 8 }, (_, number) => `small${number}`);
  const accounts = await Promise.all(
    names.map((name) => newAccount(cluster.plan.adminUrl, name, limits)),
  );
  const callAll = () =>
    Promise.all(
      accounts.map(({ apiKey }) => load.call('GET', '/instances', undefined, keyed(apiKey))),
    );
  const made = await Promise.all(
    accounts.map(({ apiKey }) => load.call('POST', '/instances', { name: 'small' }, keyed(apiKey))),
  );
  const observation = { mode_target: 'ORDER', signal_strength: 0.5 };
  await Promise.all(
    made.map(({ data }, place) =>
      load.call(
        'POST',
        `/instances/${data?.id}/process`,
        observation,
        keyed(accounts[place]?.apiKey),
      ),
    ),
  );
  cluster.signal('limiter1', 'SIGKILL');
  const timer = setInterval(() => void callAll(), 1_000);
  return async () => clearInterval(timer);
}

function keyed(apiKey: string | undefined) {
  return { authorization: `Bearer ${apiKey}` };
}

/** Number of requests per write on each connection. */
const PIPELINED = 10;

/** Number of connections. */
const FLOODING = 24;

/**
 * Floods an edge with large batches whose last observation is invalid. Their validation is
 * expensive, but they use no cycles.
 */
async function floodEdge({ plan, target }: WatchedCluster): Promise<() => Promise<void>> {
  const port = plan.processes.find(({ name }) => name === 'edge1')?.port ?? 0;
  const observation = { mode_target: 'ORDER', signal_strength: 0.5 };
  const observations = [...Array.from({ length: 99 }, () => observation), { mode_target: 'NONE' }];
  const body = JSON.stringify({ observations });
  const head = [
    'POST /v1/instances/inst_00000000000000ff/process/batch HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${target.key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const batch = `${head.join('\r\n')}\r\n\r\n${body}`.repeat(PIPELINED);
  const sockets = new Set<Socket>();
  let isOver = false;
  const open = (): void => {
    if (isOver) return;
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    // The edge sometimes closes a connection. A new connection then replaces the closed connection.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      open();
    });
    let left = PIPELINED;
    // A chunk may end inside a status line.
    let tail = '';
    socket.on('data', (bytes: Buffer) => {
      const text = tail + bytes.toString('latin1');
      left -= text.split('HTTP/1.1 ').length - 1;
      tail = text.slice(-8);
      if (left > 0) return;
      left += PIPELINED;
      socket.write(batch);
    });
    socket.write(batch);
  };
  for (let count = 0; count < FLOODING; count += 1) open();
  return async () => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  };
}

/**
 * Slows Cassandra. A call with a key looks up the key during its turn, so that later calls on the
 * instance wait for Cassandra.
 */
async function pulseCassandra(
  cluster: WatchedCluster,
  load: LightLoad,
): Promise<() => Promise<void>> {
  const { data } = await load.call('POST', '/instances', { name: 'hot' });
  const observation = { mode_target: 'ORDER', signal_strength: 0.5 };
  const pulses = pulsed(cluster, cluster.namesOf('cassandra'));
  let isOver = false;
  const caller = async (): Promise<void> => {
    while (!isOver) {
      const key = { 'idempotency-key': randomUUID() };
      await load.call('POST', `/instances/${data?.id}/process`, observation, key);
    }
  };
  const running = Promise.all(Array.from({ length: 24 }, caller));
  return async () => {
    isOver = true;
    await Promise.all([pulses(), running]);
  };
}

/**
 * Pauses the named processes together, most of the time. Returns a function that ends the pauses.
 */
function pulsed(cluster: WatchedCluster, names: readonly string[]): () => Promise<void> {
  let isOver = false;
  const pulses = async (): Promise<void> => {
    while (!isOver) {
      const resume = paused(cluster, names);
      await sleep(PULSE_MS.pause);
      await resume();
      await sleep(PULSE_MS.work);
    }
  };
  const running = pulses();
  return async () => {
    isOver = true;
    await running;
  };
}
