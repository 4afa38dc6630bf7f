import type { AccountListing } from '#engine/directory/account-listing';
import type { IndexedUntil } from '#engine/directory/fleet-index';
import { type DirectoryAnswer, rebuilding } from '#engine/directory/kind';
import type { FoundInstance } from '#engine/directory/listing-page';
import { feedCursorText } from '#engine/feed/pages';
import { reportOf, rounded } from '#engine/instance/answers';
import { pagination } from '#engine/instance/rows';
import { type EngineAnswer, plainAnswer } from '#grpc/engine-messages';
import { instancesCursorText, type ListingPage } from '#grpc/list-cursor';
import { DRIFT_LEVELS } from '#identity/drift';
import type { Models } from '#identity/model';
import { ENERGY_DEFAULT, STRESS_STATES } from '#identity/state';
import { type Flags, flagNames, flagsOf, LEADING_MODES } from '#identity/transitions';
import { isoTime } from '#stdlib/clock';
import { type HeldHead, NO_TAGS } from '#storage/ports/instances';

/** Fields of a listed instance that are not in its row. Source: interface 2.4. */
export type Summary = {
  readonly cycle: number;
  readonly energy: number;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Absent: the owner runs an earlier release. */
  readonly flags?: Flags;
  /** Time of the newest transition that moves it, in Unix milliseconds. Absent as `flags`. */
  readonly changedAtMs?: number;
};

/** Head fields for a summary. */
export type SummarizedHead = Pick<
  HeldHead,
  | 'modelVersion'
  | 'model'
  | 'description'
  | 'tagsJson'
  | 'createdAtMs'
  | 'changedAtMs'
  | 'deletedAtMs'
>;

/**
 * Reads an account's instance summaries by id. Omits deleted instances. `traceparent`: span of the
 * call.
 */
export type SummariesOf = (
  accountId: string,
  instanceIds: readonly string[],
  traceparent?: string,
) => Promise<ReadonlyMap<string, Summary>>;

/** Reads summaries in parallel through `headOf`. Rejects like `headOf`. */
export async function readSummaries(
  instanceIds: readonly string[],
  headOf: (instanceId: string) => Promise<SummarizedHead | undefined>,
  models: Models,
): Promise<Map<string, Summary>> {
  const summaries = new Map<string, Summary>();
  await Promise.all(
    instanceIds.map(async (id) => {
      const summary = summaryOf(id, await headOf(id), models);
      if (summary !== undefined) summaries.set(id, summary);
    }),
  );
  return summaries;
}

function summaryOf(
  id: string,
  head: SummarizedHead | undefined,
  models: Models,
): Summary | undefined {
  if (head === undefined || head.deletedAtMs !== undefined) return undefined;
  const report = reportOf(id, head, models);
  const { cycle, energy } = report.snapshot;
  const { description, tagsJson = NO_TAGS, createdAtMs, changedAtMs = createdAtMs } = head;
  return {
    cycle,
    energy,
    description,
    tags: JSON.parse(tagsJson),
    flags: flagsOf(report),
    changedAtMs,
  };
}

/**
 * Reads an instance's head from memory or the store, without activating the instance
 * (architecture 3.6).
 */
export type HeadOf = (instanceId: string) => Promise<SummarizedHead | undefined>;

/**
 * Answer to `GET /instances`: a page with each instance's cycle, energy, description and tags.
 * `descriptions` is for instances without a summary.
 */
export function pageAnswer(
  { total, rows, next, indexedUntil }: DirectoryAnswer,
  accountId: string,
  page: ListingPage,
  summaries: ReadonlyMap<string, Summary>,
  descriptions: ReadonlyMap<string, string>,
): EngineAnswer {
  const data = rows.map((row) => {
    const { instanceId } = row;
    return itemOf(row, summaries.get(instanceId), descriptions.get(instanceId));
  });
  const cursor = next && instancesCursorText(next);
  const asOf = indexedUntil && { as_of: asOfJson(accountId, indexedUntil) };
  return plainAnswer(
    JSON.stringify({ data, pagination: pagination(page, cursor, total), ...asOf }),
  );
}

/**
 * Listing item. An instance without a summary gets a new instance's values, and no tags, because a
 * caller may send them back. Reasons: a delete in progress, an unstored create, or a damaged head.
 * Source: interface 2.4.
 */
function itemOf(
  { instanceId, name, createdAtMs, ...indexed }: FoundInstance,
  summary: Summary | undefined,
  description: string | undefined,
) {
  const { flags = summary?.flags, changedAtMs = summary?.changedAtMs } = indexed;
  return {
    id: instanceId,
    name,
    description: summary?.description ?? description ?? '',
    ...(summary && { tags: summary.tags }),
    created_at: isoTime(createdAtMs),
    cycle_count: summary?.cycle ?? 0,
    energy_level: rounded(summary?.energy ?? ENERGY_DEFAULT),
    ...(flags === undefined ? {} : flagNames(flags)),
    ...(changedAtMs === undefined ? {} : { changed_at: isoTime(changedAtMs) }),
  };
}

/** Time and position up to which an answer from an index has all changes. */
function asOfJson(accountId: string, { atMs, position, digest }: IndexedUntil) {
  return { time: isoTime(atMs), events_cursor: feedCursorText(position, digest, accountId) };
}

/** Maximum number of tags with counts in an answer. */
const TAGS_SHOWN = 100;

/** Counts of the instances of an account. Throws `index_rebuilding` without a complete index. */
export function fleetCounts({ index, total }: AccountListing) {
  if (index?.isComplete !== true) throw rebuilding();
  const tags = index.tagCounts(TAGS_SHOWN);
  return { total, facets: index.facets(total), tags, until: index.until };
}

/**
 * Answer to `GET /fleet`. `events`: newest events of the account as in the API, newest first, among
 * the events that the counts contain.
 */
export function fleetAnswer(
  { total, facets, tags: { tags, different }, until }: ReturnType<typeof fleetCounts>,
  accountId: string,
  events: readonly object[],
): EngineAnswer {
  const { stress, drift, modes, unknown } = facets;
  const data = {
    total,
    stress_states: byName(STRESS_STATES, stress),
    drift_levels: byName(DRIFT_LEVELS, drift),
    dominant_modes: byName(LEADING_MODES, modes),
    unknown,
    tags,
    different_tags: different,
    recent_events: events,
    as_of: asOfJson(accountId, until),
  };
  return plainAnswer(JSON.stringify({ data }));
}

function byName(names: readonly string[], counts: readonly number[]): Record<string, number> {
  return Object.fromEntries(names.map((name, place) => [name, counts[place] ?? 0]));
}
