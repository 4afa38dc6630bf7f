import type { Browser } from 'playwright-core';
import * as assert from 'uvu/assert';
import {
  openPages,
  type TestPages,
  type WatchedPage,
} from '#test/console/pages/fakes/pages-fixture';
import { chromiumSuite, launchChromium } from '#test/support/servers/chromium';

/**
 * Suite whose tests share a real browser. Each test gets its own console. Without a browser, the
 * tests are skipped.
 */
export function browserSuite(name: string) {
  const tests = chromiumSuite(name);
  let browser: Promise<Browser> | undefined;
  const launched = () => (browser ??= launchChromium());
  tests.after(async () => await (await browser)?.close());
  const add = (title: string, run: (pages: TestPages) => Promise<void>) => {
    tests(title, async () => {
      await using pages = await openPages(launched);
      await run(pages);
    });
  };
  return Object.assign(add, { run: () => tests.run() });
}

/** Asserts that a page logged no complaint and that only the named requests were refused. */
export function assertQuiet(
  { complaints, refused }: Pick<WatchedPage, 'complaints' | 'refused'>,
  expected: string[] = [],
): void {
  assert.equal([complaints, refused], [[], expected]);
}
