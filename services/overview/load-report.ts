import type { LoadReport } from '#overview/cluster-report';
import type { NodeLoad } from '#wire/admin';

/** A load as it is reported, with the calls a second if they are known. */
export function loadReport(
  load: Omit<NodeLoad, 'incarnation'>,
  callsPerS: number | undefined,
): LoadReport {
  const { oldestUnstoredMs: oldestMs } = load;
  return {
    actors: load.actors,
    actor_bytes: load.actorBytes,
    unstored_records: load.unstoredRecords,
    oldest_unstored_s: oldestMs === undefined ? null : oldestMs / 1_000,
    calls_per_s: callsPerS ?? null,
  };
}
