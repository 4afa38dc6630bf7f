import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inProcessBus } from '#bus/in-process-bus';
import { signedBus } from '#bus/signed-bus';
import { agreedFacts, type ClusterFacts } from '#cluster/cluster-facts';
import { encodeHeartbeat, heartbeatSubject } from '#cluster/heartbeat';
import { unchanging } from '#stdlib/files';
import { ManualClock } from '#test/support/manual-clock';
import { pass } from '#test/support/passing';
import { noteLogger } from '#test/support/test-logger';

const noBug = (error: unknown): void => assert.unreachable(String(error));

const TRUE: ClusterFacts = { cluster: 'c', shardCount: 16 };
const LIE: ClusterFacts = { cluster: 'c', shardCount: 4_096 };

/** An edge that starts, and senders that have the secret. */
function newScene() {
  const clock = new ManualClock(1_800_000_000_000);
  const wire = inProcessBus({ clock, onBug: noBug });
  const open = (incarnation: string) =>
    signedBus({
      ...{
        bus: wire,
        clock,
        secrets: unchanging(['the secret of this test']),
        incarnation,
        onBug: noBug,
      },
      ...{ onDropped: noBug, logger: noteLogger(noBug) },
    });
  const notices: string[] = [];
  const logger = noteLogger((notice) => void notices.push(notice));
  const agreed = agreedFacts({
    ...{ bus: open('0'.repeat(32)), clock, prefix: 'test', service: 'engine', logger },
  });
  const decided: ClusterFacts[] = [];
  agreed.facts.then(({ cluster, shardCount }) => decided.push({ cluster, shardCount }), noBug);
  const senders = new Map<string, ReturnType<typeof open>>();
  /** Sends one heartbeat, signed by the sender `by`, for a node of any name. */
  const say = async (by: string, facts: ClusterFacts, node = by) => {
    const sender = senders.get(by) ?? open(by.repeat(32));
    senders.set(by, sender);
    const names = { node, incarnation: `${node}-1`, address: `${node}:8100`, viewHash: '' };
    const rest = { service: 'engine', startedAtMs: 1, isLeaving: false, shards: [] } as const;
    const heartbeat = encodeHeartbeat({ ...names, ...rest, ...facts });
    sender.publish(heartbeatSubject('test', 'engine'), heartbeat);
    await pass(clock, 5, 5);
  };
  const live = async (durationMs: number) => await pass(clock, durationMs, 50);
  return { clock, agreed, decided, notices, say, live };
}

const agreeing = suite('the cluster facts that an edge accepts');

agreeing('are the facts of two agreeing nodes, without a wait', async () => {
  const { decided, notices, say } = newScene();
  await say('a', TRUE);
  assert.equal(decided, []);
  await say('b', TRUE);
  assert.equal([decided, notices], [[TRUE], []]);
});

agreeing('are the facts of the only node, after 1.5 s', async () => {
  const { decided, say, live } = newScene();
  await say('a', TRUE);
  await live(1_400);
  assert.equal(decided, []);
  await live(200);
  assert.equal(decided, [TRUE]);
});

agreeing('do not come from one sender with many names', async () => {
  const { decided, say } = newScene();
  for (const node of ['x', 'y', 'z']) await say('e', LIE, node);
  assert.equal(decided, []);
});

agreeing(
  'are the facts of the majority, even if a forgery arrived first, and are logged',
  async () => {
    const { decided, notices, say, live } = newScene();
    await say('e', LIE);
    await say('a', TRUE);
    await say('b', TRUE);
    assert.equal(decided, [], 'still undecided, because one node contradicts');
    await live(1_600);
    assert.equal(decided, [TRUE]);
    assert.is(notices.length, 1);
    assert.match(
      notices[0] ?? '',
      /disagree .*service=engine .*2 report 16 shards of c, 1 report 4096/,
    );
  },
);

agreeing('are undecided while two values have equally many nodes', async () => {
  const { decided, notices, say, live } = newScene();
  await say('e', LIE);
  await say('a', TRUE);
  await live(5_000);
  assert.equal(decided, []);
  assert.is(notices.length, 1);
  await say('b', TRUE);
  assert.equal(decided, [TRUE]);
});

agreeing('stay unknown for a caller that has disposed its watch', async () => {
  const { agreed, decided, say, live } = newScene();
  await say('a', TRUE);
  agreed[Symbol.dispose]();
  await say('b', TRUE);
  await live(5_000);
  assert.equal(decided, []);
});

agreeing.run();
