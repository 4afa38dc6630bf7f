import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import type { TestPages, WatchedPage } from '#test/console/pages/fakes/pages-fixture';

const test = browserSuite('the personality test');

async function openTest(pages: TestPages): Promise<WatchedPage> {
  const opened = await pages.open('/instances/test', await pages.desk.owner());
  await opened.page.locator('.question').first().waitFor();
  return opened;
}

/** The test data that the browser stores. */
const KEPT = `JSON.stringify(Object.entries(localStorage))`;

const answered = ({ page }: WatchedPage, count: number) =>
  page.getByText(`${count} of 35 answered`).waitFor();

/** Answers all questions from `first` on with the keys 1 to 5. */
async function answerFrom({ page }: WatchedPage, first: number): Promise<void> {
  await page
    .locator(`input[name="q${String(first).padStart(2, '0')}"]`)
    .first()
    .focus();
  for (let position = first; position <= 35; position += 1) {
    await page.keyboard.press(String(1 + (position % 5)));
  }
}

const lastTo = ({ account }: TestPages, route: string) =>
  account.sent.findLast((one) => one.route === route)?.body as Record<string, unknown>;

test('works with the keyboard alone, and creates an instance from its result', async (pages) => {
  await using opened = await openTest(pages);
  const { page } = opened;
  assert.is(await page.locator('.question').count(), 35);
  assert.is(await page.getByRole('radio').count(), 175);
  const options = { name: '4, rather accurate' } as const;
  assert.is(await page.getByRole('radio', options).count(), 35, 'each step has its label');
  await answerFrom(opened, 1);
  await answered(opened, 35);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Nearest personas' }).waitFor();
  assert.is(await page.evaluate('document.activeElement.textContent'), 'Your result');
  const { version, answers } = lastTo(pages, 'POST /api/test/submit');
  const values = (answers as { question_id: string; value: number }[]).toSorted((a, b) =>
    a.question_id < b.question_id ? -1 : 1,
  );
  assert.is(version, '1.0');
  assert.equal(values.slice(0, 2), [
    { question_id: 'q01', value: 2 },
    { question_id: 'q02', value: 3 },
  ]);
  assert.is(values.length, 35);
  assert.ok(await page.getByRole('img', { name: /^Your result, beside The / }).isVisible());
  await page.getByLabel('Name', { exact: true }).fill('Like me');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/instances\/inst_/);
  const { initial_config: config } = lastTo(pages, 'POST /api/instances');
  const { mode_strengths: strengths, energy_level: energy } = config as Record<string, object>;
  assert.is(Object.keys(strengths ?? {}).length, 7);
  assert.is(typeof energy, 'number');
  assert.is(await page.evaluate(KEPT), '[]', 'the creation deletes the stored answers');
  assertQuiet(opened);
});

test('continues after a reload, and restarts on request', async (pages) => {
  await using opened = await openTest(pages);
  const { page } = opened;
  const choose = (position: number, value: number) =>
    page
      .locator('.question')
      .nth(position - 1)
      .getByRole('radio')
      .nth(value - 1)
      .check();
  await choose(1, 5);
  await choose(2, 1);
  await choose(1, 4);
  await answered(opened, 2);
  const kept = (await page.evaluate(KEPT)) as string;
  assert.match(kept, /personality-test:accountOfAda:usr_\w+.*\\"q01\\":4,\\"q02\\":1/);
  await page.reload();
  await answered(opened, 2);
  const first = page.locator('.question').first();
  assert.ok(await first.getByRole('radio', { name: /^4/ }).isChecked());
  await answerFrom(opened, 3);
  await page.getByRole('button', { name: 'See the result' }).click();
  await page.getByRole('heading', { name: 'Nearest personas' }).waitFor();
  await page.reload();
  await answered(opened, 35);
  await page.getByRole('button', { name: 'Start over' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Start over' }).click();
  await answered(opened, 0);
  assert.is(await page.evaluate(KEPT), '[]');
  assert.is(await page.locator('input:checked').count(), 0);
  assertQuiet(opened);
});

test('leads to the first unanswered question', async (pages) => {
  await using opened = await openTest(pages);
  const { page } = opened;
  await answerFrom(opened, 1);
  await page.evaluate(`
    const [[key, text]] = Object.entries(localStorage);
    localStorage.setItem(key, text.replace(/"q12":\\d/, '"q12":9'));`);
  await page.reload();
  await answered(opened, 34);
  await page.getByRole('button', { name: 'See the result' }).click();
  await page.getByRole('alert').filter({ hasText: 'Question 12 has no answer yet.' }).waitFor();
  assert.is(await page.evaluate('document.activeElement.name'), 'q12');
  assert.is(pages.account.sent.filter(({ route }) => /submit/.test(route)).length, 0);
  await page.keyboard.press('3');
  await answered(opened, 35);
  assertQuiet(opened);
});

test('ignores stored answers of another version or of another program', async (pages) => {
  await using opened = await openTest(pages);
  const { page } = opened;
  await page.locator('.question').first().getByRole('radio').first().check();
  await answered(opened, 1);
  const { key } = (await page.evaluate('({ key: localStorage.key(0) })')) as { key: string };
  for (const text of ['{"version":"0.9","answers":{"q01":3}}', '{"version":"1.0"', 'null', '7']) {
    await page.evaluate(`localStorage.setItem(${JSON.stringify(key)}, ${JSON.stringify(text)})`);
    await page.reload();
    await answered(opened, 0);
  }
  assertQuiet(opened);
});

test('keeps the answers of one account separate from another account', async (pages) => {
  const owner = await pages.desk.owner();
  await using opened = await pages.open('/instances/test', owner);
  const { page } = opened;
  await page.locator('.question').first().getByRole('radio').first().check();
  await answered(opened, 1);
  const other = await pages.desk.owner('bob@example.com', 'accountOfBob');
  const cookies = [...other.cookies].map(([name, value]) => ({ name, value, url: pages.origin }));
  await page.context().addCookies(cookies);
  await page.reload();
  await answered(opened, 0);
  assertQuiet(opened);
});

test('reports that careless answers are inconsistent', async (pages) => {
  await using opened = await openTest(pages);
  const { page } = opened;
  await page.locator('input[name="q01"]').first().focus();
  for (let count = 0; count < 35; count += 1) await page.keyboard.press('3');
  await page.getByRole('button', { name: 'See the result' }).click();
  await page.getByText('The answers are inconsistent').waitFor();
  await page.getByText('Noticed: straightlining').waitFor();
  await page.getByRole('button', { name: 'Back to the questions' }).click();
  await answered(opened, 35);
  assertQuiet(opened);
});

test('keeps the answers when the result cannot be computed', async (pages) => {
  pages.account.broken.set('POST /api/test/submit', 500);
  await using opened = await openTest(pages);
  const { page } = opened;
  await answerFrom(opened, 1);
  await page.getByRole('button', { name: 'See the result' }).click();
  await page.getByRole('alert').filter({ hasText: 'The store is away.' }).waitFor();
  pages.account.broken.clear();
  await page.getByRole('button', { name: 'See the result' }).click();
  await page.getByRole('heading', { name: 'Nearest personas' }).waitFor();
});

test.run();
