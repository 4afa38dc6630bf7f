import type { HeadOf } from '#engine/listing';
import { readSummaries, type SummariesOf, type Summary } from '#engine/summary';
import type { Models } from '#identity/model';
import type { Clock } from '#platform/clock';
import { traced } from '#platform/traceparent';
import {
  type EngineAnswer,
  type EngineCall,
  plainAnswer,
  SUMMARIES_MAX,
  unnamedCall,
} from '#wire/engine-messages';

/** How long an owner may take before the store is read instead, in milliseconds: less than a page. */
const SUMMARIES_TIMEOUT_MS = 300;

/** The engines as a reader of summaries needs them; `RoutedEngine` is one. */
interface InstanceOwners {
  /** Where the owner of an instance answers, if that is known. */
  addressOf(instanceId: string): string | undefined;
  /** Asks one engine, once. */
  askAt(address: string, call: EngineCall): Promise<EngineAnswer>;
}

type SummaryPorts = {
  readonly owners: InstanceOwners;
  /** The stored head, without regard to any owner. Throws `service_unavailable`. */
  readonly storedHeadOf: HeadOf;
  readonly models: Models;
  readonly clock: Clock;
};

/** An owner's answer to `readSummaries`: from memory, or of what is not active from the store. */
export async function summariesAnswer(
  instanceIds: readonly string[],
  headOf: HeadOf,
  models: Models,
): Promise<EngineAnswer> {
  const summaries = await readSummaries(instanceIds, headOf, models);
  const rows = [...summaries].map(([id, { cycle, energy, description }]) => [
    id,
    cycle,
    energy,
    description,
  ]);
  return plainAnswer(JSON.stringify(rows));
}

/**
 * Asks all owners at once, each for all of its instances. What an owner does not answer within
 * 300 ms is read from the store, where it may be a checkpoint old. Source: architecture 3.6.
 */
export function summariesOfOwners({
  owners,
  storedHeadOf,
  models,
  clock,
}: SummaryPorts): SummariesOf {
  async function ask(
    { accountId, traceparent }: Pick<EngineCall, 'accountId' | 'traceparent'>,
    address: string,
    ids: readonly string[],
  ) {
    const call = unnamedCall({
      accountId,
      instanceId: '',
      deadlineAtMs: clock.wallMs() + SUMMARIES_TIMEOUT_MS,
      command: { kind: 'readSummaries', instanceIds: ids },
    });
    const late = Promise.withResolvers<undefined>();
    using _ = clock.after(SUMMARIES_TIMEOUT_MS, () => late.resolve(undefined));
    const answered = owners
      .askAt(address, traced(call, traceparent))
      .then(parseSummaries)
      .catch(() => undefined);
    return (
      (await Promise.race([answered, late.promise])) ?? readSummaries(ids, storedHeadOf, models)
    );
  }

  return async (accountId, instanceIds, traceparent) => {
    const asking = traced({ accountId }, traceparent);
    const byOwner = Map.groupBy(instanceIds, (id) => owners.addressOf(id));
    const parts = [...byOwner].flatMap(([address, ids]) => {
      if (address === undefined) return [readSummaries(ids, storedHeadOf, models)];
      return chunksOf(ids).map((chunk) => ask(asking, address, chunk));
    });
    return new Map((await Promise.all(parts)).flatMap((part) => [...part]));
  };
}

/** An owner's answer; undefined if it is none, which is as good as no answer. */
function parseSummaries({ body }: EngineAnswer): Map<string, Summary> | undefined {
  const rows: unknown = JSON.parse(Buffer.from(body).toString());
  if (!Array.isArray(rows)) return undefined;
  const summaries = new Map<string, Summary>();
  for (const row of rows) {
    const [id, cycle, energy, description]: unknown[] = Array.isArray(row) ? row : [];
    if (typeof id !== 'string' || typeof cycle !== 'number') return undefined;
    if (typeof energy !== 'number' || typeof description !== 'string') return undefined;
    summaries.set(id, { cycle, energy, description });
  }
  return summaries;
}

function chunksOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / SUMMARIES_MAX);
  return Array.from({ length: count }, (_, at) =>
    ids.slice(at * SUMMARIES_MAX, (at + 1) * SUMMARIES_MAX),
  );
}
