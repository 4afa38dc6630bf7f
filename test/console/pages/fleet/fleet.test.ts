import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { faultsOf } from '#test/console/pages/fakes/axe';
import { assertQuiet } from '#test/console/pages/fakes/browser-suite';
import { openRealService, type RealService } from '#test/console/pages/fakes/real-service';
import { chromiumSuite } from '#test/support/servers/chromium';

const SIGNED_OUT = '401 /api/me';

/** Time some seconds ago. */
const ago = (seconds: number): string => new Date(Date.now() - 1_000 * seconds).toISOString();

/** Calm observation before all stressful observations. */
const orderly = () => ({ mode_target: 'ORDER', signal_strength: 0.7, timestamp: ago(300) });

/** Observations that raise the stress to `OVER`. */
const stressful = () =>
  Array.from({ length: 12 }, (_, index) => ({
    ...{ mode_target: 'STRESS_RESPONSE', signal_strength: 1 },
    timestamp: ago(120 - 5 * index),
  }));

/** Waits until the pictures of the fleet have this count of a value. */
const untilCount = (page: Page, value: string, count: number) =>
  page.getByRole('link', { name: new RegExp(`^${value} ${count} `) }).waitFor();

/** Creates instances with a team, and observes each once. */
async function createTeam({ send }: RealService, team: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 1; index <= count; index += 1) {
    const { id } = await send('POST', '/instances', { name: `${team} ${index}`, tags: { team } });
    await send('POST', `/instances/${id}/process`, orderly());
    ids.push(id);
  }
  return ids;
}

/** Raises the stress of an instance to `OVER`. */
const stress = ({ send }: RealService, id: string) =>
  send('POST', `/instances/${id}/process/batch`, { observations: stressful() });

const fleet = chromiumSuite('the fleet of a running service');

fleet('is the start page, counts, filters and follows changes', async () => {
  await using closing = new AsyncDisposableStack();
  const service = await openRealService(closing);
  const { opened, page, origin } = service;
  const [first = '', second = ''] = await createTeam(service, 'docs', 3);
  await createTeam(service, 'ops', 2);
  await page.goto(`${origin}/`);
  await page.getByRole('heading', { name: 'Fleet', exact: true }).waitFor();
  await untilCount(page, 'LOW', 5);
  await untilCount(page, 'OVER', 0);

  await page.getByText('live', { exact: true }).waitFor();
  await stress(service, first);
  await untilCount(page, 'OVER', 1);
  await untilCount(page, 'LOW', 4);
  const row = page.getByRole('row', { name: /docs 1/ });
  await row.getByText('OVER').waitFor();
  await page
    .getByRole('listitem')
    .filter({ hasText: 'docs 1' })
    .getByText(/^stress .* → OVER$/)
    .first()
    .waitFor();

  await page.getByRole('link', { name: /^OVER 1 / }).click();
  await page.getByText('1 selected').waitFor();
  await page.getByRole('link', { name: /^team: docs 3/ }).click();
  assert.is(new URL(page.url()).search, '?stress=OVER&tag.team=docs');
  await page.reload();
  await page.getByText('1 selected').waitFor();
  assert.equal(await page.locator('.row-name').allTextContents(), ['docs 1']);
  await page.getByRole('link', { name: 'Stress: OVER Remove this filter' }).click();
  await page.getByText('3 selected').waitFor();

  await stress(service, second);
  await page.getByRole('button', { name: /^Load again/ }).waitFor();
  await page.getByLabel('Order', { exact: true }).selectOption('Newest change first');
  await page.getByRole('row', { name: /docs 2.*OVER/ }).waitFor();
  assert.is((await page.locator('.row-name').allTextContents())[0], 'docs 2');

  await page.getByRole('button', { name: 'Course of docs 2' }).click();
  await page.getByRole('img', { name: /^docs 2: \d+ past states up to cycle 13$/ }).waitFor();
  for (const width of [390, 768, 1_280]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      assert.equal(await faultsOf(page), [], `${width} ${colorScheme}`);
    }
  }
  assertQuiet(opened, opened.refused.length === 0 ? [] : [SIGNED_OUT]);
});

fleet('tags, resets and deletes many instances, and shows the failures', async () => {
  await using closing = new AsyncDisposableStack();
  const service = await openRealService(closing);
  const { opened, page, origin, send } = service;
  const [first = ''] = await createTeam(service, 'docs', 6);
  for (let index = 0; index < 14; index += 1) await send('POST', '/instances', { name: 'other' });
  await page.goto(`${origin}/fleet?sort=name&order=asc`);
  await page.getByText('20 instances', { exact: true }).waitFor();
  await page.getByRole('checkbox', { name: 'Select the visible instances' }).check();
  await page.getByRole('button', { name: 'Select all 20' }).click();
  await page.getByText('20 instances selected').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  for (let index = 1; index <= 6; index += 1) {
    await page.getByRole('checkbox', { name: `Select docs ${index}` }).check();
  }

  await page.getByRole('button', { name: 'Tag …', exact: true }).click();
  await page.getByRole('dialog').getByLabel('Key').fill('tier');
  await page.getByRole('dialog').getByLabel('Value').fill('gold');
  await page.keyboard.press('Enter');
  await page.getByText('Tagged: 6 of 6 instances.').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  assert.equal((await send('GET', `/instances/${first}`))['tags'], { team: 'docs', tier: 'gold' });
  // Another caller changes another tag meanwhile.
  await send('PATCH', `/instances/${first}`, { tags: { team: 'docs', tier: 'gold', env: 'prod' } });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('The tags are restored.').first().waitFor();
  assert.equal((await send('GET', `/instances/${first}`))['tags'], { team: 'docs', env: 'prod' });

  const select = (name: string) => page.getByRole('checkbox', { name: `Select ${name}` }).check();
  await page.getByRole('row', { name: /docs 6/ }).waitFor();
  await send('DELETE', `/instances/${first}`);
  for (const index of [1, 2]) await select(`docs ${index}`);
  await page.getByRole('button', { name: 'Remove a tag …' }).click();
  await page.getByRole('button', { name: 'Remove the tag' }).click();
  await page.getByText('Removed the tag: 1 of 2 instances. Failed: 1.').waitFor();
  await page.getByRole('dialog').getByRole('link', { name: 'docs 1' }).waitFor();
  await page.getByRole('button', { name: 'Try the failed again' }).click();
  await page.getByText('Removed the tag: 1 of 2 instances. Failed: 1.').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();

  await page.getByText('19 instances', { exact: true }).waitFor();
  await select('docs 2');
  await page.getByRole('button', { name: 'Delete …' }).click();
  const confirm = page.getByRole('button', { name: 'Delete permanently' });
  assert.ok(await confirm.isDisabled(), 'a deletion needs a typed confirmation');
  await page.getByLabel('Type this text to confirm').fill('delete 1');
  await confirm.click();
  await page.getByText('Deleted: 1 of 1 instance.').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('18 instances', { exact: true }).waitFor();

  await page.getByRole('checkbox', { name: 'Select docs 3' }).check();
  await page.getByRole('button', { name: 'Reset …' }).click();
  await page.getByLabel('Type this text to confirm').fill('reset 1');
  await page.getByRole('button', { name: 'Reset', exact: true }).click();
  await page.getByText('Reset: 1 of 1 instance.').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  const notFound = opened.refused.filter((line) => line !== SIGNED_OUT);
  assert.equal(new Set(notFound), new Set([`404 /api/instances/${first}`]));
});

fleet.run();
