import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inProcessBus } from '#bus/in-process-bus';
import { signedBus } from '#bus/signed-bus';
import { encodeHeartbeat, type Heartbeat, heartbeatSubject } from '#cluster/heartbeat';
import { Members } from '#cluster/members';
import { ManualClock } from '#test/support/manual-clock';

const noBug = (error: unknown): void => assert.unreachable(String(error));

/** Processes on one wire, each with a signed bus of its own, and what they say of themselves. */
function newScene() {
  const clock = new ManualClock(1_800_000_000_000);
  const wire = inProcessBus({ clock, onBug: noBug });
  const impostors: string[] = [];
  let opened = 0;
  /** A bus of somebody who knows the secret, under a name of its own unless given another's. */
  const open = (incarnation?: string) => {
    opened += 1;
    return signedBus({
      ...{ bus: wire, clock, secrets: ['the secret of this test'], cluster: 'c', onBug: noBug },
      ...{ onDropped: () => undefined, onNotice: () => undefined },
      incarnation: incarnation ?? opened.toString(16).padStart(32, '0'),
    });
  };
  const common = { clock, cluster: 'c', prefix: 'test', service: 'engine' } as const;
  const onForeignCluster = noBug;
  const watch = () => {
    const onImpostor = ({ incarnation }: Heartbeat) => impostors.push(incarnation);
    return new Members({ ...common, bus: open(), self: undefined, onForeignCluster, onImpostor });
  };
  const start = (node: string, bus = open()) =>
    new Members({ ...common, bus, self: () => reportOf(node), onForeignCluster });
  /** One heartbeat that `node` did not make. */
  const forge = (node: string, change: Partial<Heartbeat>, bus = open()) => {
    const rest = { cluster: 'c', service: 'engine', viewHash: '' } as const;
    const heartbeat = { ...reportOf(node), ...rest, ...change };
    bus.publish(heartbeatSubject('test', 'engine'), encodeHeartbeat(heartbeat));
    clock.advance(0);
  };
  return { clock, impostors, open, watch, start, forge };
}

function reportOf(node: string) {
  const names = { node, incarnation: `${node}-1`, address: `${node}:8100` };
  return { ...names, startedAtMs: 1, isLeaving: false, shards: [], shardCount: 8 };
}

const presentTo = (members: Members): string[] =>
  members.present().map(({ incarnation }) => incarnation);

const lying = suite('a heartbeat that a holder of the secret signed for another node');

lying('does not make that node leave, nor stand elsewhere', () => {
  const { clock, watch, start, forge } = newScene();
  const edge = watch();
  start('a');
  clock.advance(1_000);
  forge('a', { isLeaving: true });
  forge('a', { isAside: true, address: 'elsewhere:1' });
  assert.equal(presentTo(edge), ['a-1']);
  assert.is(edge.present()[0]?.address, 'a:8100');
  assert.is(edge.ignoredCount, 2);
});

lying('is told of, once a minute', () => {
  const { clock, impostors, watch, start, forge } = newScene();
  watch();
  start('a');
  clock.advance(1_000);
  for (let second = 0; second < 59; second += 1) {
    forge('a', { isLeaving: true });
    clock.advance(1_000);
  }
  assert.equal(impostors, ['a-1']);
  clock.advance(1_000);
  forge('a', { isLeaving: true });
  assert.equal(impostors, ['a-1', 'a-1']);
});

lying('under the very name of its sender counts no longer than until its next', () => {
  const { clock, open, watch, start, forge } = newScene();
  const edge = watch();
  const own = open();
  start('a', own);
  clock.advance(1_000);
  const double = open(own.incarnation);
  // Above the sequence of the true one.
  for (let count = 0; count < 3; count += 1) double.publish('elsewhere', new Uint8Array());
  forge('a', { isLeaving: true }, double);
  assert.equal(presentTo(edge), [], 'else this tests nothing');
  clock.advance(5_000);
  assert.equal(presentTo(edge), ['a-1']);
});

lying('is one as long as the node is heard, and for a minute after', () => {
  const { clock, watch, start, forge } = newScene();
  const edge = watch();
  const a = start('a');
  clock.advance(1_000);
  a[Symbol.dispose]();
  clock.advance(59_000);
  forge('a', {});
  assert.equal(presentTo(edge), []);
});

lying('does not keep a process from its own next life', () => {
  const { clock, open, watch, start } = newScene();
  const edge = watch();
  start('a', open())[Symbol.dispose]();
  start('a', open());
  clock.advance(1_000);
  assert.equal(presentTo(edge), ['a-1']);
});

lying.run();
