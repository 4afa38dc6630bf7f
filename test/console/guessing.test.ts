import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SignInThrottle } from '#console/people/sign-in-throttle';
import { openConsole, PASSWORD } from '#test/console/console-fixture';
import { ManualClock } from '#test/support/manual-clock';
import { refusalOf } from '#test/support/settled';

const EMAIL = 'ada@example.com';

/** Number of sign-in pairs to compare. */
const ROUNDS = 15;

function throttle() {
  const clock = new ManualClock();
  const own = new SignInThrottle(clock, { free: 10, emailWaitMsMax: 10_000 });
  const begin = (email: string, address: string, deviceDigest?: string) =>
    own.begin({ email, address, deviceDigest });
  const isLate = (email: string, address: string, deviceDigest?: string) => {
    try {
      begin(email, address, deviceDigest);
      return false;
    } catch {
      return true;
    }
  };
  return { clock, begin, isLate };
}

const slowing = suite('a caller that guesses passwords');

slowing('waits twice as long after each failure from one network, up to 15 minutes', async () => {
  const { clock, begin, isLate } = throttle();
  for (let attempts = 0; attempts < 5; attempts += 1) begin(EMAIL, '203.0.113.7');
  for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
    clock.advance(seconds * 1_000 - 1);
    assert.ok(isLate(EMAIL, '203.0.113.7'), `${seconds} s are not over`);
    clock.advance(1);
    begin(EMAIL, '203.0.113.7');
  }
  const refusal = await refusalOf(() => begin(EMAIL, '203.0.113.7'));
  assert.is((refusal as Error & { retryAfterS: number }).retryAfterS, 900);
  clock.advance(60 * 60_000);
  for (let attempts = 0; attempts < 5; attempts += 1) begin(EMAIL, '203.0.113.7');
});

slowing('gains nothing by parallel attempts, because attempts in progress are counted', () => {
  const { begin, isLate } = throttle();
  const attempts = Array.from({ length: 5 }, () => begin(EMAIL, '203.0.113.7'));
  assert.ok(isLate(EMAIL, '203.0.113.7'));
  attempts[0]?.succeeded();
  assert.is(isLate(EMAIL, '203.0.113.7'), false, 'a right password clears the failures');
});

slowing('is blocked after one network has tried many emails', () => {
  const { begin, isLate } = throttle();
  for (let at = 0; at < 30; at += 1) begin(`${at}@example.com`, '203.0.113.7');
  assert.ok(isLate('fresh@example.com', '203.0.113.7'));
  assert.is(isLate('fresh@example.com', '203.0.113.8'), false);
});

slowing('is blocked after the networks of one /48 have tried many emails', () => {
  const { begin, isLate } = throttle();
  for (let at = 0; at < 300; at += 1)
    begin(`${at}@example.com`, `2001:db8:1:${at.toString(16)}::1`);
  assert.ok(isLate('fresh@example.com', '2001:db8:1:ffff::1'));
  assert.is(isLate('fresh@example.com', '2001:db8:2::1'), false);
});

slowing('never locks the owner out, even from many networks', () => {
  const { clock, begin, isLate } = throttle();
  for (let at = 0; at < 200; at += 1) {
    clock.advance(10_000);
    begin(EMAIL, `198.51.100.${at}`);
  }
  assert.is(isLate(EMAIL, '203.0.113.7', 'a known browser'), false);
  clock.advance(9_999);
  assert.ok(isLate(EMAIL, '203.0.113.7'), 'an unknown browser waits ten seconds');
  clock.advance(1);
  assert.is(isLate(EMAIL, '203.0.113.7'), false, 'but no longer');
});

slowing('waits even with a stolen device cookie', () => {
  const { begin, isLate } = throttle();
  for (let at = 0; at < 5; at += 1) begin(EMAIL, `198.51.100.${at}`, 'stolen');
  assert.ok(isLate(EMAIL, '198.51.100.9', 'stolen'));
  assert.is(isLate(EMAIL, '203.0.113.7', 'another'), false);
});

