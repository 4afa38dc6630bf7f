import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer, Caller } from '#test/support/calls/caller';
import { assertRefused, limitOf, observationAt, type Scene } from '#test/support/calls/scene';

/** Calls an endpoint with the id of an instance. */
type Call = (of: Caller, id: string) => Promise<Answer>;

/** Adds a test that an endpoint changes nothing and costs no cycle. `get` calls the endpoint. */
export function changesNothing(reading: Test, { caller }: Pick<Scene, 'caller'>, get: Call): void {
  reading('changes nothing, however often it is called, and costs no cycle', async () => {
    const id = await caller.createInstance();
    await caller.process(id, observationAt(0));
    const [first, second] = [await get(caller, id), await get(caller, id)];
    assert.is(first.text, second.text);
    assert.is(limitOf(first, 'monthly'), limitOf(second, 'monthly'));
  });
}

/**
 * Adds a test that other accounts cannot distinguish the instance `id` from `unknown` instances.
 */
export function hidesFromOthers(
  tests: Test,
  { newCaller }: Pick<Scene, 'newCaller'>,
  call: Call,
  id: () => string | Promise<string>,
  unknown: readonly string[] = [],
): void {
  tests('of another account’s instance is answered 404 like an unknown instance', async () => {
    const other = await newCaller();
    const foreign = await call(other, await id());
    assertRefused(foreign, 404, 'not_found');
    for (const none of ['inst_0123456789abcdef', ...unknown]) {
      assert.is(foreign.text, (await call(other, none)).text, none);
    }
  });
}
