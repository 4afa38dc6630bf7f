import { CALL_TIMEOUT_MS_MAX } from '#grpc/bounds';
import {
  type EngineCommand,
  type EventCursor,
  type RecordPage,
  SUMMARIES_MAX,
  type TrimCommand,
} from '#grpc/engine-messages';
import type {
  EngineRequest,
  CreateInstance as WireCreate,
  ListInstances as WireList,
  ListAfter as WireListAfter,
  Observation as WireObservation,
  PutListingRow as WirePutRow,
  ReadRecords as WireRecords,
  ReadRecordsAfter as WireRecordsAfter,
  TrimRows as WireTrim,
} from '#grpc/gen/identity_engine/v1/engine';
import {
  instancesCursorFrom,
  instancesCursorText,
  pageOfInstances,
  pageOfRecords,
  type RecordsCursor,
  recordsCursorFrom,
  recordsCursorText,
} from '#grpc/list-cursor';
import {
  keyedItemsFromWire,
  MODE_COUNT,
  OBSERVATIONS_MAX,
  observationFromWire,
  processFromWire,
  processToWire,
  TIME_MS_MAX,
} from '#grpc/process-codec';
import { brokenMessage, trustInteger, trustText, trustUnit, unknownCall } from '#grpc/tls';

type WireCommand = NonNullable<EngineRequest['command']>;
type ListCommand = Extract<EngineCommand, { kind: 'list' }>;

/** Maximum length of a name: 100 code points (interface 2.4), in UTF-16 units. */
const NAME_LENGTH_MAX = 200;
/** Maximum length of a description: 2,000 code points, in UTF-16 units. */
const DESCRIPTION_LENGTH_MAX = 4_000;
/** Maximum length of a search text: 64 code points (decision 254), in UTF-16 units. */
const SEARCH_LENGTH_MAX = 128;
/** Maximum length of an id, in UTF-16 units. */
const ID_LENGTH_MAX = 255;
/**
 * Maximum number of records and of instances on one page. Source: interface 8.4, decisions 2 and
 * 162.
 */
const RECORDS_MAX = 1_000;
const INSTANCES_MAX = 100;
/** Maximum size of a model's state, in bytes: several times the present model's. */
const STATE_BYTES_MAX = 8_192;

/** Encodes a command for `proto/`. */
export function commandToWire(command: EngineCommand): WireCommand {
  switch (command.kind) {
    case 'create':
      return {
        $case: 'create',
        value: {
          name: command.name,
          description: command.description,
          modeStrengths: [...command.modeStrengths],
          energyLevel: command.energyLevel,
          instancesMax: command.instancesMax,
        },
      };
    case 'rename':
      return {
        $case: 'rename',
        value: { name: command.name, description: command.description },
      };
    case 'process':
      return processToWire(command);
    case 'simulate': {
      const observations = command.observations as WireObservation[];
      return { $case: 'simulate', value: { observations } };
    }
    case 'readInstance':
    case 'remove':
    case 'readSnapshot':
    case 'readContract':
      return { $case: command.kind, value: {} };
    case 'reset':
      return { $case: 'reset', value: { toCheckpoint: command.mode === 'default' } };
    case 'readHistory':
      if (command.cursor !== undefined) {
        return { $case: 'readHistoryAfter', value: recordsAfterToWire(command, command.cursor) };
      }
      return { $case: 'readHistory', value: recordsToWire(command, false) };
    case 'readDrift':
      if (command.cursor !== undefined) {
        return { $case: 'readDriftAfter', value: recordsAfterToWire(command, command.cursor) };
      }
      return { $case: 'readDrift', value: recordsToWire(command, command.isPaged) };
    case 'readEvents':
      return { $case: 'readEvents', value: { after: command.after, waitMs: command.waitMs } };
    case 'list':
      return listToWire(command);
    case 'putListingRow': {
      const { version, name, description, createdAtMs } = command;
      return { $case: 'putListingRow', value: { version, name, description, createdAtMs } };
    }
    case 'removeListingRow':
      return { $case: 'removeListingRow', value: { version: command.version } };
    case 'reservePlace':
      return { $case: 'reservePlace', value: { instancesMax: command.instancesMax } };
    case 'readSummaries':
      return { $case: 'readSummaries', value: { instanceIds: [...command.instanceIds] } };
    case 'trim': {
      const { kind: _, state = '', ...floor } = command;
      return { $case: 'trim', value: { ...floor, state: Buffer.from(state, 'latin1') } };
    }
  }
}

