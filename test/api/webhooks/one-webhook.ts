import * as assert from 'uvu/assert';
import type { SceneCaller } from '#test/support/calls/scene';

/** An address on the internet that no name server knows. */
export const URL = 'https://hooks.invalid/identity';

/** Id of no endpoint. */
export const UNKNOWN = 'whk_00000000000000ff';

/** Adds an endpoint. Returns its data. */
export async function createWebhook(caller: SceneCaller, fields: Record<string, unknown> = {}) {
  const answer = await caller.send('POST', '/webhooks', { json: { url: URL, ...fields } });
  assert.is(answer.status, 201, answer.text);
  return answer.body.data;
}
