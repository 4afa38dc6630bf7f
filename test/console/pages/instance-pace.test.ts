import { setInterval as everyInterval } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/browser-suite';
import { FakeLife } from '#test/console/pages/fake-life';
import { ANALYST, CALM, openLive, untilCycle, WILD } from '#test/console/pages/instance/live-page';

/** What the page must keep up with: observations a second, and for how many. Source: decision 256. */
const PER_SECOND = 50;
const SECONDS = 10;

/** Counts frames, how long each was, and how often the lines were drawn: uPlot clears its canvas once. */
const COUNTED = `
  globalThis.pace = { frames: [], draws: 0 };
  let last = performance.now();
  const frame = (now) => { pace.frames.push(now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  const { clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...area) {
    pace.draws += 1;
    return clearRect.apply(this, area);
  };`;

type Pace = { readonly frames: readonly number[]; readonly draws: number };

const pace = browserSuite('the page of an instance that observes 50 times a second');

pace('shows all of it, and draws once a frame at most', async (pages) => {
  const life = new FakeLife(pages.account, 'Ada', ANALYST);
  await using opened = await openLive(pages, life);
  const { page } = opened;
  await page.evaluate(COUNTED);
  const total = PER_SECOND * SECONDS;
  let count = 0;
  for await (const _ of everyInterval(1_000 / PER_SECOND)) {
    life.observe(count % 40 < 35 ? CALM : WILD);
    count += 1;
    if (count === total) break;
  }
  await untilCycle(page, total);
  const counted = `${total + 1} states and ${total} observations since`;
  await page.getByText(counted).waitFor();
  await page
    .getByRole('row', { name: new RegExp(`^${total} `) })
    .first()
    .waitFor();
  const { frames, draws } = (await page.evaluate('pace')) as Pace;
  const sorted = frames.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(1);
  const dropped = frames.filter((ms) => ms > 25).length;
  console.log(
    `${total} observations in ${SECONDS} s: ${frames.length} frames, ${draws} draws, ${dropped} frames over ` +
      `25 ms; median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`,
  );
  assert.ok(draws > 0 && draws <= frames.length, `${draws} draws in ${frames.length} frames`);
  assertQuiet(opened);
});

pace.run();
