import * as assert from 'uvu/assert';
import type { Caller } from '#test/support/calls/caller';
import { assertRefused } from '#test/support/calls/scene';

/** Maximum time until an event is in the log, in milliseconds, on a busy machine. */
export const LATE_MS = 60_000;

/** Answer to a list, as soon as its index is built. */
export async function list(of: Caller, query: string) {
  for (const endMs = performance.now() + LATE_MS; ; ) {
    const answer = await of.send('GET', `/instances?${query}`);
    if (answer.status !== 503 || performance.now() > endMs) return answer;
    assertRefused(answer, 503, 'service_unavailable', { reason: 'index_rebuilding' });
  }
}

/** Waits until the log of the account has an event of an instance. */
export async function recorded(of: Caller, type: string, instanceId: string): Promise<void> {
  const endMs = performance.now() + LATE_MS;
  for (let cursor = ''; ; ) {
    const { body } = await of.send('GET', `/events?wait=8${cursor}`);
    const isSeen = body.data.some((event: Record<string, string>) => {
      return event['type'] === type && event['instance_id'] === instanceId;
    });
    if (isSeen) return;
    assert.ok(performance.now() < endMs, `no event ${type} of ${instanceId}`);
    cursor = `&cursor=${body.pagination.next_cursor}`;
  }
}

/** Raises the stress of an instance. */
export async function stress(of: Caller, id: string): Promise<void> {
  const observations = [1, 2, 3, 4, 5].map((second) => ({
    ...{ mode_target: 'STRESS_RESPONSE', signal_strength: 1 },
    timestamp: new Date(Date.now() - 60_000 + second * 5_000).toISOString(),
  }));
  const { status, text } = await of.send('POST', `/instances/${id}/process/batch`, {
    json: { observations },
  });
  assert.is(status, 200, text);
  await recorded(of, 'stress_changed', id);
}
