import type { Residency } from '#runtime/activation-catalog';

/** What several hosts hold together. */
export type HostLoad = {
  readonly actors: number;
  readonly actorBytes: number;
  readonly unstoredRecords: number;
  readonly oldestUnstoredMs: number | undefined;
};

/** Sums over the hosts of one process. */
export function hostLoad(
  hosts: readonly { readonly residency: Residency; readonly unstoredForMs: number | undefined }[],
): HostLoad {
  const ages = hosts.map((host) => host.unstoredForMs).filter((age) => age !== undefined);
  const sum = (of: (residency: Residency) => number) =>
    hosts.reduce((total, { residency }) => total + of(residency), 0);
  return {
    actors: sum(({ actors }) => actors),
    actorBytes: sum(({ bytes }) => bytes),
    unstoredRecords: sum(({ unflushedRecords }) => unflushedRecords),
    oldestUnstoredMs: ages.length === 0 ? undefined : Math.round(Math.max(...ages)),
  };
}
