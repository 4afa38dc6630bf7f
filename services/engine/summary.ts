import { reportOf } from '#engine/instance-answers';
import type { Models } from '#identity/model';
import type { InstanceHead } from '#storage/instance-store';

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
