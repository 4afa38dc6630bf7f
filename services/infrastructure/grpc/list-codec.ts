/* Lists of instances on the wire. */
import type { EngineCommand } from '#grpc/engine-messages';
import { brokenMessage, trustInteger, trustText } from '#grpc/frame';
import type {
  EngineRequest,
  ListInstances as WireList,
  ListAfter as WireListAfter,
  SearchInstances as WireSearch,
} from '#grpc/gen/identity_engine/v1/engine';
import { instancesCursorFrom, instancesCursorText, pageOfInstances } from '#grpc/list-cursor';

type ListCommand = Extract<EngineCommand, { kind: 'list' }>;
type WireCommand = NonNullable<EngineRequest['command']>;

/** Maximum length of a search text: 64 code points (decision 254), in UTF-16 units. */
const SEARCH_LENGTH_MAX = 128;
/** Maximum number of instances on a page. Source: interface 8.4. */
const INSTANCES_MAX = 100;

/**
 * Encodes a list command. A search has its own message. An engine of release 1.0 would ignore an
 * added field and answer with the whole list.
 */
export function listToWire({ search, cursor, ...command }: ListCommand): WireCommand {
  if (cursor !== undefined) {
    const value = { cursor: instancesCursorText(cursor), limit: command.limit };
    return { $case: 'listAfter', value };
  }
  const { limit, offset, sort, order } = command;
  const page = { limit, offset, byName: sort === 'name', ascending: order === 'asc' };
  if (search === undefined) return { $case: 'list', value: page };
  return { $case: 'search', value: { text: search, page } };
}

/** Decodes a call for the next page. Throws `internal` for a value out of bounds. */
export function listAfterFromWire(wire: WireListAfter): ListCommand {
  const limit = trustInteger(wire.limit, 1, INSTANCES_MAX, 'limit');
  return { kind: 'list', ...pageOfInstances(limit, instancesCursorFrom(wire.cursor)) };
}

/** Decodes a call for a page. Throws `internal` for a value out of bounds. */
export function listFromWire(wire: WireList): ListCommand {
  return {
    kind: 'list',
    limit: trustInteger(wire.limit, 1, INSTANCES_MAX, 'limit'),
    offset: trustInteger(wire.offset, 0, Number.MAX_SAFE_INTEGER, 'offset'),
    sort: wire.byName ? 'name' : 'created_at',
    order: wire.ascending ? 'asc' : 'desc',
  };
}

/** Decodes a search. Throws `internal` for a value out of bounds. */
export function searchFromWire({ page, text }: WireSearch): ListCommand {
  if (page === undefined) throw brokenMessage('search');
  trustText(text, 1, SEARCH_LENGTH_MAX, 'text of a search');
  return { ...listFromWire(page), search: text };
}
