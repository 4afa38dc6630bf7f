import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { fakeInstance } from '#test/console/pages/fakes/fake-instances';

const comparison = browserSuite('the comparison of two instances');

const ANALYST = [0.85, 0.25, 0.75, 0.35, 0.25, 0.45, 0.2];
const EXPLORER = [0.5, 0.85, 0.15, 0.4, 0.6, 0.3, 0.15];
const [ONE, TWO] = ['inst_0000000000000001', 'inst_0000000000000002'];
const PATH = `/fleet/compare?a=${ONE}&b=${TWO}`;

const flat = (text: string) => text.replaceAll(/\s+/g, ' ');

comparison('shows modes as a picture and as a table, and the differences', async (pages) => {
  const strained = Array.from({ length: 6 }, () => ({ mode: 6, signal: 1, confidence: 1 }));
  pages.account.instances = [
    fakeInstance(1, { name: 'Ada', strengths: ANALYST }),
    fakeInstance(2, { name: 'Bob', strengths: EXPLORER, energy: 0.6, observed: strained }),
  ];
  await using opened = await pages.open(PATH, await pages.desk.owner());
  const { page } = opened;
  const picture = page.getByRole('img', { name: /^Modes of Ada and Bob\. Furthest apart: / });
  await picture.waitFor();
  assert.is(await picture.locator('polygon[points]').count(), 4 + 2, 'rings and shapes');
  const dashes = await page.evaluate(`[...document.querySelectorAll('.legend .radar-line')]
    .map((one) => getComputedStyle(one).strokeDasharray)`);
  assert.equal(dashes, ['none', '7px, 4px'], 'not by colour alone');
  await page.getByText('Show the numbers').click();
  assert.match(
    flat(await page.locator('.radar table').innerText()),
    /Perception 85 % \d\d(\.\d)? %/,
  );
  const state = flat(await page.locator('section', { hasText: 'State and style' }).innerText());
  assert.match(state, /Cycle 0 6 \+6/);
  assert.match(state, /Energy 80 % \d\d(\.\d)? % −\d\d(\.\d)? points/);
  assert.match(state, /Drift Not observed yet D[123]: \w+/);
  const actions = page.locator('section', { hasText: 'Both allow' });
  await actions.getByText('forbidden', { exact: true }).first().waitFor();
  const link = page.getByRole('link', { name: 'Bob' });
  assert.is(await link.getAttribute('href'), `/instances/${TWO}`);
  assertQuiet(opened);
});

comparison('reports that equal instances do not differ', async (pages) => {
  pages.account.instances = [1, 2].map((count) =>
    fakeInstance(count, { name: 'Ada', strengths: ANALYST }),
  );
  await using opened = await pages.open(PATH, await pages.desk.owner());
  const { page } = opened;
  await page.getByText('No mode differs.', { exact: true }).waitFor();
  await page.getByText('Both contracts allow and forbid the same actions.').waitFor();
  await page.getByRole('link', { name: `Ada (${TWO})` }).waitFor();
  assertQuiet(opened);
});

comparison('asks for two instances, and names an unknown instance', async (pages) => {
  pages.account.instances = [fakeInstance(1, { name: 'Ada' })];
  const owner = await pages.desk.owner();
  for (const query of ['', `?a=${ONE}`, `?a=${ONE}&b=${ONE}`]) {
    await using opened = await pages.open(`/fleet/compare${query}`, owner);
    await opened.page.getByText('Select two instances').waitFor();
    assertQuiet(opened);
  }
  await using opened = await pages.open(PATH, owner);
  const { page, complaints } = opened;
  await page.getByText(`The instance ${TWO} could not be loaded.`).waitFor();
  await page.getByText('Instance not found.').waitFor();
  assert.equal(complaints, []);
});

comparison('does not follow an id that contains a path', async (pages) => {
  const path = `/fleet/compare?a=${encodeURIComponent('../keys')}&b=${TWO}`;
  await using opened = await pages.open(path, await pages.desk.owner());
  await opened.page.getByText('The instance ../keys could not be loaded.').waitFor();
  assert.not.ok(pages.account.sent.some(({ route }) => route.includes('keys')));
});

comparison.run();
