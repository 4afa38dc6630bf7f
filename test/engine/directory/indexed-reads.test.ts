import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { IndexedReads } from '#engine/directory/indexed-reads';
import { faultFor } from '#errors/fault';
import { MODELS } from '#identity/model';
import type { InstanceHead } from '#storage/ports/instances';
import { headAt, markerAt } from '#test/storage/contracts/rows';

/** A process with one shard per instance. */
function ownerOf() {
  const closed = new Set<string>();
  const recovered = new Set<string>();
  const activated: string[] = [];
  const inMemory = new Map<string, InstanceHead>();
  const stored = new Map<string, InstanceHead>();
  let isRecording = true;
  let whileReading = (_id: string): void => undefined;
  const ids: string[] = [];
  const shardOf = (id: string) => (ids.includes(id) ? ids.indexOf(id) : ids.push(id) - 1);
  const reads = new IndexedReads({
    models: MODELS,
    isRecording: () => isRecording,
    log: { isLeased: () => true, whenConfirmed: async () => undefined },
    gate: {
      shardOf,
      assertOpen: (shard) => {
        if (closed.has(ids[shard] ?? '')) throw faultFor('engine_unavailable', 'closed');
      },
      tailOf: (_shard, _actor, id) => (recovered.has(id) ? { records: [] } : undefined) as never,
      activated: () => undefined,
      isClosing: () => false,
    },
    instances: {
      async read(id, read) {
        const head = inMemory.get(id);
        return head && read({ head });
      },
      activateEagerly: (id) => void activated.push(id),
    },
    storedHeadOf: async (id) => {
      whileReading(id);
      return stored.get(id);
    },
  });
  return {
    ...{ reads, closed, recovered, activated, inMemory, stored },
    stopRecording: () => {
      isRecording = false;
    },
    whileReading: (task: (id: string) => void) => {
      whileReading = task;
    },
  };
}

const versionsOf = ({ values }: Awaited<ReturnType<IndexedReads['read']>>) =>
  Object.fromEntries([...values].map(([id, { version }]) => [id, version]));

const owner = suite('an owner that answers the values of its instances');

owner('answers from memory before the store, and leaves out deleted instances', async () => {
  const { reads, inMemory, stored } = ownerOf();
  stored.set('i', headAt(3)).set('j', headAt(4)).set('k', markerAt(9));
  inMemory.set('i', headAt(5));
  const answer = await reads.read(['i', 'j', 'k', 'l']);
  assert.equal(versionsOf(answer), { i: 5, j: 4 });
  assert.is(answer.unanswered.size, 0);
});

// Catches the stored head of an instance whose newest records are at another owner.
owner('does not answer for a shard that it does not serve, or loses meanwhile', async () => {
  const { reads, closed, stored, whileReading } = ownerOf();
  stored.set('i', headAt(3)).set('j', headAt(4)).set('k', headAt(5));
  closed.add('i');
  whileReading(() => closed.add('j'));
  assert.equal([...(await reads.read(['i', 'j', 'k'])).unanswered], ['i', 'j']);
});

// Catches the stored head of an instance whose records of a failed node are not replayed yet.
owner('does not answer for an instance that it must recover first, and recovers it', async () => {
  const { reads, recovered, activated, stored } = ownerOf();
  stored.set('i', headAt(3));
  recovered.add('i');
  assert.equal([...(await reads.read(['i'])).unanswered], ['i']);
  assert.equal(activated, ['i']);
});

// Catches the stored head of an instance that replays such records while the store answers.
owner('answers from memory if the instance was activated meanwhile', async () => {
  const { reads, inMemory, stored, whileReading } = ownerOf();
  stored.set('i', headAt(3));
  whileReading((id) => inMemory.set(id, headAt(7)));
  assert.equal(versionsOf(await reads.read(['i'])), { i: 7 });
});

// Catches an index that lacks the changes of this owner, because no feed has them.
owner('does not answer while it records no transitions', async () => {
  const { reads, stored, stopRecording } = ownerOf();
  stored.set('i', headAt(3));
  stopRecording();
  assert.equal([...(await reads.read(['i'])).unanswered], ['i']);
});

owner.run();
