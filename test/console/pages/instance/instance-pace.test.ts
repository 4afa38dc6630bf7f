import { setInterval as everyInterval, setTimeout as waitMs } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { assertQuiet, browserSuite } from '#test/console/pages/fakes/browser-suite';
import { FakeBackend } from '#test/console/pages/fakes/fake-backend';
import {
  ANALYST,
  CALM,
  openLive,
  openTab,
  untilCycle,
  WILD,
} from '#test/console/pages/instance/live-page';

/** Observations a second that the page must handle, one by one and in bursts. */
const PER_SECOND = 50;
/** Duration of each run, in seconds. */
const SECONDS = 6;
const TOTAL = PER_SECOND * SECONDS;

/** Observations in a burst. All of them arrive within the same frame. */
const BURST = 5;
const BURSTS = TOTAL / BURST;

/** Maximum draws a second, at any load. */
const DRAWS_PER_SECOND = 20;

/** Tolerance for the number of draws, because counting starts and ends within a second. */
const DRAWS_MORE = 10;

/** Minimum share of the possible draws on a machine with other load. */
const DRAWN_MIN = 0.6;

/** Duration of the measurement without observations, in milliseconds. */
const IDLE_MS = 3_000;

/** Duration of a frame at 60 a second. A frame longer than `LONG_MS` has skipped another frame. */
const FRAME_MS = 1_000 / 60;
const LONG_MS = 1.5 * FRAME_MS;

/** Counts frames, their durations, and chart draws: uPlot clears its canvas once for each draw. */
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

/** Reads the counts and resets them. */
const TAKEN = `(() => {
  const taken = pace;
  globalThis.pace = { frames: [], draws: 0 };
  return taken;
})()`;

type Pace = {
  readonly frames: readonly number[];
  readonly draws: number;
  /** CPU time of the page's thread, in milliseconds: other load on the machine is excluded. */
  readonly computedMs: number;
};

/** Counts frames and draws during `act`. */
async function counted(page: Page, act: () => Promise<unknown>): Promise<Pace> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const computed = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
  };
  const before = await computed();
  await page.evaluate(TAKEN);
  await act();
  const taken = (await page.evaluate(TAKEN)) as Omit<Pace, 'computedMs'>;
  const computedMs = (await computed()) - before;
  await session.detach();
  return { ...taken, computedMs };
}

/** Sends `TOTAL` observations in `SECONDS`, in groups of `each`. */
async function observe(backend: FakeBackend, each: number): Promise<void> {
  let count = 0;
  for await (const _ of everyInterval((1_000 * each) / PER_SECOND)) {
    for (let index = 0; index < each; index += 1) {
      backend.observe(count % 40 < 35 ? CALM : WILD);
      count += 1;
    }
    if (count === TOTAL) return;
  }
}

function report(name: string, { frames, draws, computedMs }: Pace): void {
  const sorted = frames.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(1);
  const long = frames.filter((ms) => ms > LONG_MS).length;
  console.log(
    `${name}: ${frames.length} frames, ${draws} draws, ${computedMs.toFixed(0)} ms computed; ${long} frames over ` +
      `${LONG_MS.toFixed(0)} ms; median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`,
  );
}

const pace = browserSuite('the page of an instance with 50 observations a second');

pace(
  'counts all observations, and draws at most twenty times a second, each time within a frame',
  async (pages) => {
    const backend = new FakeBackend(pages.account, 'Ada', ANALYST);
    await using opened = await openLive(pages, backend);
    const { page } = opened;
    await page.evaluate(COUNTED);
    const idle = await counted(page, () => waitMs(IDLE_MS));
    const steady = await counted(page, async () => {
      await observe(backend, 1);
      await untilCycle(page, TOTAL);
    });
    const bursts = await counted(page, async () => {
      await observe(backend, BURST);
      await untilCycle(page, 2 * TOTAL);
    });
    report('idle', idle);
    report(`${TOTAL} observations in ${SECONDS} s`, steady);
    report(`in bursts of ${BURST}`, bursts);
    await page.getByText(`${2 * TOTAL} observations in generation 1`).waitFor();
    await openTab(page, 'History');
    await page
      .getByRole('row', { name: new RegExp(`^${2 * TOTAL} `) })
      .first()
      .waitFor();

    assert.is(idle.draws, 0, 'an idle page draws nothing');
    for (const [{ frames, draws }, wanted] of [
      [steady, DRAWS_PER_SECOND * SECONDS],
      [bursts, BURSTS],
    ] as const) {
      const ms = frames.reduce((sum, frame) => sum + frame, 0);
      const most = Math.min((DRAWS_PER_SECOND * ms) / 1_000 + DRAWS_MORE, frames.length);
      const least = DRAWN_MIN * Math.min(wanted, frames.length);
      assert.ok(
        draws <= most,
        `${draws} draws in ${frames.length} frames and ${ms.toFixed(0)} ms, ${most.toFixed(0)} wanted at most`,
      );
      assert.ok(draws >= least, `${draws} draws in ${frames.length} frames, ${wanted} wanted`);
    }
    // Other load on the machine alone makes frames long. The page's CPU time per draw shows whether
    // the page would lose a frame.
    const drawMs = steady.computedMs / steady.draws;
    assert.ok(drawMs < LONG_MS, `a draw takes ${drawMs.toFixed(1)} ms of ${LONG_MS.toFixed(1)} ms`);
    assertQuiet(opened);
  },
);

pace.run();