/**
 * Decodes a command. Throws `upgrade_in_progress` for a command unknown to this release, and
 * `internal` for a value out of bounds.
 */
export function commandFromWire(wire: EngineRequest['command']): EngineCommand {
  if (wire === undefined) throw unknownCall();
  switch (wire.$case) {
    case 'create':
      return createFromWire(wire.value);
    case 'rename':
      return {
        kind: 'rename',
        name: optional(wire.value.name, NAME_LENGTH_MAX, 'name'),
        description: optional(wire.value.description, DESCRIPTION_LENGTH_MAX, 'description'),
      };
    case 'process':
      return processFromWire(wire.value);
    case 'processKeyedItems':
      return keyedItemsFromWire(wire.value);
    case 'simulate': {
      const { observations } = wire.value;
      trustInteger(observations.length, 1, OBSERVATIONS_MAX, 'number of observations');
      return { kind: 'simulate', observations: observations.map(observationFromWire) };
    }
    case 'readInstance':
    case 'remove':
    case 'readSnapshot':
    case 'readContract':
      return { kind: wire.$case };
    case 'reset':
      return { kind: 'reset', mode: wire.value.toCheckpoint ? 'default' : 'initial' };
    case 'readHistory':
      return { kind: 'readHistory', ...recordsFromWire(wire.value) };
    case 'readDrift':
      return { kind: 'readDrift', ...recordsFromWire(wire.value), isPaged: wire.value.paged };
    case 'readEvents': {
      const { after, waitMs } = wire.value;
      trustInteger(waitMs, 0, CALL_TIMEOUT_MS_MAX, 'wait');
      return { kind: 'readEvents', after: after && cursorFromWire(after), waitMs };
    }
    case 'readHistoryAfter':
      return { kind: 'readHistory', ...recordsAfterFromWire(wire.value, 'history') };
    case 'readDriftAfter': {
      return { kind: 'readDrift', ...recordsAfterFromWire(wire.value, 'drift'), isPaged: true };
    }
    case 'listAfter':
      return listAfterFromWire(wire.value);
    case 'list':
      return listFromWire(wire.value);
    case 'search': {
      const { page, text } = wire.value;
      if (page === undefined) throw brokenMessage('search');
      trustText(text, 1, SEARCH_LENGTH_MAX, 'text of a search');
      return { ...listFromWire(page), search: text };
    }
    case 'putListingRow':
      return putRowFromWire(wire.value);
    case 'removeListingRow':
      return { kind: 'removeListingRow', version: versionOf(wire.value) };
    case 'reservePlace':
      return { kind: 'reservePlace', instancesMax: wire.value.instancesMax };
    case 'readSummaries': {
      const { instanceIds } = wire.value;
      trustInteger(instanceIds.length, 1, SUMMARIES_MAX, 'number of instances');
      for (const id of instanceIds) trustText(id, 1, ID_LENGTH_MAX, 'instance id');
      return { kind: 'readSummaries', instanceIds };
    }
    case 'trim':
      return trimFromWire(wire.value);
  }
}

/** Decodes an event cursor. Throws `internal` for a value out of bounds. */
export function cursorFromWire(wire: EventCursor): EventCursor {
  const count = (value: number, what: string) =>
    trustInteger(value, 0, Number.MAX_SAFE_INTEGER, `${what} of a cursor`);
  return {
    ordinal: count(wire.ordinal, 'ordinal'),
    drift: count(wire.drift, 'drift'),
    generation: count(wire.generation, 'generation'),
    version: count(wire.version, 'version'),
  };
}

function createFromWire(wire: WireCreate): EngineCommand {
  trustInteger(wire.modeStrengths.length, MODE_COUNT, MODE_COUNT, 'number of modes');
  for (const strength of wire.modeStrengths) trustUnit(strength, 'mode strength');
  const create = {
    kind: 'create',
    name: trustText(wire.name, 1, NAME_LENGTH_MAX, 'name'),
    description: trustText(wire.description, 0, DESCRIPTION_LENGTH_MAX, 'description'),
    modeStrengths: wire.modeStrengths,
    energyLevel: trustUnit(wire.energyLevel, 'energy level'),
  } as const;
  const { instancesMax } = wire;
  return instancesMax === undefined ? create : { ...create, instancesMax };
}

