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

/** Fields of a listed instance that its row lacks. Source: interface 2.4. */
export type Summary = {
  readonly cycle: number;
  readonly energy: number;
  readonly description: string;
};

/** Fields of a head that a summary needs. */
export type SummarizedHead = Pick<InstanceHead, 'modelVersion' | 'model' | 'description'>;

/**
 * Reads summaries of an account's instances by id. Omits deleted instances. `traceparent`: span of
 * the call.
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
  // The tombstone of a deleted instance has an empty vector.
  if (head === undefined || head.model.length === 0) return undefined;
  const { cycle, energy } = reportOf(id, head, models).snapshot;
  return { cycle, energy, description: head.description };
}

/**
 * Reads an instance's head from memory or the store, without activating the instance
 * (architecture 3.6).
 */
export type HeadOf = (instanceId: string) => Promise<SummarizedHead | undefined>;

/**
 * Answer to `GET /instances`: a page with each instance's cycle, energy and description.
 * `descriptions` has the descriptions of instances without a summary.
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
 * Item of a listing. An instance without a summary gets the values of a new instance. Reasons: a
 * delete in progress, an unstored create, or a damaged head. Source: interface 2.4.
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
