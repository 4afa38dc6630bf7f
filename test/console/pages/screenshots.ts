import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openClusterDesk, troubledReport } from '#test/console/pages/fakes/cluster-fixture';
import { openPages, type WatchedPage } from '#test/console/pages/fakes/pages-fixture';
import { fillSample } from '#test/console/pages/fakes/sample-account';
import { smallPng } from '#test/console/pages/fakes/small-png';
import { observeExtremes, supportDesk } from '#test/console/pages/fakes/support-desk';
import { launchChromium } from '#test/support/servers/chromium';

/*
 * Writes screenshots of every page, wide and narrow, light and dark. The README and docs/console
 * show some of them. Usage: node test/console/pages/screenshots.ts [FOLDER] [PAGE …]
 */

/** Size above which a picture is reported as too large to commit, in bytes. */
const PICTURE_BYTES_MAX = 60_000;

const [folder = 'docs/console', ...wanted] = process.argv.slice(2);
const PAGES = [
  'overview',
  'keys',
  'usage',
  'usage-instances',
  'billing',
  'members',
  'audit',
  'security',
  'sign-in',
  'create-key',
  'instances',
  'create-instance',
  'test',
  'compare',
  'instance',
  'instance-lines',
] as const;
const PATHS: Partial<Record<(typeof PAGES)[number], string>> = {
  'usage-instances': '/usage',
  ...{ overview: '/', 'sign-in': '/', 'create-key': '/keys' },
  ...{ 'create-instance': '/instances/new', test: '/instances/test' },
  compare: '/fleet/compare?a=inst_0000000000000001&b=inst_0000000000000005',
};
const VIEWS = [1280, 390].flatMap((width) =>
  (['light', 'dark'] as const).map((scheme) => ({ width, scheme })),
);

/** Scrolls to the section with this heading, and removes the focus. */
const show = (id: string) => `document.getElementById('${id}').closest('section').scrollIntoView();
  document.activeElement?.blur()`;

mkdirSync(folder, { recursive: true });
await using browser = await launchChromium();
await using pages = await openPages(async () => browser);
fillSample(pages.account);
const owner = await pages.desk.owner();
await pages.desk.member(owner, 'grace@example.com', 'developer');
await owner.expect(201, 'POST', '/members/invitations', {
  email: 'bob@example.com',
  role: 'viewer',
});
if (wanted.length === 0 || wanted.includes('cluster')) {
  await using cluster = await openClusterDesk(async () => browser);
  cluster.report = troubledReport();
  for (const { width, scheme } of VIEWS) {
    const options = { viewport: { width, height: 800 }, colorScheme: scheme } as const;
    await using opened = await cluster.open({ options });
    await keep(opened, `cluster-${width}-${scheme}`);
  }
}
for (const name of PAGES.filter((each) => wanted.length === 0 || wanted.includes(each))) {
  for (const { width, scheme } of VIEWS) await takePicture(name, width, scheme);
}

async function takePicture(
  name: (typeof PAGES)[number],
  width: number,
  scheme: 'light' | 'dark',
): Promise<void> {
  const backend = /^instance(-lines)?$/.test(name) ? supportDesk(pages.account) : undefined;
  const path =
    backend === undefined
      ? (PATHS[name] ?? `/${name}`)
      : `/instances/${backend.instance.id}${name === 'instance-lines' ? '?tab=course' : ''}`;
  const options = { viewport: { width, height: 800 }, colorScheme: scheme } as const;
  await using opened = await pages.open(path, name === 'sign-in' ? undefined : owner, options);
  const { page } = opened;
  await page.locator('h1').waitFor();
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  if (name === 'audit')
    await page
      .getByRole('button', { name: /^Details/ })
      .nth(1)
      .click();
  if (name === 'create-key') await page.getByRole('button', { name: 'Create a key' }).click();
  if (name === 'usage-instances') await page.evaluate(show('instances'));
  if (backend !== undefined) {
    await page.getByText('live', { exact: true }).waitFor();
    for (let count = 0; count < 60; count += 1) observeExtremes(backend, count);
    if (name === 'instance-lines') {
      await page.getByRole('toolbar', { name: 'Drift marks' }).waitFor();
      await page.evaluate(show('course'));
    }
  }
  await keep(opened, `${name}-${width}-${scheme}`);
}

async function keep({ page }: WatchedPage, name: string): Promise<void> {
  const file = join(folder, `${name}.png`);
  const picture = smallPng(await page.screenshot());
  writeFileSync(file, picture);
  const isLarge = picture.length > PICTURE_BYTES_MAX;
  console.log(`${file}: ${picture.length} bytes${isLarge ? ', too large' : ''}`);
}
