import { FailureWatch } from '#cluster/failure-watch';
import { ClusterWorld } from '#test/cluster/membership/cluster-fixture';
import { pass } from '#test/support/passing';

/** `me` watches other owners of shards, whose processes answer and whose journals grow. */
export async function newScene(
  others: readonly string[] = ['a', 'b', 'c'],
  isOnlyWriter: boolean | undefined = undefined,
) {
  const world = new ClusterWorld();
  const members = world.members('me');
  const reasons: string[] = [];
  const sealed: string[] = [];
  let slowestMs = 0;
  const detector = new FailureWatch(
    {
      service: 'engine',
      prefix: 'test',
      incarnation: 'me-1',
      node: 'me',
      address: 'me:1',
      isDirect: true,
      isOnlyWriter,
    },
    {
      ...world,
      members,
      takeSlowestAppendMs: () => slowestMs,
      onSealed: (reason) => reasons.push(reason),
      onBug: (error) => world.bugs.push(error),
    },
  );
  detector.onSealed(() => sealed.push('sealed'));
  for (const other of others) await world.begin(other);
  detector.watch(new Set(['me-1', ...others.map((other) => `${other}-1`)]));
  const [talking, growing] = [new Set(others), new Set(others)];
  /**
   * Passes seconds in which the `talking` nodes send heartbeats and the `growing` journals grow.
   */
  const live = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds * 2; i += 1) {
      for (const node of talking) world.say(node);
      for (const node of growing) await world.append(node);
      await pass(world.clock, 500);
    }
  };
  const slow = (ms: number) => {
    slowestMs = ms;
  };
  const isSealed = async (node: string) =>
    (await world.stored.readHead(`${node}-1`, 'serial'))?.isSealed === true;
  await live(1);
  return { world, members, detector, reasons, sealed, talking, growing, live, slow, isSealed };
}

/** Probe result of a process that accepts connections and answers nothing. */
export const SILENT = { kind: 'silent' } as const;
