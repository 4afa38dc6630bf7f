import { type ClusterPlan, processFolder } from '#deploy/local/cluster-plan';
import {
  runningServer,
  type ServerRecord,
  signalProcess,
} from '#deploy/local/servers/server-record';

/**
 * Kills the first running engine of a local cluster; the supervisor restarts the engine. Separate,
 * because no other load test code signals processes of the cluster.
 */
export function killAnEngine({ folder, processes }: ClusterPlan): ServerRecord {
  const [victim] = processes
    .filter(({ kind }) => kind === 'engine')
    .map(({ name }) => runningServer(processFolder(folder, name)))
    .filter((record): record is ServerRecord => record !== undefined);
  if (victim === undefined)
    throw new Error(`no engine runs in ${folder}: check make cluster-status`);
  signalProcess(victim, 'SIGKILL');
  return victim;
}
