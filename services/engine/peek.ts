import { type Glance, type GlancesOf, glancesFrom } from '#engine/glance';
import type { HeadOf } from '#engine/listing';
import type { Clock } from '#platform/clock';
import { type EngineAnswer, type EngineCall, PEEKED_INSTANCES_MAX } from '#wire/engine-messages';

/** How long an owner may take before the store is asked instead, in milliseconds. Well below what a page may take. */
const PEEK_TIMEOUT_MS = 300;

/** The engines as whoever wants to look at instances sees them; `RoutedEngine` is one. */
interface InstanceOwners {
  /** Where the owner of an instance answers, if that is known. */
  addressOf(instanceId: string): string | undefined;
  /** Asks one engine, once. */
  askAt(address: string, call: EngineCall): Promise<EngineAnswer>;
}

/** What looking at instances of other engines needs. */
export type GlancePorts = {
  readonly owners: InstanceOwners;
  /** The stored head, without regard to any owner. Throws `service_unavailable`. */
  readonly storedHeadOf: HeadOf;
  readonly clock: Clock;
};

/** An owner's answer to `peek`: what it has in memory or, for what is not active, in the store. */
export async function peekAnswer(
  instanceIds: readonly string[],
  headOf: HeadOf,
): Promise<EngineAnswer> {
  const glances = await glancesFrom(instanceIds, headOf);
  const rows = [...glances].map(([id, { cycle, energy, description }]) => [
    id,
    cycle,
    energy,
    description,
  ]);
  const body = JSON.stringify(rows);
  return { body, etag: '', cycles: 0, throttledRetryAfterS: 0, isReplayed: false };
}

/**
 * Asks all owners at once, each for all of its instances. What an owner does not answer within
 * 300 ms is read from the store, where it may be a checkpoint old. Source: architecture 3.6.
 */
export function glancesOfOwners({ owners, storedHeadOf, clock }: GlancePorts): GlancesOf {
  async function ask(accountId: string, address: string, ids: readonly string[]) {
    const call: EngineCall = {
      accountId,
      instanceId: '',
      callId: 0,
      deadlineAtMs: clock.wallMs() + PEEK_TIMEOUT_MS,
      idempotency: undefined,
      isReplayOnly: false,
      ifMatch: undefined,
      command: { kind: 'peek', instanceIds: ids },
    };
    const late = Promise.withResolvers<undefined>();
    using _ = clock.after(PEEK_TIMEOUT_MS, () => late.resolve(undefined));
    const answered = owners
      .askAt(address, call)
      .then(readGlances)
      .catch(() => undefined);
    return (await Promise.race([answered, late.promise])) ?? glancesFrom(ids, storedHeadOf);
  }

  return async (accountId, instanceIds) => {
    const byOwner = Map.groupBy(instanceIds, (id) => owners.addressOf(id));
    const parts = [...byOwner].flatMap(([address, ids]) => {
      if (address === undefined) return [glancesFrom(ids, storedHeadOf)];
      return chunksOf(ids).map((chunk) => ask(accountId, address, chunk));
    });
    return new Map((await Promise.all(parts)).flatMap((part) => [...part]));
  };
}

/** An owner's answer; undefined if it is none, which is as good as no answer. */
function readGlances({ body }: EngineAnswer): Map<string, Glance> | undefined {
  const rows: unknown = JSON.parse(Buffer.from(body).toString());
  if (!Array.isArray(rows)) return undefined;
  const glances = new Map<string, Glance>();
  for (const row of rows) {
    const [id, cycle, energy, description]: unknown[] = Array.isArray(row) ? row : [];
    if (typeof id !== 'string' || typeof cycle !== 'number') return undefined;
    if (typeof energy !== 'number' || typeof description !== 'string') return undefined;
    glances.set(id, { cycle, energy, description });
  }
  return glances;
}

function chunksOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / PEEKED_INSTANCES_MAX);
  return Array.from({ length: count }, (_, at) =>
    ids.slice(at * PEEKED_INSTANCES_MAX, (at + 1) * PEEKED_INSTANCES_MAX),
  );
}
