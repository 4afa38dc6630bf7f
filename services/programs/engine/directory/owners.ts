import type { Directory, DirectoryCall } from '#engine/directory/kind';
import {
  type HeadOf,
  readSummaries,
  type SummariesOf,
  type Summary,
} from '#engine/directory/summary';
import { type Fault, faultFor, toFault } from '#errors/fault';
import { CALL_TIMEOUT_MS_MAX } from '#grpc/call-bounds';
import { isTags } from '#grpc/create-codec';
import {
  bodyText,
  type EngineAnswer,
  type EngineCall,
  type EngineClient,
  type PeerCommand,
  plainAnswer,
  SUMMARIES_MAX,
  unnamedCall,
} from '#grpc/engine-messages';
import type { Models } from '#identity/model';
import type { Clock } from '#stdlib/clock';
import { NO_TAGS } from '#storage/ports/instances';
import type { ListingStore } from '#storage/ports/listings';
import { traced } from '#telemetry/tracer';

/**
 * Timeout for an owner's answer before reading the store instead, in milliseconds. Shorter than a
 * page's timeout.
 */
const SUMMARIES_TIMEOUT_MS = 300;

/** `RoutedEngine` methods needed for reading summaries. */
export interface InstanceOwners {
  /** Owner's address for an instance; undefined if unknown. */
  addressOf(instanceId: string): string | undefined;
  /** Sends a call to a specific engine, without retry. */
  askAt(address: string, call: EngineCall): Promise<EngineAnswer>;
}

type SummaryPorts = {
  readonly owners: InstanceOwners;
  /** Reads the stored head without calling the owner. Throws `service_unavailable`. */
  readonly storedHeadOf: HeadOf;
  readonly models: Models;
  readonly clock: Clock;
};

/** Owner's answer to `readSummaries`. Reads inactive instances from the store. */
export async function summariesAnswer(
  instanceIds: readonly string[],
  headOf: HeadOf,
  models: Models,
): Promise<EngineAnswer> {
  const summaries = await readSummaries(instanceIds, headOf, models);
  const rows = [...summaries].map(([id, summary]) => {
    const { cycle, energy, description, tags, flags, changedAtMs } = summary;
    return [id, cycle, energy, description, tags, flags, changedAtMs];
  });
  return plainAnswer(JSON.stringify(rows));
}

/**
 * Calls all owners in parallel, each for all its instances. If an owner does not answer within 300
 * ms, reads its instances from the store, which may lag by one checkpoint. Source:
 * architecture 3.6.
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

/**
 * Decodes an owner's answer. Rows of release 1.0 have no tags, flags and times. Undefined if it is
 * malformed; the caller then reads the store.
 */
function parseSummaries(answer: EngineAnswer): Map<string, Summary> | undefined {
  const rows: unknown = JSON.parse(bodyText(answer));
  if (!Array.isArray(rows)) return undefined;
  const summaries = new Map<string, Summary>();
  for (const row of rows) {
    const fields: unknown[] = Array.isArray(row) ? row : [];
    const [id, cycle, energy, description, tags = {}, flags, changedAtMs] = fields;
    if (typeof id !== 'string' || typeof cycle !== 'number') return undefined;
    if (typeof energy !== 'number' || typeof description !== 'string') return undefined;
    if (!isTags(tags)) return undefined;
    const indexed =
      typeof flags === 'number' && typeof changedAtMs === 'number' ? { flags, changedAtMs } : {};
    summaries.set(id, { cycle, energy, description, tags, ...indexed });
  }
  return summaries;
}

function chunksOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / SUMMARIES_MAX);
  return Array.from({ length: count }, (_, at) =>
    ids.slice(at * SUMMARIES_MAX, (at + 1) * SUMMARIES_MAX),
  );
}

/** Command from an instance to its account's directory. */
type ToDirectory = Extract<
  PeerCommand,
  { kind: 'putListingRow' | 'removeListingRow' | 'reservePlace' }
>;

/** A directory's answer after executing a command. */
export const NOTIFIED: EngineAnswer = plainAnswer('');

/**
 * Directory for instances on any engine. Stores the row first, then notifies the account's shard
 * owner. Throws `service_unavailable` if store or owner cannot be reached within 10 s. Source:
 * architecture 3.6.
 */
export function remoteDirectory(
  store: ListingStore,
  engine: EngineClient,
  clock: Clock,
): Directory {
  async function notify(
    accountId: string,
    instanceId: string,
    command: ToDirectory,
    traceparent: string | undefined,
  ): Promise<void> {
    const deadlineAtMs = clock.wallMs() + CALL_TIMEOUT_MS_MAX;
    const call = unnamedCall({ accountId, instanceId, deadlineAtMs, command });
    await engine.ask(traced(call, traceparent));
  }
  return {
    async put(accountId, row, traceparent) {
      const { tagsJson, ...stored } = row;
      const { instanceId, ...fields } = stored;
      await store.put(accountId, stored);
      const tags = tagsJson === undefined ? {} : { tagsJson };
      const change = { kind: 'putListingRow', ...fields, ...tags } as const;
      await notify(accountId, instanceId, change, traceparent);
    },
    async reserve(accountId, instanceId, instancesMax, traceparent) {
      const place = { kind: 'reservePlace', instancesMax } as const;
      await notify(accountId, instanceId, place, traceparent).catch((error) => {
        throw notReserved(toFault(error));
      });
    },
    async remove(accountId, instanceId, version, traceparent) {
      await store.remove(accountId, instanceId, version);
      const gone = { kind: 'removeListingRow', version } as const;
      await notify(accountId, instanceId, gone, traceparent);
    },
  };
}

/** Converts an engine call into a call to the account's directory. */
export function directoryCall(call: EngineCall, command: ToDirectory): DirectoryCall {
  return traced(untraced(call, command), call.traceparent);
}

function untraced(
  { accountId, instanceId, callId, deadlineAtMs }: EngineCall,
  command: ToDirectory,
): DirectoryCall {
  switch (command.kind) {
    case 'putListingRow': {
      const { version, name, createdAtMs, tagsJson = NO_TAGS } = command;
      const row = { instanceId, version, name, createdAtMs };
      return { kind: 'put', accountId, row, tagsJson, callId, deadlineAtMs };
    }
    case 'removeListingRow':
      return { kind: 'remove', instanceId, version: command.version, callId, deadlineAtMs };
    case 'reservePlace': {
      const { instancesMax } = command;
      return { kind: 'reserve', instanceId, instancesMax, callId, deadlineAtMs };
    }
  }
}

/**
 * Fault for a failed reservation. The directory may have the reservation, but no instance was
 * created, so the outcome is known.
 */
function notReserved(fault: Fault): Fault {
  if (fault.code !== 'service_unavailable') return fault;
  const reason = fault.reason === 'overloaded' ? 'overloaded' : 'engine_unavailable';
  return faultFor(reason, 'the listing of the account cannot be reached', {
    retryAfterS: 1,
    cause: fault,
  });
}
