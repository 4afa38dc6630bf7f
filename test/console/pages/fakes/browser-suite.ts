import type { Browser } from 'playwright-core';
import * as assert from 'uvu/assert';
import {
  openPages,
  type TestPages,
  type WatchedPage,
} from '#test/console/pages/fakes/pages-fixture';
import { chromiumSuite, launchChromium } from '#test/support/servers/chromium';

/**
 * A suite in a real browser, shared by its tests, which are skipped without a browser. Each test
 * gets its own console.
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

/** Fails if a page logged complaints, or if requests other than the named ones were refused. */
export function assertQuiet(
  { complaints, refused }: Pick<WatchedPage, 'complaints' | 'refused'>,
  expected: string[] = [],
): void {
  assert.equal([complaints, refused], [[], expected]);
}
