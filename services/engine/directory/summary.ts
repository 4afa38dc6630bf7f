import type { ListingPage } from '#engine/directory/account-listing';
import type { DirectoryAnswer } from '#engine/directory/kind';
import { reportOf, rounded } from '#engine/instance/answers';
import { pagination } from '#engine/instance/rows';
import type { Models } from '#identity/models';
import { ENERGY_DEFAULT } from '#identity/state';
import { isoTime } from '#platform/clock';
import type { InstanceHead } from '#storage/ports/instances';
import type { ListedInstance } from '#storage/ports/listings';
import { type EngineAnswer, plainAnswer } from '#wire/engine-messages';
import { instancesCursorText } from '#wire/list-cursor';

/** What a listing shows of an instance besides its row. Source: interface 2.4. */
export type Summary = {
  readonly cycle: number;
  readonly energy: number;
  readonly description: string;
};

/** What of an instance's head that takes. */
export type SummarizedHead = Pick<InstanceHead, 'modelVersion' | 'model' | 'description'>;

/**
 * Cycle, energy and description of an account's instances by id, for the call of a trace; one that is
 * gone is left out.
 */
export type SummariesOf = (
  accountId: string,
  instanceIds: readonly string[],
  traceparent?: string,
) => Promise<ReadonlyMap<string, Summary>>;

/** Reads instances one by one with `headOf`. Throws what it throws. */
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
  // The marker of a deleted instance has a vector without places.
  if (head === undefined || head.model.length === 0) return undefined;
  const { cycle, energy } = reportOf(id, head, models).snapshot;
  return { cycle, energy, description: head.description };
}

/** The head of an instance wherever it is, active or not, without activating it (architecture 3.6). */
export type HeadOf = (instanceId: string) => Promise<SummarizedHead | undefined>;

/**
 * Answer of `GET /instances`: a page of the listing with each item's cycle, energy and description.
 * `descriptions` has those of instances without a summary.
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
 * Source: interface 2.4. One whose head is not found at once, because it is being deleted, its
 * create is not stored yet, or it is damaged, shows the values of a fresh one.
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