/**
 * Encodes a list command. A search has its own message: an engine of release 1.0 would ignore an
 * added field and answer with the whole list.
 */
function listToWire({ search, cursor, ...command }: ListCommand): WireCommand {
  if (cursor !== undefined) {
    const value = { cursor: instancesCursorText(cursor), limit: command.limit };
    return { $case: 'listAfter', value };
  }
  const { limit, offset, sort, order } = command;
  const page = { limit, offset, byName: sort === 'name', ascending: order === 'asc' };
  if (search === undefined) return { $case: 'list', value: page };
  return { $case: 'search', value: { text: search, page } };
}

function listAfterFromWire(wire: WireListAfter): ListCommand {
  const limit = trustInteger(wire.limit, 1, INSTANCES_MAX, 'limit');
  return { kind: 'list', ...pageOfInstances(limit, instancesCursorFrom(wire.cursor)) };
}

function listFromWire(wire: WireList): ListCommand {
  return {
    kind: 'list',
    limit: trustInteger(wire.limit, 1, INSTANCES_MAX, 'limit'),
    offset: trustInteger(wire.offset, 0, Number.MAX_SAFE_INTEGER, 'offset'),
    sort: wire.byName ? 'name' : 'created_at',
    order: wire.ascending ? 'asc' : 'desc',
  };
}

function putRowFromWire(wire: WirePutRow): EngineCommand {
  return {
    kind: 'putListingRow',
    version: versionOf(wire),
    name: trustText(wire.name, 1, NAME_LENGTH_MAX, 'name'),
    description: trustText(wire.description, 0, DESCRIPTION_LENGTH_MAX, 'description'),
    createdAtMs: trustInteger(wire.createdAtMs, 0, TIME_MS_MAX, 'time of creation'),
  };
}

function trimFromWire(wire: WireTrim): TrimCommand {
  const ordinal = (value: number, least: number, what: string) =>
    trustInteger(value, least, Number.MAX_SAFE_INTEGER, what);
  const { state, timestampMs } = wire;
  trustInteger(state.length, 0, STATE_BYTES_MAX, 'length of a state');
  return {
    kind: 'trim',
    history: ordinal(wire.history, 1, 'observation'),
    drift: ordinal(wire.drift, 0, 'drift event'),
    generation: ordinal(wire.generation, 1, 'generation'),
    cycle: ordinal(wire.cycle, 1, 'cycle'),
    timestampMs: trustInteger(timestampMs, 0, TIME_MS_MAX, 'timestamp'),
    state: state.length === 0 ? undefined : Buffer.from(state).toString('latin1'),
  };
}

function versionOf({ version }: { readonly version: number }): number {
  return trustInteger(version, 1, Number.MAX_SAFE_INTEGER, 'version');
}

function recordsToWire(page: RecordPage, paged: boolean): WireRecords {
  const { limit, offset, isEveryGeneration } = page;
  return { limit, offset, everyGeneration: isEveryGeneration, paged };
}

function recordsAfterToWire({ limit }: RecordPage, cursor: RecordsCursor): WireRecordsAfter {
  return { cursor: recordsCursorText(cursor), limit };
}

function recordsAfterFromWire(wire: WireRecordsAfter, list: RecordsCursor['list']): RecordPage {
  const limit = trustInteger(wire.limit, 1, RECORDS_MAX, 'limit');
  return pageOfRecords(limit, recordsCursorFrom(wire.cursor, list));
}

function recordsFromWire(wire: WireRecords): RecordPage {
  return {
    limit: trustInteger(wire.limit, 1, RECORDS_MAX, 'limit'),
    offset: trustInteger(wire.offset, 0, Number.MAX_SAFE_INTEGER, 'offset'),
    isEveryGeneration: wire.everyGeneration,
  };
}

function optional(text: string | undefined, lengthMax: number, what: string): string | undefined {
  return text === undefined ? undefined : trustText(text, 0, lengthMax, what);
}
