import type { ListingPage } from '#engine/directory/account-listing';
import type { DirectoryAnswer } from '#engine/directory/kind';
import { reportOf, rounded } from '#engine/instance/answers';
import { pagination } from '#engine/instance/rows';
import { type EngineAnswer, plainAnswer } from '#grpc/engine-messages';
import { instancesCursorText } from '#grpc/list-cursor';
import type { Models } from '#identity/model';
import { ENERGY_DEFAULT } from '#identity/state';
import { isoTime } from '#stdlib/clock';
import { type InstanceHead, NO_TAGS } from '#storage/ports/instances';
import type { ListedInstance } from '#storage/ports/listings';

/** Fields of a listed instance that are not in its row. Source: interface 2.4. */
export type Summary = {
  readonly cycle: number;
  readonly energy: number;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
};

/** Head fields for a summary. */
export type SummarizedHead = Pick<
  InstanceHead,
  'modelVersion' | 'model' | 'description' | 'tagsJson'
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
  // A deleted instance's tombstone has an empty vector.
  if (head === undefined || head.model.length === 0) return undefined;
  const { cycle, energy } = reportOf(id, head, models).snapshot;
  const { description, tagsJson = NO_TAGS } = head;
  return { cycle, energy, description, tags: JSON.parse(tagsJson) };
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
  { total, rows, next }: DirectoryAnswer,
  page: ListingPage,
  summaries: ReadonlyMap<string, Summary>,
  descriptions: ReadonlyMap<string, string>,
): EngineAnswer {
  const data = rows.map((row) => {
    const { instanceId } = row;
    return itemOf(row, summaries.get(instanceId), descriptions.get(instanceId));
  });
  const cursor = next && instancesCursorText(next);
  return plainAnswer(JSON.stringify({ data, pagination: pagination(page, cursor, total) }));
}

/**
 * Listing item. An instance without a summary gets a new instance's values, and no tags, because a
 * caller may send them back. Reasons: a delete in progress, an unstored create, or a damaged head.
 * Source: interface 2.4.
 */
function itemOf(
  { instanceId, name, createdAtMs }: ListedInstance,
  summary: Summary | undefined,
  description: string | undefined,
) {
  return {
    id: instanceId,
    name,
    description: summary?.description ?? description ?? '',
    ...(summary && { tags: summary.tags }),
    created_at: isoTime(createdAtMs),
    cycle_count: summary?.cycle ?? 0,
    energy_level: rounded(summary?.energy ?? ENERGY_DEFAULT),
  };
}
