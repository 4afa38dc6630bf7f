import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LEASE_MS } from '#actor-runtime/actor-bounds';
import { DeliveryWatch } from '#test/simulation/checks/deliveries';

/* Each test breaks one rule of delivery. The watch must report the violation. */

const OWNER = 'incarnation-1';
const NEXT = 'incarnation-2';
const ENDPOINT = 'whk_1';

/** A watch of one endpoint, whose feed is in shard 0 of `OWNER`. */
function watched() {
  const time = { nowMs: 0 };
  const found: string[] = [];
  const watch = new DeliveryWatch({
    nowMs: () => time.nowMs,
    shardOf: () => 0,
    fail: ({ message }) => void found.push(message),
  });
  watch.add(ENDPOINT, 'account00000');
  const own = (epoch: number, owner: string) => watch.changed({ shard: 0, epoch, owner });
  own(1, OWNER);
  const begin = (id: string, versions: readonly number[], by = OWNER, fields = {}, event = {}) => {
    const data = versions.map((version) => ({ ...eventOf(version), ...event }));
    const body = JSON.stringify({ type: 'events', ...fields, data });
    return watch.begin(by, { endpointId: ENDPOINT, url: '', id, body, sealedSecrets: [] });
  };
  const deliver = (...args: Parameters<typeof begin>) => {
    const attempt = begin(...args);
    watch.take(attempt);
    watch.end(attempt);
  };
  return { time, found, watch, own, begin, deliver };
}

function eventOf(version: number) {
  return { id: `inst_1-${version}-0`, type: 'renamed', instance_id: 'inst_1' };
}

const watch = suite('the watch of webhook deliveries');

watch('accepts repetitions and a take-over', () => {
  const { found, watch, own, begin, deliver } = watched();
  deliver('m1', [1]);
  const attempt = begin('m2', [2]);
  own(2, NEXT);
  deliver('m2', [2], NEXT);
  deliver('m3', [3], NEXT);
  watch.take(attempt);
  assert.equal(found, []);
  assert.is(watch.lateIn(ENDPOINT).size, 0);
  assert.is(watch.deliveredCount, 3);
});

watch('finds a message of a former owner, whose read lease has ended', () => {
  const { time, found, watch, own, deliver } = watched();
  watch.sealed(OWNER);
  own(2, NEXT);
  deliver('m1', [1]);
  assert.equal(found, []);
  time.nowMs = LEASE_MS;
  deliver('m2', [2]);
  assert.match(found.join(), /m2 was sent by incarnation-1, which has lost the feed/);
});

watch('finds a message of a process that has handed off the feed', () => {
  const { found, own, deliver } = watched();
  own(2, NEXT);
  deliver('m1', [1]);
  assert.match(found.join(), /has lost the feed/);
});

watch('finds two attempts for an instance at the same time', () => {
  const { found, begin } = watched();
  begin('m1', [1]);
  begin('m2', [2]);
  assert.match(found.join(), /m2 began while m1 about inst_1 was under way/);
});

watch('finds a message to a paused endpoint', () => {
  const { found, watch, deliver } = watched();
  watch.setPaused(ENDPOINT, true);
  deliver('m1', [1]);
  assert.match(found.join(), /m1 was sent to a paused endpoint/);
});

watch('finds a message id with other events', () => {
  const { found, deliver } = watched();
  deliver('m1', [1]);
  deliver('m1', [1, 2]);
  assert.match(found.join(), /m1: has the events/);
});

watch('finds a repetition with another content', () => {
  const { found, deliver } = watched();
  deliver('m1', [1]);
  deliver('m1', [1]);
  assert.equal(found, []);
  deliver('m1', [1], OWNER, {}, { type: 'reset' });
  assert.match(found.join(), /m1: repeats inst_1-1-0 as .*reset.* instead of .*renamed/);
});

watch('finds a late first delivery, unless a message has reported the event as missing', () => {
  const { watch, deliver } = watched();
  deliver('m2', [2]);
  deliver('m1', [1]);
  assert.equal([...watch.lateIn(ENDPOINT)], [['inst_1-1-0', 'inst_1-2-0']]);
  const gap = watched();
  gap.deliver('m2', [2], OWNER, { follows_gap: true });
  gap.deliver('m1', [1]);
  assert.is(gap.watch.lateIn(ENDPOINT).size, 0);
  gap.deliver('m4', [4]);
  gap.deliver('m3', [3]);
  assert.equal([...gap.watch.lateIn(ENDPOINT)], [['inst_1-3-0', 'inst_1-4-0']]);
});

watch.run();