slowing('gets 429 with the time to wait, while the owner’s own browser signs in', async () => {
  await using desk = await openConsole();
  const owner = await desk.owner();
  await owner.expect(204, 'POST', '/sign-out', {});
  const eve = desk.browser('198.51.100.66');
  const statuses: number[] = [];
  for (let at = 0; at < 6; at += 1) statuses.push((await eve.signIn(EMAIL, 'guess')).status);
  assert.equal(statuses, [401, 401, 401, 401, 401, 429]);
  const late = await eve.signIn(EMAIL, PASSWORD);
  assert.equal(
    [late.status, late.headers['retry-after']],
    [429, '1'],
    'even with the right password',
  );
  assert.is((await owner.signIn(EMAIL, PASSWORD)).status, 200);
  const failures = desk.audited.filter(({ action }) => action === 'session.fail');
  assert.is(failures.length, 5);
  assert.is(failures[0]?.address, '198.51.100.66');
  const { text } = await desk.ports.metrics.scrape();
  for (const [outcome, count] of [
    ['wrong', 5],
    ['too_early', 2],
    ['right', 1],
  ] as const) {
    const sample = `console_sign_ins_total{step="password",outcome="${outcome}"} ${count}`;
    assert.ok(text.includes(sample), sample);
  }
  const route = 'http_route="/api/sign-in",http_response_status_code="429"';
  assert.ok(text.includes(`console_request_duration_seconds_count{${route}} 2`));
});

const enumeration = suite('a caller that probes which emails are registered');

enumeration('gets the same answer for every email', async () => {
  await using desk = await openConsole();
  await desk.owner();
  const replies = [
    await desk.browser('198.51.100.1').signIn(EMAIL, 'wrong password here'),
    await desk.browser('198.51.100.2').signIn('unknown@example.com', 'wrong password here'),
    await desk.browser('198.51.100.3').signIn('no address', 'wrong password here'),
    await desk.browser('198.51.100.4').signIn('unknown@example.com', ''),
  ];
  const shown = replies.map(({ status, data, headers }) => {
    const { date: _, 'x-request-id': __, ...others } = headers;
    return { status, data, others };
  });
  for (const each of shown) assert.equal(each, shown[0]);
  assert.is(shown[0]?.status, 401);
});

enumeration('is throttled in the same way for every email', async () => {
  await using desk = await openConsole();
  await desk.owner();
  const statusesOf = async (email: string, address: string) => {
    const statuses: number[] = [];
    const browser = desk.browser(address);
    for (let at = 0; at < 7; at += 1) statuses.push((await browser.signIn(email, 'guess')).status);
    return statuses;
  };
  const known = await statusesOf(EMAIL, '198.51.100.1');
  assert.equal(await statusesOf('unknown@example.com', '198.51.100.2'), known);
});

enumeration('gets the answer after the same time for every email', async () => {
  await using desk = await openConsole();
  await desk.owner();
  const times = { known: [] as number[], unknown: [] as number[] };
  const timeOf = async (email: string, address: string) => {
    const startedMs = performance.now();
    const reply = await desk.browser(address).signIn(email, 'wrong password here');
    assert.is(reply.status, 401);
    return performance.now() - startedMs;
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    // Alternate, so that other load on this machine affects both kinds.
    desk.clock.advance(60_000);
    times.known.push(await timeOf(EMAIL, `198.51.100.${round}`));
    times.unknown.push(await timeOf(`unknown${round}@example.com`, `203.0.113.${round}`));
  }
  const [known, unknown] = [medianOf(times.known), medianOf(times.unknown)];
  // Without a hash to compare, the answer would take a tenth of the time.
  assert.ok(unknown > known / 2 && unknown < known * 2, `${known} ms against ${unknown} ms`);
});

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

for (const each of [slowing, enumeration]) each.run();
