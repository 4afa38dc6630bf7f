import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readProcessAnswer } from '#bench/load/process-answer';
import { readCycleCount } from '#bench/measures/cycle-count';
import { PROCESS_PATH, type Server } from '#bench/processes/servers';

/** Timeout of a call in ms, longer than the service's deadline (architecture 3.5). */
const CALL_MS_MAX = 15_000;

/**
 * Sends an observation twice with the same `Idempotency-Key`. Throws unless both answers have the
 * same bytes and the cycle counter has advanced once. `checkLedger` then proves that the counter
 * equals the stored history rows.
 */
export async function checkReplay(server: Server): Promise<void> {
  const { address, plan, service, label, processPath = PROCESS_PATH } = server;
  const metricsUrls = service?.metricsUrls ?? [];
  plan.beginTurn();
  const body = JSON.stringify({
    mode_target: 'ORDER',
    signal_strength: 0.6,
    confidence: 0.9,
    context: { channel: 'chat', turn: 1 },
    timestamp: new Date(plan.nextS * 1_000).toISOString(),
  });
  const url = address + processPath.replace('{id}', plan.instances[0]?.id ?? '');
  const headers = {
    authorization: `Bearer ${plan.key}`,
    'content-type': 'application/json',
    'idempotency-key': randomBytes(16).toString('hex'),
  };
  const before = await readCycleCount(metricsUrls);
  const texts: string[] = [];
  for (const _ of [1, 2]) {
    const signal = AbortSignal.timeout(CALL_MS_MAX);
    const response = await fetch(url, { method: 'POST', headers, body, signal });
    texts.push(await response.text());
    assert.equal(response.status, 200, `(${label}) answered ${texts.at(-1)}`);
  }
  const after = await readCycleCount(metricsUrls);
  plan.use(1);
  plan.noteKeyed(1);
  const [first = '', second] = texts;
  readProcessAnswer(JSON.parse(first));
  assert.equal(second, first, `(${label}): a replay must have the bytes of the first answer`);
  assert.equal(after.advanced - before.advanced, 1, `(${label}): a replay must add no cycle`);
}
