import { type ClusterPlan, processFolder } from '#deploy/local/cluster-plan';
import { addressOf, askReady } from '#deploy/local/processes/readiness';
import { runningServer } from '#deploy/local/servers/server-record';

/** Current status of a cluster's process. */
export type ProcessStatus = {
  readonly name: string;
  /** Undefined if the process does not run. */
  readonly pid: number | undefined;
  /** ISO 8601, UTC; undefined if the process does not run. */
  readonly upSince: string | undefined;
  /** Number of restarts after unexpected ends. */
  readonly restarts: number;
  readonly address: string;
  readonly isReady: boolean;
};

/**
 * Reads the status of every process in the plan within seconds. Works from any process of this
 * user.
 */
export function processStatuses(
  { folder, processes }: Pick<ClusterPlan, 'folder' | 'processes'>,
  restartsOf: (name: string) => number,
): Promise<ProcessStatus[]> {
  const statuses = processes.map(async (planned): Promise<ProcessStatus> => {
    const { name } = planned;
    const record = runningServer(processFolder(folder, name));
    const isReady =
      record !== undefined &&
      (await askReady(planned).then(
        () => true,
        () => false,
      ));
    return {
      name,
      pid: record?.pid,
      upSince: record?.startedAt,
      restarts: restartsOf(name),
      address: addressOf(planned),
      isReady,
    };
  });
  return Promise.all(statuses);
}
