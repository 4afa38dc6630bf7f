import { lookAtCluster } from '#ctl/cluster-picture';
import type { ClusterPorts } from '#ctl/cluster-ports';
import type { ClusterCommand } from '#ctl/command';
import { CtlError } from '#ctl/ctl-error';
import { table } from '#ctl/table';
import { sleep } from '#platform/clock';

/** Between two looks at the table, in milliseconds: a shard moves in some tens. */
const LOOK_MS = 500;

/** Without a shard moving for so long, in milliseconds, something is wrong that waiting does not mend. */
const STANDSTILL_MS_MAX = 60_000;

/** `ctl drain`: an engine gives its shards to the others, which is over when the table says so. */
export const DRAIN: ClusterCommand = {
  kind: 'cluster',
  words: ['drain'],
  args: ['node'],
  options: {},
  async run(ports, [name = ''], _values, tell) {
    const { members, shardCount } = await lookAtCluster(ports);
    const named = members.filter((member) =>
      [member.node, member.address, member.incarnation].includes(name),
    );
    const member = named.toSorted((a, b) => b.startedAtMs - a.startedAtMs)[0];
    if (member === undefined) {
      const names = members.map(({ node }) => node).join(', ') || 'none';
      throw new CtlError(`no node "${name}" is heard; heard: ${names}`);
    }
    const { node, address } = member;
    const { incarnation } = await ports.toolsAt(address).drain();
    await drained(ports, { incarnation, shardCount }, tell);
    const data = { node, incarnation, address, shards_left: 0 };
    const row = [node, incarnation, address, '0'];
    const text = table(['NODE', 'INCARNATION', 'ADDRESS', 'SHARDS LEFT'], [row]);
    return { data, text: `${text}\n\nIt takes none until it ends: stop it when you like.` };
  },
};

async function drained(
  ports: ClusterPorts,
  { incarnation, shardCount }: { readonly incarnation: string; readonly shardCount: number },
  tell: (line: string) => void,
): Promise<void> {
  const { clock, shards } = ports;
  let told = -1;
  let movedMs = clock.monotonicMs();
  for (;;) {
    const rows = await shards.load('engine', shardCount);
    const left = rows.filter(({ owner }) => owner === incarnation).length;
    if (left !== told) {
      movedMs = clock.monotonicMs();
      tell(`${left} ${left === 1 ? 'shard' : 'shards'} left`);
    }
    told = left;
    if (left === 0) return;
    if (clock.monotonicMs() - movedMs > STANDSTILL_MS_MAX) {
      const text = `${left} shards have not moved for ${STANDSTILL_MS_MAX / 1_000} s`;
      throw new CtlError(`${text}: look at "ctl nodes" and at the log of ${incarnation}`);
    }
    await sleep(clock, LOOK_MS);
  }
}
