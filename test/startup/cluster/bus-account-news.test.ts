import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AccountNews } from '#accounts/account';
import type { Bus } from '#bus/bus';
import { inProcessBus } from '#bus/in-process-bus';
import { openNatsBus } from '#bus/nats-bus';
import { accountSubject, busAccountNews } from '#startup/cluster';
import { systemClock } from '#stdlib/clock';
import { delivered } from '#test/bus/bus-contract';
import { ManualClock } from '#test/support/manual-clock';
import { natsOrSkip } from '#test/support/servers/real-servers';
import { SILENT } from '#test/support/test-logger';

const { address, suite: natsSuite } = natsOrSkip();

const ADA = 'AdaAda012345';
const BOB = 'BobBob012345';

/** Maximum time until all processes apply a change, in milliseconds (architecture 4). */
const EVERYWHERE_MS = 1_000;

const onBug = (error: unknown): void => {
  throw error;
};

const openNats = (name: string): Promise<Bus> =>
  openNatsBus({ servers: [address], name, clock: systemClock, onBug, logger: SILENT });

/** Unique subject prefix, because tests share the NATS server. */
const ownPrefix = (): string => `news.${process.pid}.${Date.now().toString(36)}`;

/** Subscribes to account changes. Returns the announced account ids, in order. */
function announcedAccounts(news: AccountNews): string[] {
  const announced: string[] = [];
  news.onChange((accountId) => announced.push(accountId));
  return announced;
}

/** An in-process bus, and a function that delivers published messages. */
function openAlone(): { bus: Bus; deliver(): void } {
  const clock = new ManualClock();
  return { bus: inProcessBus({ clock, onBug }), deliver: () => clock.advance(0) };
}

const alone = suite('account changes within one process');

alone('reach a subscriber in the announcing process until the subscription is disposed', () => {
  const { bus, deliver } = openAlone();
  const news = busAccountNews({ bus, prefix: 'p', cluster: 'c' });
  const announced = announcedAccounts(news);
  const forAWhile: string[] = [];
  const subscription = news.onChange((accountId) => forAWhile.push(accountId));
  news.announce(ADA);
  deliver();
  subscription[Symbol.dispose]();
  news.announce(BOB);
  deliver();
  assert.equal(announced, [ADA, BOB]);
  assert.equal(forAWhile, [ADA]);
});

alone('do not reach other clusters, even with similar names', async () => {
  const { bus, deliver } = openAlone();
  const announced = announcedAccounts(busAccountNews({ bus, prefix: 'p', cluster: 'ours' }));
  for (const cluster of ['hers', 'our', 'ours ', 'ours2', '']) {
    busAccountNews({ bus, prefix: 'p', cluster }).announce(ADA);
  }
  busAccountNews({ bus, prefix: 'q', cluster: 'ours' }).announce(ADA);
  busAccountNews({ bus, prefix: 'p', cluster: 'ours' }).announce(BOB);
  deliver();
  assert.equal(announced, [BOB]);
});

alone('are not taken from malformed messages', () => {
  const { bus, deliver } = openAlone();
  const announced = announcedAccounts(busAccountNews({ bus, prefix: 'p', cluster: 'ours' }));
  const say = (message: Uint8Array | string) =>
    bus.publish(accountSubject('p'), typeof message === 'string' ? Buffer.from(message) : message);
  for (const id of ['', 'AdaAda01234', `${ADA}5`, 'AdaAda01234\n', 'Ada-da012345', 'ÄdaAda01234']) {
    say(`ours ${id}`);
  }
  for (const message of ['', 'ours', 'ours ', ADA, `"${ADA}"`, `ours  ${ADA}`]) say(message);
  say(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  say(new Uint8Array(1_000_000).fill(0xff));
  say(Buffer.concat([Buffer.from('ours '), Buffer.alloc(12, 0xff)]));
  say(`ours ${BOB}`);
  deliver();
  assert.equal(announced, [BOB]);
});

const between = natsSuite('account changes over NATS');

between('arrive within a second, in this process and in another process', async () => {
  await using here = await openNats('here');
  await using there = await openNats('there');
  const place = { prefix: ownPrefix(), cluster: 'c' };
  const news = busAccountNews({ bus: here, ...place });
  const { promise, resolve } = Promise.withResolvers<string>();
  using _there = busAccountNews({ bus: there, ...place }).onChange(resolve);
  const own = announcedAccounts(news);
  await delivered(there);
  news.announce(ADA);
  const tooLate = sleep(EVERYWHERE_MS, 'nothing', { ref: false });
  assert.is(await Promise.race([promise, tooLate]), ADA);
  await delivered(here);
  assert.equal(own, [ADA]);
});

for (const each of [alone, between]) each.run();
