import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  STALLED_MS,
  STALLED_SEAL_PAUSE_MS,
  SUSPECT_MS,
  UNREACHABLE_MS,
} from '#cluster/failover-timing';
import { hearsEnough, type Verdict } from '#cluster/failure-detector';
import { EvidenceScene, headOf, reasonOf } from '#test/cluster/membership/evidence-fixture';
import { MANY, oneOfMany } from '#test/cluster/membership/watched-nodes';

const STALLED_S = STALLED_MS.engine / 1_000;
const UNREACHABLE_S = UNREACHABLE_MS / 1_000;

/**
 * Passes seconds in which the journal of `node` is read and does not grow, and all nodes are heard.
 */
function stall(scene: EvidenceScene, node: string, seconds: number): Verdict | undefined {
  const all = [...scene.evidence.watched.keys()].map((owner) => owner.replace('-1', ''));
  let verdict: Verdict | undefined;
  for (let second = 0; second <= seconds; second += 1) {
    if (second > 0) scene.pass(1, all);
    verdict = scene.examine(node, headOf(node, { next: 7 }), 'listening');
  }
  return verdict;
}

const stalled = suite('an owner whose journal does not grow');

stalled('is sealed after 5 s, although its heartbeats arrive and it listens', () => {
  const scene = new EvidenceScene();
  assert.is(stall(scene, 'a', STALLED_S - 1), undefined);
  const seal = { kind: 'seal', owner: 'a-1', reason: 'stalled' };
  assert.equal(stall(scene, 'a', 1), seal);
});

stalled('is sealed after 3 s if it is a limiter', () => {
  const scene = new EvidenceScene(undefined, { service: 'limiter' });
  assert.is(stall(scene, 'a', 2), undefined);
  assert.is(reasonOf(stall(scene, 'a', 1)), 'stalled');
});

stalled('is not sealed before 5 s have passed since the last growth', () => {
  const scene = new EvidenceScene();
  stall(scene, 'a', STALLED_S - 1);
  scene.pass(1, ['a', 'b', 'c']);
  scene.examine('a', headOf('a', { next: 8 }), 'listening');
  assert.is(stall(scene, 'a', STALLED_S - 1), undefined);
});

stalled('is not sealed before 5 s have passed since this node was slow itself', () => {
  const scene = new EvidenceScene();
  stall(scene, 'a', STALLED_S - 1);
  scene.evidence.progress.look(1_000, scene.nowMs);
  assert.is(stall(scene, 'a', STALLED_S - 1), undefined);
  assert.is(reasonOf(stall(scene, 'a', 1)), 'stalled');
});

stalled('is not sealed by nodes other than the next three on the ring', () => {
  for (const isMine of [true, false]) {
    const node = oneOfMany(isMine);
    const scene = new EvidenceScene(MANY);
    for (let second = 0; second <= STALLED_S; second += 1) {
      scene.evidence.suspect(`${node}-1`, scene.nowMs);
      stall(scene, node, 1);
    }
    scene.evidence.suspect(`${node}-1`, scene.nowMs);
    const verdict = scene.examine(node, headOf(node, { next: 7 }), 'listening');
    assert.is(verdict !== undefined, isMine);
  }
});

stalled('is not sealed within 10 s after the seal of another stalled owner', () => {
  const scene = new EvidenceScene();
  scene.evidence.sealing('c-1', false, scene.nowMs);
  assert.is(reasonOf(stall(scene, 'a', STALLED_S)), 'stalled', 'after a seal for another reason');
  scene.evidence.sealing('a-1', true, scene.nowMs);
  assert.is(stall(scene, 'b', STALLED_S), undefined);
  const sinceSealS = STALLED_S;
  assert.is(stall(scene, 'b', STALLED_SEAL_PAUSE_MS / 1_000 - sinceSealS - 1), undefined);
  assert.is(reasonOf(stall(scene, 'b', 1)), 'stalled');
});

