import type { ListingPage } from '#engine/directory/account-listing';
import type { DirectoryAnswer } from '#engine/directory/kind';
import { reportOf, rounded } from '#engine/instance/answers';
import { pagination } from '#engine/instance/rows';
import { type EngineAnswer, plainAnswer } from '#grpc/engine-messages';
import { instancesCursorText } from '#grpc/list-cursor';
import type { Models } from '#identity/model';
import { ENERGY_DEFAULT } from '#identity/state';
import { isoTime } from '#stdlib/clock';
import type { InstanceHead } from '#storage/ports/instances';
import type { ListedInstance } from '#storage/ports/listings';

/** Fields of an instance that a listing shows besides its row. Source: interface 2.4. */
export type Summary = {
  readonly cycle: number;
  readonly energy: number;
  readonly description: string;
};

/** Part of an instance's head that a summary needs. */
export type SummarizedHead = Pick<InstanceHead, 'modelVersion' | 'model' | 'description'>;

/**
 * Reads summaries of an account's instances by id. Leaves deleted instances out. `traceparent`:
 * span of the call.
 */
export type SummariesOf = (
  accountId: string,
  instanceIds: readonly string[],
  traceparent?: string,
) => Promise<ReadonlyMap<string, Summary>>;

/** Reads the summaries of instances in parallel with `headOf`. Rejects as `headOf` does. */
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
  // The marker of a deleted instance has an empty vector.
  if (head === undefined || head.model.length === 0) return undefined;
  const { cycle, energy } = reportOf(id, head, models).snapshot;
  return { cycle, energy, description: head.description };
}

/**
 * Reads the head of an instance, from memory or the store, without activating the instance
 * (architecture 3.6).
 */
export type HeadOf = (instanceId: string) => Promise<SummarizedHead | undefined>;

/**
 * Answer of `GET /instances`: a page of the listing with each item's cycle, energy and description.
 * `descriptions`: descriptions of instances without a summary.
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
 * Item of a listing. An instance without a summary shows the values of a new instance: it is being
 * deleted, its create is not stored yet, or its head is damaged. Source: interface 2.4.
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
    created_at: isoTime(createdAtMs),
    cycle_count: summary?.cycle ?? 0,
    energy_level: rounded(summary?.energy ?? ENERGY_DEFAULT),
  };
}
