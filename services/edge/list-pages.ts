import type { z } from 'zod';
import type { CheckedRequest } from '#edge/endpoint';
import type { DriftQuery, HistoryQuery, ListQuery } from '#edge/schemas/query-parameters';
import { invalid } from '#fault/fault';
import type { RecordPage } from '#wire/engine-messages';
import {
  instancesCursorFrom,
  pageOfInstances,
  pageOfRecords,
  type RecordsCursor,
  recordsCursorFrom,
  unusableCursor,
} from '#wire/list-cursor';

type Named = Pick<CheckedRequest<unknown, unknown>, 'named'>;

/** The page of instances that a query asks for. Throws `invalid_parameter`. */
export function instancesPage(query: z.output<typeof ListQuery>, { named }: Named) {
  const { cursor: text, ...page } = query;
  if (text === undefined) return page;
  assertNoOffset(named);
  const cursor = instancesCursorFrom(text);
  for (const name of ['sort', 'order', 'search'] as const) {
    if (named.has(name) && page[name] !== cursor[name]) throw otherWalk(name);
  }
  return pageOfInstances(page.limit, cursor);
}

/** The page of an instance's history or drift that a query asks for. Throws `invalid_parameter`. */
export function recordsPage(
  list: RecordsCursor['list'],
  query: z.output<typeof HistoryQuery> | z.output<typeof DriftQuery>,
  { named, id }: Named & { readonly id: string },
): RecordPage {
  const { limit, offset, generation, cursor: text } = query;
  const isEveryGeneration = generation === 'all';
  if (text === undefined) return { limit, offset, isEveryGeneration };
  assertNoOffset(named);
  const cursor = recordsCursorFrom(text, list);
  if (cursor.instanceId !== id) throw unusableCursor('is of another instance');
  if (named.has('generation') && isEveryGeneration !== cursor.isEveryGeneration) {
    throw otherWalk('generation');
  }
  return pageOfRecords(limit, cursor);
}

function assertNoOffset(named: ReadonlySet<string>): void {
  if (named.has('offset')) {
    throw invalid('invalid_parameter', 'offset', 'offset: give a cursor or an offset, not both');
  }
}

function otherWalk(name: string) {
  return invalid('invalid_parameter', name, `${name}: the cursor is of a list with another one`);
}
