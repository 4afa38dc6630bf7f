import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TRANSITIONS } from '#identity/transitions';
import { memoryFeedStore } from '#storage/memory/feeds';
import type { FeedHead, FeedRow } from '#storage/ports/feeds';
import { checkDeliveries } from '#test/chaos/checks/deliveries';
import { Findings } from '#test/chaos/checks/findings';
import { Inbox } from '#test/chaos/load/webhook-receiver';

const ACCOUNT = 'Acc0unt00001';
const [CREATED, RENAMED, CONTRACT] = (['created', 'renamed', 'contract_changed'] as const).map(
  (type) => TRANSITIONS.indexOf(type),
) as [number, number, number];

function rowOf(version: number, ...types: number[]): FeedRow {
  return ['inst_a', version, 1_000, types.map((type) => [type, 0, 0, 0])];
}

const LOG = [rowOf(1, CREATED), rowOf(2, RENAMED, CONTRACT), rowOf(3, RENAMED)];

/** Findings if an account with this log receives these ids, each in a message. */
async function findingsOf(
  received: readonly (string | { readonly id: string; readonly name?: string; gap?: boolean })[],
  log: readonly FeedRow[] = LOG,
): Promise<string[]> {
  const feeds = memoryFeedStore();
  const head: FeedHead = {
    version: 1,
    next: log.length,
    floor: 0,
    hours: [[0, 0]],
    newest: log,
    endpoints: [],
  };
  await feeds.checkpoint([{ accountId: ACCOUNT, chunks: [], head }]);
  const inbox = new Inbox();
  for (const one of received) {
    const { id, name = '', gap = false } = typeof one === 'string' ? { id: one } : one;
    const event = { id, instance_id: 'inst_a', occurred_at: '2026-11-29T00:00:00Z', name };
    inbox.take({ timestamp: '', follows_gap: gap, data: [event] }, Date.now());
  }
  const findings = new Findings();
  await checkDeliveries(() => inbox, [ACCOUNT], feeds, findings);
  return findings.lines;
}

const checked = suite('the check of deliveries');

checked('accepts every wanted event in order, and repetitions', async () => {
  const ids = ['inst_a-1-0', 'inst_a-1-0', 'inst_a-2-0', 'inst_a-3-0', 'inst_a-1-0'];
  assert.equal(await findingsOf(ids), []);
});

checked('finds a lost event', async () => {
  const lines = await findingsOf(['inst_a-1-0', 'inst_a-3-0']);
  assert.equal(lines, [`${ACCOUNT} never received inst_a-2-0`]);
});

checked('finds an event that is not in the log', async () => {
  const lines = await findingsOf(['inst_a-1-0', 'inst_a-2-0', 'inst_a-3-0', 'inst_a-4-0']);
  assert.equal(lines, [`${ACCOUNT} received inst_a-4-0, which is not in its log`]);
});

checked('finds a repetition with another content', async () => {
  const [first, ...others] = ['inst_a-1-0', 'inst_a-2-0', 'inst_a-3-0'];
  const lines = await findingsOf([first ?? '', ...others, { id: 'inst_a-1-0', name: 'other' }]);
  assert.equal(lines, [`${ACCOUNT} received two contents of inst_a-1-0`]);
});

checked('finds an inversion, unless the service reports a gap or the log repeats', async () => {
  const inverted = ['inst_a-1-0', 'inst_a-3-0'];
  const late = await findingsOf([...inverted, 'inst_a-2-0']);
  assert.equal(late, [`${ACCOUNT} received inst_a-2-0 too late`]);
  assert.equal(await findingsOf([...inverted, { id: 'inst_a-2-0', gap: true }]), []);
  const twice = [...LOG, rowOf(2, RENAMED, CONTRACT)];
  assert.equal(await findingsOf([...inverted, 'inst_a-2-0'], twice), []);
});

checked.run();
