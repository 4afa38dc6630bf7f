import type { Page } from 'playwright-core';
import { FakeBackend } from '#test/console/pages/fakes/fake-backend';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';

/** Strengths of an orderly observer. */
export const ANALYST = [0.85, 0.25, 0.75, 0.35, 0.25, 0.45, 0.2];

/** An observation that fits these strengths. */
export const CALM = { mode: 2, signal: 0.75, confidence: 0.9 };
/** An observation that contradicts these strengths. */
export const WILD = { mode: 3, signal: 1, confidence: 1 };

type Opened = WatchedPage & { readonly backend: FakeBackend };

/** Opens a tab of an instance that receives observations, and waits until the page is live. */
export async function openLive(
  pages: TestPages,
  backend = new FakeBackend(pages.account, 'Ada', ANALYST),
  tab = 'state',
): Promise<Opened> {
  const path = `/instances/${backend.instance.id}?tab=${tab}`;
  const opened = await pages.open(path, await pages.desk.owner());
  await opened.page.getByRole('heading', { name: backend.instance.name, exact: true }).waitFor();
  await opened.page.getByText('live', { exact: true }).waitFor();
  return Object.assign(opened, { backend });
}

/** The value of a figure in the header. */
export async function figure(page: Page, name: string): Promise<string> {
  const figures = page.locator('.figures > div', { has: page.getByText(name, { exact: true }) });
  return await figures.locator('dd').innerText();
}

/** Waits until the header shows a cycle. */
export async function untilCycle(page: Page, cycle: number): Promise<void> {
  const figures = page.locator('.figures > div', { has: page.getByText('Cycle', { exact: true }) });
  await figures.locator('dd').getByText(String(cycle), { exact: true }).waitFor();
}

/** Follows the link to a tab. */
export async function openTab(page: Page, name: string): Promise<void> {
  const links = page.getByRole('navigation', { name: 'Parts of the instance' });
  await links.getByRole('link', { name }).click();
}

/** Tag name of the element with the focus. */
export async function focusedTag(page: Page): Promise<string> {
  return String(await page.evaluate('document.activeElement.tagName'));
}

/** Routes that the page has requested since the last call, in order. */
export function takeRoutes(pages: TestPages): string[] {
  return pages.account.sent.splice(0).map(({ route }) => route);
}
