import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryUserStore } from '#storage/memory/memory-user-store';
import { openConsole } from '#test/console/console-fixture';

/** Requests that are served at once. */
const ACTIVE_MAX = 256;

const active = suite('requests at once');

for (const path of ['/me', '/personas']) {
  active(`are bounded before it is known whose they are: ${path}`, async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>();
    const users = { ...memoryUserStore(), find: () => held };
    await using desk = await openConsole({}, { users });
    const browser = desk.browser();
    browser.cookies.set('session', `usr_${'0'.repeat(16)}.${'A'.repeat(43)}`);
    const asked = Array.from({ length: ACTIVE_MAX + 1 }, () => browser.send('GET', path));
    // The others wait for the store.
    const first = await Promise.race([...asked, sleep(10_000, undefined, { ref: false })]);
    release(undefined);
    assert.is(first?.reason, 'overloaded');
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    assert.equal(statuses.toSorted(), [...Array<number>(ACTIVE_MAX).fill(401), 503]);
  });
}

active.run();