// Catches a cluster of dead nodes that waits 10 s for each of them.
stalled('is sealed beside another stalled owner if it is silent and refuses connections', () => {
  const scene = new EvidenceScene();
  const examine = (found: 'listening' | 'refused') =>
    reasonOf(scene.examine('a', headOf('a'), found));
  examine('listening');
  scene.pass(STALLED_S);
  scene.evidence.sealing('b-1', true, scene.nowMs);
  assert.equal([examine('listening'), examine('refused')], [undefined, 'stalled']);
});

stalled('gets the full 5 s again when it owns shards again', () => {
  const scene = new EvidenceScene();
  stall(scene, 'a', STALLED_S - 1);
  scene.evidence.watch(new Set(['b-1']), scene.nowMs);
  scene.evidence.watch(new Set(['a-1', 'b-1']), scene.nowMs);
  assert.is(stall(scene, 'a', STALLED_S - 1), undefined);
});

const unreachable = suite('an owner that is silent');

/** Verdict about `a`, whose journal grows, after a silence of `seconds`. */
function silence(scene: EvidenceScene, seconds: number, heard = ['b', 'c']): Verdict | undefined {
  for (let second = 0; second < seconds; second += 1) {
    scene.pass(1, heard);
    scene.examine('a', headOf('a', { next: scene.nowMs }), 'silent');
  }
  return scene.examine('a', headOf('a'), 'silent');
}

unreachable('is sealed after 15 s if it is unreachable', () => {
  const scene = new EvidenceScene();
  assert.is(silence(scene, UNREACHABLE_S - 1), undefined);
  assert.equal(silence(scene, 1), { kind: 'seal', owner: 'a-1', reason: 'unreachable' });
});

unreachable('is not sealed when no more than half of the owners are heard', () => {
  const scene = new EvidenceScene();
  assert.is(silence(scene, 2 * UNREACHABLE_S, ['b']), undefined);
  assert.is(reasonOf(silence(scene, 1, ['b', 'c'])), 'unreachable');
});

// Catches two nodes without NATS that seal each other because a policy lies between them.
unreachable('is not sealed without the bus, and not before 15 s on the bus again', () => {
  const scene = new EvidenceScene();
  scene.evidence.onBus(false, scene.nowMs);
  assert.is(silence(scene, 2 * UNREACHABLE_S), undefined);
  scene.evidence.onBus(true, scene.nowMs);
  assert.is(silence(scene, UNREACHABLE_S - 1), undefined);
  assert.is(reasonOf(silence(scene, 1)), 'unreachable');
});

unreachable('is not sealed if it can be reached', () => {
  const scene = new EvidenceScene();
  silence(scene, UNREACHABLE_S);
  assert.is(scene.examine('a', headOf('a'), 'listening'), undefined);
});

unreachable('is sealed after 15 s if connections to it are refused', () => {
  const scene = new EvidenceScene();
  silence(scene, UNREACHABLE_S);
  assert.is(reasonOf(scene.examine('a', headOf('a'), 'refused')), 'unreachable');
});

const share = suite('a node hears enough owners');

share('if it hears half of the owners, itself included', () => {
  const scene = new EvidenceScene();
  scene.pass(4, ['a']);
  assert.ok(hearsEnough(scene.evidence, scene.nowMs));
  scene.pass(SUSPECT_MS / 500);
  assert.not(hearsEnough(scene.evidence, scene.nowMs));
});

share('until another owner has been silent for 3 s', () => {
  const scene = new EvidenceScene(['a', 'b']);
  scene.nowMs += SUSPECT_MS * 2 - 1;
  assert.ok(hearsEnough(scene.evidence, scene.nowMs));
  scene.nowMs += 1;
  assert.not(hearsEnough(scene.evidence, scene.nowMs));
});

share('if the silent owners are sealed', () => {
  const scene = new EvidenceScene();
  scene.pass(4);
  assert.not(hearsEnough(scene.evidence, scene.nowMs));
  scene.evidence.sealed('a-1', true, scene.nowMs);
  assert.ok(hearsEnough(scene.evidence, scene.nowMs));
});

for (const one of [stalled, unreachable, share]) one.run();
