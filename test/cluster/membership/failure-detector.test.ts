import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  OPEN_AFTER_SEAL_MS,
  SUSPECT_MS,
  SUSPECTED_MS,
  UNREACHABLE_MS,
} from '#cluster/failover-timing';
import { nextVerdict, verdicts } from '#cluster/failure-detector';
import { EvidenceScene, headOf, reasonOf } from '#test/cluster/membership/evidence-fixture';
import { isWatched, MANY, oneOfMany } from '#test/cluster/membership/watched-nodes';

const NOT_WATCHED = oneOfMany(false);

const due = suite('an examination');

due(
  'starts at every look for the three nodes before this node on the ring, and for no other',
  () => {
    const { evidence, nowMs } = new EvidenceScene(MANY);
    const owners = verdicts(evidence, nowMs).map(({ owner }) => owner);
    assert.equal(
      owners,
      MANY.filter(isWatched).map((node) => `${node}-1`),
    );
  },
);

due('starts for another node when it is silent for 1.5 s', () => {
  const scene = new EvidenceScene(MANY);
  scene.nowMs += SUSPECT_MS - 1;
  assert.is(scene.first(NOT_WATCHED), undefined);
  scene.nowMs += 1;
  assert.is(scene.first(NOT_WATCHED)?.kind, 'readHead');
});

due('starts for a suspected node until 3 s after the suspicion', () => {
  const scene = new EvidenceScene(MANY);
  assert.ok(scene.evidence.suspect(`${NOT_WATCHED}-1`, scene.nowMs));
  assert.not(scene.evidence.suspect('no-owner', scene.nowMs));
  assert.is(scene.first(NOT_WATCHED)?.kind, 'readHead');
  scene.nowMs += SUSPECTED_MS;
  scene.hear(NOT_WATCHED);
  assert.is(scene.first(NOT_WATCHED), undefined);
});

due('starts for a silent node only 1.5 s after that node has become an owner', () => {
  const scene = new EvidenceScene(MANY);
  scene.evidence.watch(new Set(), scene.nowMs);
  scene.pass(
    60,
    MANY.filter((node) => node !== NOT_WATCHED),
  );
  scene.evidence.watch(new Set([`${NOT_WATCHED}-1`]), scene.nowMs);
  assert.is(scene.first(NOT_WATCHED), undefined);
  scene.nowMs += SUSPECT_MS;
  assert.is(scene.first(NOT_WATCHED)?.kind, 'readHead');
});

due('starts for a node without any heartbeat', () => {
  const scene = new EvidenceScene([]);
  scene.evidence.watch(new Set(['a-1']), scene.nowMs);
  assert.equal(scene.first('a'), { kind: 'readHead', owner: 'a-1' });
});

due('does not start while the owner is being examined, and starts again after that', () => {
  const { evidence, nowMs } = new EvidenceScene(['a']);
  evidence.begin('a-1', nowMs);
  assert.equal(verdicts(evidence, nowMs), []);
  evidence.end('a-1');
  assert.is(verdicts(evidence, nowMs).length, 1);
});

due('reads a head once a second, and ends without an answer', () => {
  const scene = new EvidenceScene(['a']);
  assert.is(scene.examine('a', headOf('a'), 'listening'), undefined);
  assert.is(scene.first('a')?.kind, 'probe');
  scene.pass(1, ['a']);
  assert.is(scene.first('a')?.kind, 'readHead');
  assert.is(scene.examine('a', 'unknown'), undefined);
  assert.is(scene.first('a')?.kind, 'readHead');
});

due('reports an owner without a journal once, and never seals its journal', () => {
  const scene = new EvidenceScene(['a']);
  const report = { kind: 'reportInconsistentState', owner: 'a-1' };
  assert.equal(scene.examine('a', 'missing'), report);
  scene.evidence.reported('a-1');
  assert.is(scene.examine('a', 'missing'), undefined);
});

due('ends when its owner has no more shards', () => {
  const scene = new EvidenceScene(['a']);
  scene.evidence.watch(new Set(['b-1']), scene.nowMs);
  assert.is(scene.examine('a', headOf('a'), 'ended'), undefined);
});

const dead = suite('proof of death');

dead('is the end of the process', () => {
  const scene = new EvidenceScene(['a']);
  const probe = scene.examine('a', headOf('a'));
  assert.equal(probe, { kind: 'probe', owner: 'a-1', address: 'a:1', isHeard: true });
  const proven = scene.examine('a', headOf('a'), 'ended');
  assert.equal(proven, { kind: 'seal', owner: 'a-1', reason: 'dead' });
});

