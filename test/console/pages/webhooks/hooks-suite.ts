import type { Browser as Chromium } from 'playwright-core';
import type { Browser } from '#test/console/browser';
import { openPages, type TestPages } from '#test/console/pages/fakes/pages-fixture';
import { openReceiver, type Receiver, until } from '#test/console/webhook-receiver';
import { chromiumSuite, launchChromium } from '#test/support/servers/chromium';

/** Pages on a real engine, with a real courier and a real receiver. */
export type Hooks = {
  readonly pages: TestPages;
  readonly receiver: Receiver;
  readonly owner: Browser;
  /** Adds an endpoint at the receiver. Returns its id. */
  readonly endpoint: (settings?: Record<string, unknown>) => Promise<string>;
  /** Creates an instance. Returns its id. */
  readonly instance: () => Promise<string>;
  /** Makes changes that an endpoint gives up, because its receiver refuses them. */
  readonly failChanges: (id: string) => Promise<void>;
  /** Waits until the endpoint has `count` attempts. */
  readonly untilAttempts: (id: string, count: number) => Promise<void>;
};

/** Number of changes of one instance that an endpoint holds back. Older ones are given up. */
const HELD_CHANGES = 50;

/** Suite of pages about webhooks. Each test gets its own console, engine and receiver. */
export function hooksSuite(name: string) {
  const tests = chromiumSuite(name);
  let chromium: Promise<Chromium> | undefined;
  const launched = () => (chromium ??= launchChromium());
  tests.after(async () => await (await chromium)?.close());
  const add = (title: string, run: (hooks: Hooks) => Promise<void>) => {
    tests(title, async () => {
      using receiver = await openReceiver();
      const { courier } = receiver;
      await using pages = await openPages(launched, { isReal: true, courier });
      await run(await hooksOf(pages, receiver));
    });
  };
  return Object.assign(add, { run: () => tests.run() });
}

async function hooksOf(pages: TestPages, receiver: Receiver): Promise<Hooks> {
  const owner = await pages.desk.owner();
  const create = async (path: string, body: object) =>
    String((await owner.expect(201, 'POST', path, body)).data['id']);
  const instance = () => create('/instances', { name: 'Iris' });
  const untilAttempts: Hooks['untilAttempts'] = async (id, count) => {
    await until(pages.desk, async () => {
      const { body } = await owner.expect(200, 'GET', `/webhooks/${id}/deliveries`);
      return body.data.attempts.length >= count;
    });
  };
  return {
    ...{ pages, receiver, owner, instance, untilAttempts },
    endpoint: (settings = {}) => create('/webhooks', { url: receiver.url, ...settings }),
    async failChanges(id) {
      receiver.answerWith(500);
      const changed = await instance();
      await untilAttempts(id, 1);
      for (let count = 0; count < HELD_CHANGES + 3; count += 1) {
        await owner.expect(200, 'PATCH', `/instances/${changed}`, { name: `Iris ${count}` });
      }
      await until(pages.desk, async () => {
        const { data } = await owner.expect(200, 'GET', `/webhooks/${id}`);
        return Number(data['changes_failed']) >= 3;
      });
    },
  };
}
