import type { ListingPage } from '#engine/account-listing';
import type { DirectoryAnswer } from '#engine/directory-kind';
import { rounded } from '#engine/instance-answers';
import { pagination } from '#engine/record-pages';
import type { SummarizedHead, Summary } from '#engine/summary';
import { ENERGY_DEFAULT } from '#identity/state';
import { isoTime } from '#platform/iso-time';
import type { ListedInstance } from '#storage/listing-store';
import { type EngineAnswer, plainAnswer } from '#wire/engine-messages';
import { instancesCursorText } from '#wire/list-cursor';

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
