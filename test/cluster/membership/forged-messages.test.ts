import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus } from '#bus/bus';
import { busKeyOf, sealMessage } from '#bus/envelope';
import { inProcessBus } from '#bus/in-process-bus';
import { newSenderKey } from '#bus/sender-key';
import { type SignedBus, signedBus } from '#bus/signed-bus';
import { encodeHeartbeat, type Heartbeat, heartbeatSubject } from '#cluster/heartbeat';
import { Membership } from '#cluster/membership';
import { unchanging } from '#stdlib/files';
import type { JournalStore } from '#storage/ports/journal';
import { memoryJournalStore } from '#test/storage/memory/journal-store';
import { ManualClock } from '#test/support/manual-clock';
import { turnOfEvents } from '#test/support/settled';
import { SILENT } from '#test/support/test-logger';

const noBug = (error: unknown): void => assert.unreachable(String(error));

/** An incarnation of a named node, with its own bus. */
type Speaker = { readonly node: string; readonly incarnation: string; readonly bus: SignedBus };

/** Processes with their own signed buses on one shared bus, and helpers that forge messages. */
function newScene() {
  const clock = new ManualClock(1_800_000_000_000);
  const wire = inProcessBus({ clock, onBug: noBug });
  const journals = memoryJournalStore(clock);
  const impostors: string[] = [];
  const dropped: string[] = [];
  let isStoreThere = true;
  const SECRET = 'the secret of this test';
  const secrets = unchanging([SECRET]);
  /** A bus of a process that has the secret. */
  const open = () => {
    const onDropped = (reason: string) => void dropped.push(reason);
    const options = { onDropped, logger: SILENT, onBug: noBug };
    return signedBus({ bus: wire, clock, secrets, cluster: 'c', ...options });
  };
  const common = { clock, cluster: 'c', prefix: 'test', service: 'engine' } as const;
  const onForeignCluster = noBug;
  const onImpostor = ({ incarnation }: Heartbeat) => impostors.push(incarnation);
  /** An edge that learns about nodes only from the bus. */
  const watch = () =>
    new Membership({ ...common, bus: open(), self: undefined, onForeignCluster, onImpostor });
  const readHead: JournalStore['readHead'] = async (...of) => {
    if (!isStoreThere) throw new Error('no answer');
    return await journals.readHead(...of);
  };
  /** A node that begins an incarnation, on a new bus unless an earlier bus is given. */
  const start = async (node: string, bus = open()) => {
    begun += 1;
    const speaker: Speaker = {
      node,
      incarnation: `${bus.incarnation?.slice(0, 16)}-${begun}`,
      bus,
    };
    await journals.begin(speaker.incarnation, `${node}:8100`);
    const startedAtMs = clock.wallMs();
    const self = () => ({ ...reportOf(speaker), startedAtMs });
    const members = new Membership({
      ...{ ...common, bus, self, journals: { readHead }, onForeignCluster, onImpostor },
    });
    return { ...speaker, members };
  };
  let begun = 0;
  /** Sends a heartbeat from `bus` for the incarnation of another bus. */
  const forge = (speaker: Speaker, change: Partial<Heartbeat>, bus = open()) => {
    const rest = { cluster: 'c', service: 'engine', viewHash: '' } as const;
    const heartbeat = { ...reportOf(speaker), ...rest, ...change };
    bus.publish(heartbeatSubject('test', 'engine'), encodeHeartbeat(heartbeat));
    clock.advance(0);
  };
  /**
   * Sends a message in the name of another process's bus, with the largest possible sequence
   * number.
   */
  const mute = ({ bus: { incarnation: name = '' } }: Speaker, subject: string) => {
    const seal = { macKey: busKeyOf(SECRET), sender: { ...newSenderKey(), name } };
    const said = { cluster: 'c', sequence: Number.MAX_SAFE_INTEGER, sentAtMs: clock.wallMs() };
    wire.publish(subject, sealMessage(seal, subject, said, new Uint8Array()));
    clock.advance(0);
  };
  const live = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000);
      await turnOfEvents();
    }
  };
  const setStore = (isThere: boolean) => {
    isStoreThere = isThere;
  };
  return { impostors, dropped, open, watch, start, forge, mute, live, setStore };
}

function reportOf({ node, incarnation }: Pick<Speaker, 'node' | 'incarnation'>) {
  const names = { node, incarnation, address: `${node}:8100` };
  return { ...names, startedAtMs: 1, isLeaving: false, shards: [], shardCount: 8 };
}

const nodesOf = (members: Membership): string[] => members.present().map(({ node }) => node);

/** Id of an incarnation that does not exist, with the prefix of the forger's own bus. */
const liarsId = (bus: Bus): string => `${bus.incarnation?.slice(0, 16)}-lie`;

const speaking = suite('a process with the secret that forges messages of another node');

