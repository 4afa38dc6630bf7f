/* Lists of instances on the wire. */
import { TAG_KEY_MAX, TAG_VALUE_MAX } from '#grpc/call-bounds';
import type { EngineCommand } from '#grpc/engine-messages';
import { brokenMessage, trustInteger, trustText } from '#grpc/frame';
import type {
  EngineRequest,
  InstanceFilter as WireFilter,
  FilterInstances as WireFiltered,
  ReadFleet as WireFleet,
  ListInstances as WireList,
  ListAfter as WireListAfter,
  SearchInstances as WireSearch,
} from '#grpc/gen/identity_engine/v1/engine';
import {
  FILTER_TAGS_MAX,
  type InstanceFilter,
  instancesCursorFrom,
  instancesCursorText,
  pageOfInstances,
} from '#grpc/list-cursor';

type ListCommand = Extract<EngineCommand, { kind: 'list' }>;
type FleetCommand = Extract<EngineCommand, { kind: 'readFleet' }>;
type WireCommand = NonNullable<EngineRequest['command']>;
type WireListed = Extract<
  WireCommand,
  { $case: 'list' | 'listAfter' | 'search' | 'filter' | 'readFleet' }
>;

/** Maximum length of a search text: 64 code points (decision 254), in UTF-16 units. */
const SEARCH_LENGTH_MAX = 128;
/** Maximum number of instances on a page. Source: interface 8.4. */
const INSTANCES_MAX = 100;
/** All values of the longest list of a filter, as bits. */
const BITS_MAX = 2 ** 8 - 1;
/** Maximum number of events with the counts of a fleet. */
const FLEET_EVENTS_MAX = 100;

/**
 * Encodes a list command. A search has its own message. An engine of release 1.0 would ignore an
 * added field and answer with the whole list.
 */
export function listToWire(listed: ListCommand | FleetCommand): WireCommand {
  if (listed.kind === 'readFleet') {
    const { types, eventsMax } = listed;
    return { $case: 'readFleet', value: { types, eventsMax } };
  }
  const { search, filter, cursor, ...command } = listed;
  if (cursor !== undefined) {
    const value = { cursor: instancesCursorText(cursor), limit: command.limit };
    return { $case: 'listAfter', value };
  }
  const { limit, offset, sort, order } = command;
  const page = { limit, offset, byName: sort === 'name', ascending: order === 'asc' };
  if (filter !== undefined || sort === 'changed_at') {
    const byChange = sort === 'changed_at';
    const value = { page, text: search, filter: filter && filterToWire(filter), byChange };
    return { $case: 'filter', value };
  }
  if (search === undefined) return { $case: 'list', value: page };
  return { $case: 'search', value: { text: search, page } };
}

/** Decodes a list, or a call for the counts. Throws `internal` for a value out of bounds. */
export function listedFromWire(wire: WireListed): ListCommand | FleetCommand {
  switch (wire.$case) {
    case 'listAfter':
      return listAfterFromWire(wire.value);
    case 'list':
      return listFromWire(wire.value);
    case 'search':
      return searchFromWire(wire.value);
    case 'filter':
      return filteredFromWire(wire.value);
    case 'readFleet':
      return fleetFromWire(wire.value);
  }
}

function filterToWire({ tags, ...bits }: InstanceFilter): WireFilter {
  const { stress, drift, modes } = bits;
  return { stress, drift, modes, tags: tags.map(([key, value]) => ({ key, value })) };
}

function filteredFromWire({ page, text, filter, byChange }: WireFiltered): ListCommand {
  if (page === undefined) throw brokenMessage('filter');
  if (text !== undefined) trustText(text, 1, SEARCH_LENGTH_MAX, 'text of a search');
  const list = listFromWire(page);
  return {
    ...list,
    ...(byChange ? { sort: 'changed_at' } : {}),
    ...(text === undefined ? {} : { search: text }),
    ...(filter === undefined ? {} : { filter: filterFromWire(filter) }),
  };
}

function filterFromWire({ stress, drift, modes, tags }: WireFilter): InstanceFilter {
  trustInteger(tags.length, 0, FILTER_TAGS_MAX, 'number of tags');
  const bits = (value: number, what: string) => trustInteger(value, 1, BITS_MAX, what);
  return {
    ...(stress === undefined ? {} : { stress: bits(stress, 'stress states') }),
    ...(drift === undefined ? {} : { drift: bits(drift, 'drift levels') }),
    ...(modes === undefined ? {} : { modes: bits(modes, 'modes') }),
    tags: tags.map(({ key, value }) => [
      trustText(key, 1, 2 * TAG_KEY_MAX, 'key of a tag'),
      trustText(value, 0, 2 * TAG_VALUE_MAX, 'value of a tag'),
    ]),
  };
}

/** Upper bound for the length of a list command on the wire, in UTF-16 units. */
export function listLength({ search = '', filter }: ListCommand): number {
  const tags = filter?.tags ?? [];
  return tags.reduce((sum, [key, value]) => sum + key.length + value.length + 8, search.length);
}

function fleetFromWire({ types, eventsMax }: WireFleet): FleetCommand {
  return {
    kind: 'readFleet',
    types: trustInteger(types, 0, 2 ** 31 - 1, 'types'),
    eventsMax: trustInteger(eventsMax, 0, FLEET_EVENTS_MAX, 'number of events'),
  };
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

function searchFromWire({ page, text }: WireSearch): ListCommand {
  if (page === undefined) throw brokenMessage('search');
  trustText(text, 1, SEARCH_LENGTH_MAX, 'text of a search');
  return { ...listFromWire(page), search: text };
}
