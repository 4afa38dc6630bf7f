import { IdentityEngine, type ModeTarget, ObservationBuffer } from 'identity-engine';

/*
 * A fleet of agents in one process that share an observation buffer. Needs a service and an API key
 * with enough quota: 1,000 agents with 20 observations each take about 2,000 requests within
 * seconds, and 20,000 cycles. The account of `make run` allows this; plans up to `pro` do not.
 *
 * Usage: IDENTITY_ENGINE_API_KEY=… node examples/fleet.ts [agents, default 1000] [observations per
 * agent, default 20]
 */

const agents = Number(process.argv[2] ?? 1_000);
const observations = Number(process.argv[3] ?? 20);

/** Number of instances created or deleted concurrently. */
const AT_ONCE = 32;
const MODES: readonly ModeTarget[] = ['PERCEPTION', 'EXPLORATION', 'ORDER', 'CONNECTION'];

const client = new IdentityEngine();
const ids: string[] = [];
await eachOf(agents, async (number) => {
  ids.push((await client.instances.create({ name: `agent ${number}` })).data.id);
});

const startedMs = performance.now();
let batches = 0;
const buffer = new ObservationBuffer(client, {
  onAcknowledged: () => {
    batches += 1;
  },
  onRejected: ({ instanceId, error }) => console.error(instanceId, error.code, error.reason),
});
for (let turn = 0; turn < observations; turn += 1) {
  for (const [number, id] of ids.entries()) {
    const mode_target = MODES[(turn + number) % MODES.length] ?? 'ORDER';
    await buffer.add(id, { mode_target, signal_strength: 0.5, context: { turn } });
  }
}
const { acknowledged, rejectedCount, unacknowledged } = await buffer.close({ timeoutMs: 60_000 });
const seconds = (performance.now() - startedMs) / 1_000;
console.log(
  `${acknowledged} observations of ${agents} agents in ${batches} batches and ${seconds.toFixed(1)} s; ` +
    `${rejectedCount} rejected, ${unacknowledged.length} batches unacknowledged`,
);
await eachOf(agents, async (number) => {
  await client.instances.delete(ids[number] ?? '');
});
if (acknowledged !== agents * observations) process.exitCode = 1;

/** Calls `work` for each number below `count`, up to `AT_ONCE` concurrently. */
async function eachOf(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const number = next;
      next += 1;
      await work(number);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