speaking('cannot make that node leave or change its address', async () => {
  const { watch, start, forge, live } = newScene();
  const edge = watch();
  const a = await start('a');
  await live(1);
  forge(a, { isLeaving: true });
  forge(a, { isAside: true, address: 'elsewhere:1' });
  assert.equal(nodesOf(edge), ['a']);
  assert.is(edge.present()[0]?.address, 'a:8100');
  assert.is(edge.ignoredCount, 2);
});

speaking('is reported once in 30 s', async () => {
  const { impostors, watch, start, forge, live } = newScene();
  watch();
  const a = await start('a');
  await live(1);
  for (let second = 0; second < 30; second += 1) {
    forge(a, { isLeaving: true });
    await live(1);
  }
  assert.equal(impostors.length, 2, 'at the edge and at the node itself');
  forge(a, { isLeaving: true });
  assert.equal(impostors, Array(4).fill(a.incarnation));
});

speaking('cannot silence that node with the largest sequence number', async () => {
  const { dropped, watch, start, mute, live } = newScene();
  const edge = watch();
  const a = await start('a');
  await live(1);
  for (const subject of ['engine.heartbeat', 'engine.shard']) mute(a, `test.${subject}`);
  assert.equal([...new Set(dropped)], ['forged']);
  await live(5);
  assert.equal(nodesOf(edge), ['a']);
});

speaking(
  'is not accepted even if its messages arrive before the messages of that node',
  async () => {
    const { watch, start, forge, live } = newScene();
    const a = await start('a');
    await live(1);
    const late = watch();
    forge(a, { isLeaving: true, shards: [[1, Number.MAX_SAFE_INTEGER]] });
    assert.equal(late.known(), []);
    await live(1);
    assert.equal(nodesOf(late), ['a']);
  },
);

speaking(
  'is not confused with a process that begins its next incarnation on the same bus',
  async () => {
    const { watch, start, live } = newScene();
    const edge = watch();
    const first = await start('a');
    await live(1);
    first.members[Symbol.dispose]();
    const second = await start('a', first.bus);
    await live(1);
    assert.equal(
      edge.present().map(({ incarnation }) => incarnation),
      [second.incarnation],
    );
  },
);

const inventing = suite('a process with the secret that invents a node');

/** Sends heartbeats for 5 s, for an incarnation of `node` with the latest possible start time. */
async function insist(scene: ReturnType<typeof newScene>, node: string, isLeaving: boolean) {
  const bus = scene.open();
  const lie = { node, incarnation: liarsId(bus), bus };
  for (let second = 0; second < 5; second += 1) {
    scene.forge(lie, { startedAtMs: Number.MAX_SAFE_INTEGER, isLeaving }, bus);
    await scene.live(1);
  }
}

for (const isLeaving of [false, true]) {
  inventing(`hides no real node of the same name${isLeaving ? ' by leaving' : ''}`, async () => {
    const scene = newScene();
    const [a, b] = [await scene.start('a'), await scene.start('b')];
    await scene.live(2);
    await insist(scene, 'a', isLeaving);
    for (const { members } of [a, b]) {
      const present = members.present().map(({ incarnation }) => incarnation);
      assert.equal(present, [a.incarnation, b.incarnation]);
    }
  });
}

inventing('adds no member to the cluster', async () => {
  const scene = newScene();
  const a = await scene.start('a');
  await scene.live(2);
  await insist(scene, 'z', false);
  assert.equal(nodesOf(a.members), ['a']);
});

inventing(
  'does not exclude a real node of that name, even if that node joins during a store outage',
  async () => {
    const scene = newScene();
    const a = await scene.start('a');
    await scene.live(2);
    scene.setStore(false);
    const b = await scene.start('b');
    await insist(scene, 'b', false);
    assert.equal(nodesOf(a.members), ['a']);
    scene.setStore(true);
    await insist(scene, 'b', false);
    assert.equal(
      [nodesOf(a.members), nodesOf(b.members)],
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
    );
  },
);

inventing(
  'cannot exclude nodes by thousands of invented names, nor fill memory with shards',
  async () => {
    const scene = newScene();
    const edge = scene.watch();
    const a = await scene.start('a');
    await scene.live(1);
    const bus = scene.open();
    const shards = Array.from({ length: 4_096 }, (_, shard): [number, number] => [shard, 1]);
    for (let n = 0; n < 4_100; n += 1) {
      const lie = { node: `z${n}`, incarnation: `${liarsId(bus)}${n}`, bus };
      scene.forge(lie, n < 10 ? { shards } : {}, bus);
    }
    const b = await scene.start('b');
    await scene.live(2);
    for (const { members } of [a, b]) assert.equal(nodesOf(members), ['a', 'b']);
    const known = edge.known();
    assert.ok(known.length <= 4_096, `${known.length}`);
    assert.ok(known.some(({ node }) => node === 'a') && known.some(({ node }) => node === 'b'));
    assert.ok(known.every((member) => member.shards.length === 0));
  },
);

for (const each of [speaking, inventing]) each.run();
