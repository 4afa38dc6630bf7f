import { isDeepStrictEqual } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '#errors/fault';
import {
  copy,
  type DeadInstallation,
  deadInstallation,
  emptyInstallation,
  seenBy,
  watched,
} from '#test/ctl/copy/copy-fixture';
import { everythingStored } from '#test/ctl/copy/everything-stored';
import type { Cluster } from '#test/ctl/ctl-on-cluster';

/**
 * Within a series of writes of one kind, the tests interrupt or lose every fifth write, because a
 * test of each write would take too long.
 */
const EVERY = 5;

let dead: DeadInstallation;
let whole: unknown;
/** Names of all writes in a complete copy, in order. */
const writes: string[] = [];

const resumed = suite('an interrupted copy');

resumed.before(async () => {
  dead = await deadInstallation();
  await using target = await emptyInstallation();
  const noting = watched(there(target), async (write, name) => {
    writes.push(name);
    return await write();
  });
  assert.is((await copy(source(), noting)).code, 0);
  whole = await everythingStored(there(target), 1);
});
resumed.after(async () => {
  await dead?.[Symbol.asyncDispose]();
});

const source = () => seenBy('sqlite:a', dead.cluster);
const there = (target: Cluster) => seenBy('cassandra:b', target);

/** Positions of the tested writes: the first and last of each series, and every fifth write. */
function places(): number[] {
  const isShown = (place: number) =>
    place % EVERY === 0 ||
    writes[place - 1] !== writes[place] ||
    writes[place + 1] !== writes[place];
  return writes.keys().filter(isShown).toArray();
}

/** Copies until the process ends, before or after write number `last`. */
async function cutAt(target: Cluster, last: number, isWritten: boolean) {
  let done = -1;
  const ending = watched(there(target), async (write) => {
    done += 1;
    if (done === last && isWritten) await write();
    if (done >= last) throw new Fault('service_unavailable', 'ended here');
    return await write();
  });
  const { code, err } = await copy(source(), ending);
  assert.equal([code, err], [1, 'ctl: ended here']);
}

resumed('has the full result after a second run, wherever the first run ended', async () => {
  for (const place of places()) {
    await using target = await emptyInstallation();
    await cutAt(target, place, place % 2 === 0);
    const { code, err } = await copy(source(), there(target));
    const where = `write ${place}, ${writes[place]}`;
    assert.is(code, 0, `${where}: ${err}`);
    assert.ok(isDeepStrictEqual(await everythingStored(there(target), 1), whole), where);
  }
});

resumed('is served by no node before it is complete', async () => {
  await using target = await emptyInstallation();
  await cutAt(target, writes.indexOf('instances.checkpoint') + 1, true);
  await target.joinEngine('a');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  assert.is(target.node('a').incarnation?.shards.size, 0);
  const { code, err } = await copy(source(), there(target));
  assert.is(code, 1);
  assert.match(err, /^ctl: a process served cassandra:b or its source after the copy began/);
});

resumed('admits no caller before it is complete', async () => {
  await using target = await emptyInstallation();
  await cutAt(target, writes.indexOf('accounts.endImport'), false);
  const accounts = await target.stores.accounts.list({ afterId: undefined, limit: 10 });
  assert.equal(
    accounts.map(({ status }) => status),
    ['importing', 'importing'],
  );
});

resumed('does not repeat completed writes', async () => {
  await using target = await emptyInstallation();
  await cutAt(target, writes.indexOf('accounts.endImport'), false);
  const again: string[] = [];
  const noting = watched(there(target), async (write, name) => {
    again.push(name);
    return await write();
  });
  assert.is((await copy(source(), noting)).code, 0);
  const places = again.filter((name) => !/^(shards.fix|accounts.changeKeys)/.test(name));
  assert.equal(
    new Set(places),
    new Set(['accounts.endImport', 'journals.begin', 'journals.append', 'journals.seal']),
  );
});

const noticed = suite('a lost write of a copy');

noticed('is detected, or makes no difference', async () => {
  const unnoticed: string[] = [];
  for (const place of places()) {
    await using target = await emptyInstallation();
    let done = -1;
    const losing = watched(there(target), async (write) => {
      done += 1;
      return done === place ? undefined : await write();
    });
    const { code } = await copy(source(), losing);
    if (code === 0 && !isDeepStrictEqual(await everythingStored(there(target), 1), whole)) {
      unnoticed.push(`${place} ${writes[place]}`);
    }
  }
  assert.equal(unnoticed, []);
});

resumed.run();
noticed.run();
