import type { Member } from '#cluster/membership';
import type { ClusterSnapshot } from '#cluster-status/snapshot';
import { readCluster } from '#ctl/cluster/snapshot';
import {
  type ClusterCommand,
  type ClusterPorts,
  CtlError,
  NotFoundError,
  UsageError,
} from '#ctl/command';
import { SERVICE_OPTION } from '#ctl/command-line';
import { operatorName } from '#ctl/operator';
import { table } from '#ctl/printed-text';
import { sleep } from '#stdlib/clock';

/**
 * Interval between two reads of the shard table, in milliseconds. Moving a shard takes tens of
 * milliseconds.
 */
const LOOK_MS = 500;

/**
 * Maximum time without a moved shard, in milliseconds. A longer standstill is a fault that waiting
 * does not solve.
 */
const STANDSTILL_MS_MAX = 60_000;

/**
 * `ctl drain`: moves all shards of a node to other nodes. Ends when the node owns no shard in the
 * shard table.
 */
export const DRAIN: ClusterCommand = {
  kind: 'cluster',
  words: ['drain'],
  summary: 'move all shards of a node to other nodes',
  description: 'Moves all shards of a node to the other nodes. Ends when the node owns no shard.',
  args: [{ name: 'node', about: 'name, address or incarnation of the node' }],
  options: SERVICE_OPTION,
  async run(ports, [name = ''], values, { report }) {
    if (ports.file !== undefined) {
      throw new CtlError(
        'a process with a data file is the only node: there is no node for its shards',
      );
    }
    const { snapshots } = await readCluster(ports, values);
    const member = memberIn(snapshots, name);
    const { service, node, address } = member;
    const { incarnation } = await ports.adminAt(address).drain(operatorName());
    await drained(ports, { ...member, incarnation }, report);
    const data = { service, node, incarnation, address, shards_left: 0 };
    const row = [service, node, incarnation, address, '0'];
    const text = table(['SERVICE', 'NODE', 'INCARNATION', 'ADDRESS', 'SHARDS LEFT'], [row]);
    return { data, text: `${text}\n\nThe node takes no new shards: you can stop the node now.` };
  },
};

/**
 * Finds the newest incarnation of a node by node name, address or incarnation. Throws a
 * `NotFoundError`, or a `UsageError` if the name is ambiguous.
 */
function memberIn(snapshots: readonly ClusterSnapshot[], name: string): Member {
  const members = snapshots.flatMap((snapshot) => snapshot.members);
  const named = members
    .filter(({ node, address, incarnation }) => [node, address, incarnation].includes(name))
    .toSorted((a, b) => b.startedAtMs - a.startedAtMs);
  const [member] = named;
  if (member === undefined) {
    const names = members.map(({ node }) => node).join(', ') || 'none';
    throw new NotFoundError(`no live node "${name}"; live nodes: ${names}`);
  }
  if (named.some(({ service }) => service !== member.service)) {
    throw new UsageError(`an engine and a limiter have the name "${name}": add --service`);
  }
  return member;
}

async function drained(
  ports: ClusterPorts,
  { service, incarnation, shardCount }: Pick<Member, 'service' | 'incarnation' | 'shardCount'>,
  report: (line: string) => void,
): Promise<void> {
  const { clock, shards } = ports;
  let reported = -1;
  let movedMs = clock.monotonicMs();
  for (;;) {
    const rows = await shards.load(service, shardCount);
    const left = rows.filter(({ owner }) => owner === incarnation).length;
    if (left !== reported) {
      movedMs = clock.monotonicMs();
      report(`${left} ${left === 1 ? 'shard' : 'shards'} left`);
    }
    reported = left;
    if (left === 0) return;
    if (clock.monotonicMs() - movedMs > STANDSTILL_MS_MAX) {
      const text = `${left} shards have not moved for ${STANDSTILL_MS_MAX / 1_000} s`;
      throw new CtlError(`${text}: check "ctl nodes" and the log of ${incarnation}`);
    }
    await sleep(clock, LOOK_MS);
  }
}
