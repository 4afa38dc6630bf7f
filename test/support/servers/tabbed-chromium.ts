import { type BrowserContext, chromium } from 'playwright-core';
import { freePort } from '#deploy/local/servers/free-port';
import { launchChromium } from '#test/support/servers/chromium';

/** A browser with one window whose pages are tabs. */
type TabbedChromium = AsyncDisposable & { readonly context: BrowserContext };

/**
 * Starts a browser in which only one tab is visible, as for a person. In `launchChromium`, all
 * pages count as visible. Separate, because only this browser needs a debugging port.
 */
export async function launchTabbedChromium(): Promise<TabbedChromium> {
  await using opening = new AsyncDisposableStack();
  const port = await freePort();
  const browser = await launchChromium([`--remote-debugging-port=${port}`]);
  opening.defer(() => browser.close());
  const attached = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { noDefaults: true });
  opening.defer(() => attached.close());
  const [context] = attached.contexts();
  if (context === undefined) throw new Error('the browser has no window');
  const opened = opening.move();
  return { context, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