dead('is not a refused connection, nor silence, nor a process that listens', () => {
  for (const found of ['refused', 'listening', 'silent'] as const) {
    const scene = new EvidenceScene(['a']);
    assert.is(scene.examine('a', headOf('a'), found), undefined);
  }
});

dead('is looked for with a connection after 1.25 s of silence', () => {
  const scene = new EvidenceScene(['a']);
  const isHeard = (): boolean | undefined => {
    const verdict = scene.examine('a', headOf('a'));
    return verdict?.kind === 'probe' ? verdict.isHeard : undefined;
  };
  scene.nowMs += 1_249;
  assert.is(isHeard(), true);
  scene.nowMs += 1;
  assert.is(isHeard(), false);
});

dead('is the answer of another incarnation', () => {
  const scene = new EvidenceScene(['a']);
  const answered = { kind: 'answered', incarnation: 'a-2' } as const;
  assert.is(reasonOf(scene.examine('a', headOf('a'), answered)), 'dead');
});

dead('is an address that equals this node’s own address', () => {
  const scene = new EvidenceScene(['a']);
  assert.is(reasonOf(scene.examine('a', headOf('me'))), 'dead');
});

dead('does not exist without `SERVICE_NODE_DIRECT`', () => {
  const scene = new EvidenceScene(['a'], { isDirect: false });
  const answered = { kind: 'answered', incarnation: 'other' } as const;
  for (const found of ['ended', answered] as const) {
    assert.is(scene.examine('a', headOf('a'), found), undefined);
  }
  scene.pass(1, ['a']);
  assert.is(scene.examine('a', headOf('me'), 'ended'), undefined);
});

const sealed = suite('an owner whose journal is sealed');

sealed('is recorded, and may be taken over after its read lease', () => {
  const scene = new EvidenceScene(['a']);
  const noted = scene.examine('a', headOf('a', { isSealed: true }));
  assert.equal(noted, { kind: 'noteSealed', owner: 'a-1' });
  const { evidence, nowMs } = scene;
  assert.ok(evidence.sealed('a-1', false, nowMs));
  assert.is(evidence.openableMs('a-1'), nowMs + OPEN_AFTER_SEAL_MS.engine);
  assert.not(evidence.sealed('a-1', false, nowMs + 1), 'the seal is already known');
});

// Catches a limiter whose accounts wait for a read lease that limits no grant.
sealed('is taken over immediately if it is a limiter', () => {
  const { evidence, nowMs } = new EvidenceScene(['a'], { service: 'limiter' });
  assert.ok(evidence.sealed('a-1', false, nowMs));
  assert.is(evidence.openableMs('a-1'), nowMs);
});

sealed('may be taken over immediately when its death is proven in the meantime', () => {
  const scene = new EvidenceScene(['a']);
  scene.evidence.sealed('a-1', false, scene.nowMs);
  const head = headOf('a', { isSealed: true });
  assert.is(scene.examine('a', head, 'listening'), undefined);
  assert.is(reasonOf(scene.examine('a', head, 'ended')), 'dead');
  assert.ok(scene.evidence.sealed('a-1', true, scene.nowMs));
  assert.is(scene.evidence.openableMs('a-1'), scene.nowMs);
  scene.nowMs += 1;
  assert.is(scene.first('a'), undefined, 'the owner is no longer examined');
});

sealed('is not sealed again, however long it is silent', () => {
  const scene = new EvidenceScene(['a', 'b']);
  scene.pass(UNREACHABLE_MS / 1_000, ['b']);
  assert.is(reasonOf(scene.examine('a', headOf('a'), 'silent')), 'unreachable');
  scene.evidence.sealed('a-1', false, scene.nowMs);
  assert.is(scene.examine('a', headOf('a'), 'silent'), undefined);
});

sealed('is not examined further after the request for its seal is sent', () => {
  const { evidence, nowMs } = new EvidenceScene(['a']);
  evidence.begin('a-1', nowMs);
  assert.is(nextVerdict(evidence, 'a-1', nowMs)?.kind, 'readHead');
  evidence.sealing('a-1', false, nowMs);
  assert.is(nextVerdict(evidence, 'a-1', nowMs), undefined);
});

sealed('is forgotten when it has no more shards', () => {
  const { evidence, nowMs } = new EvidenceScene(['a']);
  evidence.sealed('unwatched', true, nowMs);
  evidence.sealed('a-1', true, nowMs);
  evidence.watch(new Set(['b-1']), nowMs);
  assert.not(evidence.isSealed('a-1'));
  assert.not(evidence.isSealed('unwatched'));
  assert.is(evidence.openableMs('a-1'), Number.POSITIVE_INFINITY);
});

for (const one of [due, dead, sealed]) one.run();
