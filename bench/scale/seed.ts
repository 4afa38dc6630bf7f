import { createHash } from 'node:crypto';
import { SHARDS } from '#bench/durable/service';
import { withProgress } from '#bench/progress';
import { PERSONA_PROFILES } from '#identity/persona-profiles';
import { createState, MODEL_VERSION } from '#identity/state';
import { cassandraInstanceStore } from '#storage/cassandra/instances';
import { cassandraListingStore } from '#storage/cassandra/listings';
import type { CassandraSession } from '#storage/cassandra/session';
import { bucketsOf, type InstanceHead, NO_ROWS } from '#storage/ports/instances';

/** Concurrent instance writes: enough to keep Cassandra busy, with short queues. */
const WRITES_IN_FLIGHT = 64;

/** Energy after creation: full, the API's default (interface 2.3). */
const ENERGY = 1;

/** Model of a new instance of each persona. Immutable, so heads share the models. */
const MODELS = PERSONA_PROFILES.map(({ strengths }) =>
  createState({ modeStrengths: strengths, energyLevel: ENERGY }),
);

/** Instances to write directly into the tables. */
export type Seed = {
  readonly session: CassandraSession;
  readonly count: number;
  /** Accounts that receive the instances in turn. */
  readonly accountIds: readonly string[];
  /** Whether the instances also appear in the accounts' listings. */
  readonly isListed: boolean;
  /** Name by index; default `seededName`. */
  readonly nameOf?: (index: number) => string;
  /** Tags by index, as JSON text; default: no tags. */
  readonly tagsJsonOf?: (index: number) => string;
  readonly print: (line: string) => void;
};

/** Id of seeded instance number `index`, the same in every run. */
export function seededId(index: number): string {
  return `inst_${createHash('sha1').update(`seeded ${index}`).digest('hex').slice(0, 16)}`;
}

/** Name of seeded instance number `index`. */
export function seededName(index: number): string {
  return `seeded ${index}`;
}

/** Initial strengths of the seven modes, taken from a persona. */
export function seededStrengths(index: number): readonly number[] {
  const profile = PERSONA_PROFILES[index % PERSONA_PROFILES.length];
  if (profile === undefined) throw new Error('the service has no personas');
  return profile.strengths;
}

/** Writes instances as the service stores created instances without observations. */
export async function seedInstances(seed: Seed): Promise<void> {
  const { session, count, accountIds, isListed, nameOf = seededName, tagsJsonOf, print } = seed;
  const instances = cassandraInstanceStore(session, bucketsOf(SHARDS));
  const listings = cassandraListingStore(session);
  const startedMs = performance.now();
  const perS = () => ((1_000 * next) / (performance.now() - startedMs)).toFixed(0);
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      const instanceId = seededId(index);
      const accountId = accountIds[index % accountIds.length] ?? '';
      const tags = tagsJsonOf === undefined ? {} : { tagsJson: tagsJsonOf(index) };
      const head = { ...headOf(index, nameOf(index), accountId), ...tags };
      await instances.checkpoint([{ instanceId, head, history: [], drift: [], answers: [] }]);
      if (!isListed) continue;
      const { version, name, description, createdAtMs } = head;
      await listings.put(accountId, { instanceId, version, name, description, createdAtMs });
    }
  };
  const line = () => `seeded ${next} of ${count}, ${perS()}/s`;
  const writers = () => Array.from({ length: WRITES_IN_FLIGHT }, writer);
  await withProgress(line, print, () => Promise.all(writers()));
  print(`seeded ${count} instances, ${perS()}/s`);
}

function headOf(index: number, name: string, accountId: string): InstanceHead {
  const createdAtMs = Date.now();
  return {
    version: 1,
    accountId,
    name,
    description: '',
    createdAtMs,
    updatedAtMs: createdAtMs,
    deletedAtMs: undefined,
    originMs: createdAtMs,
    observedAtMs: undefined,
    generation: 1,
    historyCount: 0,
    historyStart: 0,
    driftCount: 0,
    driftStart: 0,
    newestHistory: NO_ROWS,
    newestDrift: NO_ROWS,
    modelVersion: MODEL_VERSION,
    model: modelOf(index),
    recentCalls: [],
  };
}

function modelOf(index: number): Float64Array {
  const model = MODELS[index % MODELS.length];
  if (model === undefined) throw new Error('the service has no personas');
  return model;
}
