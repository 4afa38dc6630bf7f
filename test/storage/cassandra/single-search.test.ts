import { setImmediate as turn } from 'node:timers/promises';
import type { Client } from 'cassandra-driver';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { searchOnceAtATime } from '#storage/cassandra/driver';

/** A driver whose server discovery ends on request. */
function searching() {
  const searches: { hostsLeft: unknown; end: (error?: Error) => void }[] = [];
  const controlConnection = {
    _refresh(hostsLeft?: unknown): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = (error?: Error) => (error === undefined ? resolve() : reject(error));
      searches.push({ hostsLeft, end });
      return promise;
    },
  };
  searchOnceAtATime({ controlConnection } as unknown as Client);
  return { searches, search: (hostsLeft?: unknown) => controlConnection._refresh(hostsLeft) };
}

const single = suite('a driver that loses its servers');

single('runs one discovery at a time, however many are requested meanwhile', async () => {
  const { searches, search } = searching();
  const both = [search(), search()];
  assert.is(searches.length, 1);
  searches[0]?.end();
  await Promise.all(both);
  const again = search();
  assert.is(searches.length, 2);
  searches[1]?.end();
  await again;
});

single('continues with its remaining servers within the same discovery', async () => {
  const { searches, search } = searching();
  const first = search();
  const rest = search(['another']);
  assert.equal(
    searches.map(({ hostsLeft }) => hostsLeft),
    [undefined, ['another']],
  );
  for (const { end } of searches) end();
  await Promise.all([first, rest]);
});

single('causes no unhandled rejection when a discovery fails', async () => {
  const { searches, search } = searching();
  const failed = search();
  searches[0]?.end(new TypeError('a race in the driver'));
  await failed;
  await turn();
  const next = search();
  assert.is(searches.length, 2);
  searches[1]?.end();
  await next;
});

single('is refused if the discovery of this driver works differently', () => {
  assert.throws(() => searchOnceAtATime({} as unknown as Client), /unsupported cassandra-driver/);
});

single.run();
