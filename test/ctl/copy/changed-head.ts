import * as assert from 'uvu/assert';
import type { InstanceHead, InstanceStore } from '#storage/ports/instances';

/** Stores a changed head as the next version of an instance, without changing rows. */
export async function changeHead(
  instances: InstanceStore,
  instanceId: string,
  changesOf: (head: InstanceHead) => Partial<InstanceHead>,
): Promise<void> {
  const head = await instances.readHead(instanceId);
  assert.ok(head);
  const changed = { ...head, version: head.version + 1, ...changesOf(head) };
  await instances.checkpoint([{ instanceId, head: changed, history: [], drift: [], answers: [] }]);
}
