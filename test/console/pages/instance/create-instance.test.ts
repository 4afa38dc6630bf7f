import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';

const creation = browserSuite('the page that creates an instance');

async function openCreation(pages: TestPages): Promise<WatchedPage> {
  const opened = await pages.open('/instances/new', await pages.desk.owner());
  await opened.page.getByRole('radio', { name: 'The Analyst' }).waitFor();
  return opened;
}

const ROUTE = 'POST /api/instances';

const sentTo = ({ account }: TestPages) => account.sent.filter(({ route }) => route === ROUTE);

creation('creates an instance from a persona, and shows its seven modes', async (pages) => {
  await using opened = await openCreation(pages);
  const { page } = opened;
  assert.is(await page.getByRole('radio').count(), 13);
  const card = page.locator('.choice').filter({ hasText: 'The Scholar' });
  const text = (await card.innerText()).replaceAll(/\s+/g, ' ');
  assert.match(
    text,
    /Intellectual\. Studies .* Perception 80 % .*Order 62 % .*Stress response 10 %/,
  );
  await page.getByLabel('Name', { exact: true }).fill('  Ada ');
  await page.getByLabel('Description').fill('Writes release notes');
  await page.getByRole('radio', { name: 'The Scholar' }).check();
  await page.getByRole('button', { name: 'Create the instance' }).click();
  await page.waitForURL(/\/instances\/inst_0000000000000001$/);
  assert.equal(sentTo(pages)[0]?.body, {
    ...{ name: 'Ada', description: 'Writes release notes' },
    initial_config: {
      mode_strengths: {
        ...{ perception: 0.8, exploration: 0.55, order: 0.62, assertion: 0.15 },
        ...{ connection: 0.2, identity: 0.55, stress_response: 0.1 },
      },
    },
  });
  assertQuiet(opened);
});

creation('creates a neutral instance with the keyboard alone', async (pages) => {
  await using opened = await openCreation(pages);
  const { page } = opened;
  const focused = 'document.activeElement.name || document.activeElement.textContent';
  const until = async (what: string) => {
    for (let presses = 0; (await page.evaluate(focused)) !== what; presses += 1) {
      assert.ok(presses < 8, `${what} is reached`);
      await page.keyboard.press('Tab');
    }
  };
  await until('name');
  await page.keyboard.type('Ada');
  await until('start');
  await page.keyboard.press('ArrowDown');
  assert.ok(await page.getByRole('radio', { name: 'The Analyst' }).isChecked());
  await page.keyboard.press('ArrowUp');
  await until('Create the instance');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/instances\/inst_/);
  assert.equal(sentTo(pages)[0]?.body, { name: 'Ada', description: '' });
  assertQuiet(opened);
});

creation('creates one instance for a double click, and for a retry', async (pages) => {
  await using opened = await openCreation(pages);
  const { page } = opened;
  await page.getByLabel('Name', { exact: true }).fill('Ada');
  pages.account.broken.set(ROUTE, {
    ...{ status: 503, headers: { 'retry-after': '1' } },
    body: { error: 'service_unavailable', message: 'the outcome is not known' },
  });
  const create = page.getByRole('button', { name: 'Create the instance' });
  await create.click();
  await page.getByText('The outcome is not known. Try again in 1 second.').waitFor();
  pages.account.broken.clear();
  await create.dblclick();
  await page.waitForURL(/\/instances\/inst_/);
  const keys = sentTo(pages).map(({ idempotencyKey }) => String(idempotencyKey));
  assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/);
  assert.is(new Set(keys).size, 1, keys.join(' '));
  assert.is(pages.account.instances.length, 1);
  assert.equal(opened.complaints.length, 1, 'the browser logs the 503');
});

creation('uses another idempotency key when the input changes', async (pages) => {
  await using opened = await openCreation(pages);
  const { page } = opened;
  const create = page.getByRole('button', { name: 'Create the instance' });
  await page.getByLabel('Name', { exact: true }).fill('refused');
  await create.click();
  await page.getByText('Must be text that can be shown.').waitFor();
  assert.is(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), 'true');
  await page.getByLabel('Name', { exact: true }).fill('Ada');
  await create.click();
  await page.waitForURL(/\/instances\/inst_/);
  const [first, second] = sentTo(pages).map(({ idempotencyKey }) => idempotencyKey);
  assert.is.not(first, second);
  assertQuiet(opened, ['422 /api/instances']);
});

creation('explains what to do when the plan has no instances left', async (pages) => {
  const details = { reason: 'instance_limit' };
  const message = "the account's plan allows 3 instances";
  const body = { error: 'forbidden', message, details };
  pages.account.broken.set(ROUTE, { status: 403, body });
  await using opened = await openCreation(pages);
  const { page } = opened;
  await page.getByLabel('Name', { exact: true }).fill('Ada');
  await page.keyboard.press('Enter');
  const text = await page.getByRole('alert').innerText();
  assert.match(
    text,
    /^The account's plan allows 3 instances\. Delete an unused instance, .* plan\.$/,
  );
  assertQuiet(opened, ['403 /api/instances']);
});

creation('creates neutral instances if the personas cannot be loaded', async (pages) => {
  pages.account.broken.set('GET /api/personas', 500);
  await using opened = await pages.open('/instances/new', await pages.desk.owner());
  const { page } = opened;
  await page.getByText('The personas could not be loaded.').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Ada');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/instances\/inst_/);
});

creation.run();
