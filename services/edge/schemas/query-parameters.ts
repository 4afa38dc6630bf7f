import { z } from 'zod';
import { EVENT_ID } from '#edge/last-event-id';
import { textOf } from '#edge/schemas/json-values';

/** An integer written in plain decimal digits: no sign, no exponent, no `0x`. Source: decision 2. */
export const integer = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/, 'must be an integer')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`)
    .optional()
    .transform((value) => value ?? fallback)
    .meta({ type: 'integer', minimum: min, maximum: max, default: fallback });

/** Code points of a search. Source: decision 254. */
const SEARCH_LENGTH_MAX = 64;

const Offset = integer(0, Number.MAX_SAFE_INTEGER, 0);

/** Where a walk through a list goes on: `next_cursor` of the page before. Source: decision 281. */
const Cursor = z
  .string()
  .min(1)
  .max(1_024)
  .optional()
  .meta({
    description:
      '`next_cursor` of the page before. It has sort, order, search and generation: name none of them, ' +
      'or the same. Excludes `offset`.',
  });

/** The query of `GET /instances`. Source: interface 4.1. */
export const ListQuery = z.strictObject({
  limit: integer(1, 100, 20),
  offset: Offset,
  cursor: Cursor,
  sort: z.enum(['created_at', 'name']).default('created_at'),
  order: z.enum(['asc', 'desc']).default('desc'),
  search: textOf(1, SEARCH_LENGTH_MAX).optional(),
});

const Generation = z.enum(['current', 'all']).default('current');

/** The query of history. Source: interface 4.2. */
export const HistoryQuery = z.strictObject({
  limit: integer(1, 1_000, 100),
  offset: Offset,
  cursor: Cursor,
  generation: Generation,
});

/** The query of drift; without `limit` and `offset` the newest 1,000. Source: decision 162. */
export const DriftQuery = z.strictObject({
  limit: integer(1, 1_000, 1_000),
  offset: Offset,
  cursor: Cursor,
  generation: Generation,
});

/** The query of events: the id of the last one that a client had. Source: decision 244. */
export const EventsQuery = z.strictObject({
  after: z
    .string()
    .regex(EVENT_ID, 'must be an integer')
    .transform(Number)
    .refine(Number.isSafeInteger, `must be from 0 to ${Number.MAX_SAFE_INTEGER}`)
    .optional()
    .meta({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
});

/** The query of `GET /personas`. */
export const PersonasQuery = z.strictObject({ version: z.enum(['v1']).default('v1') });

/** A call that takes no query. */
export const NoQuery = z.strictObject({});
