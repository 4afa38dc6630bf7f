import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fitToPlan, limiterPlans } from '#loadtest/fit';
import { instancesOf, peakOf } from '#loadtest/k6/profile';
import { readOptions } from '#loadtest/options';

const REMOTE = { BASE_URL: 'http://127.0.0.1:8000', API_KEY: 'svc_sk_x' };

const options = suite('the variables of make load');

options('are parsed with their units', () => {
  const { perS, seconds, address } = readOptions({
    ...REMOTE,
    ...{ PROFILE: 'average', RATE: '12.5', DURATION: '2m', BASE_URL: 'http://127.0.0.1:8000/v1/' },
  });
  assert.is(perS, 12.5);
  assert.is(seconds, 120);
  assert.is(address?.baseUrl, 'http://127.0.0.1:8000', 'routes add the version');
});

options('fall back to the profile if unset or empty', () => {
  const read = readOptions({ PROFILE: 'smoke', RATE: '', DURATION: '', BASE_URL: '', API_KEY: '' });
  assert.is(read.perS, undefined);
  assert.is(read.address, undefined);
});

for (const [variables, complaint] of [
  [{}, /^PROFILE is not set; choose smoke, average/],
  [{ PROFILE: 'avarage' }, /^PROFILE is "avarage"; choose/],
  [{ PROFILE: 'toString' }, /^PROFILE is "toString"/],
  [{ PROFILE: 'smoke', RATE: 'ten' }, /^RATE: requests a second, .* not "ten"/],
  [{ PROFILE: 'smoke', RATE: '1e3' }, /^RATE/],
  [{ PROFILE: 'smoke', RATE: '0' }, /^RATE/],
  [{ PROFILE: 'smoke', RATE: '-5' }, /^RATE/],
  [{ PROFILE: 'smoke', RATE: 'Infinity' }, /^RATE/],
  [{ PROFILE: 'smoke', DURATION: '5 years' }, /^DURATION: a time such as/],
  [{ PROFILE: 'smoke', DURATION: '0s' }, /^DURATION/],
  [{ PROFILE: 'smoke', DURATION: '72h' }, /^DURATION/],
  [{ PROFILE: 'spike', DURATION: '5s' }, /^DURATION: spike takes at least 20 s, not 5/],
  [{ PROFILE: 'smoke', BASE_URL: 'example.com', API_KEY: 'k' }, /^BASE_URL: an address such as/],
  [{ PROFILE: 'smoke', BASE_URL: 'ftp://a', API_KEY: 'k' }, /^BASE_URL/],
  [{ PROFILE: 'smoke', BASE_URL: 'http://a' }, /^API_KEY is not set/],
  [{ PROFILE: 'smoke', API_KEY: 'k' }, /^API_KEY is set without BASE_URL/],
  [{ PROFILE: 'smoke', ...REMOTE, API_KEY: 'a\nb' }, /^API_KEY contains a character/],
  [{ PROFILE: 'smoke', PROMETHEUS_URL: 'localhost:9090' }, /^PROMETHEUS_URL: an address/],
] as const) {
  options(`are rejected with a one-line message: ${JSON.stringify(variables)}`, () => {
    assert.throws(
      () => readOptions(variables),
      ({ message }: Error) => complaint.test(message) && !message.includes('\n'),
    );
  });
}

const PRO = {
  ...{ name: 'pro', requestsPerMinute: 300, cyclesPerMonth: 500_000 },
  ...{ cyclesLeft: 500_000, instancesMax: 100_000 },
};

const fit = suite('a run on a given plan');

fit("lowers its rate to the plan's requests per minute, with a note", () => {
  for (const name of ['average', 'stress', 'spike'] as const) {
    const { demand, notes } = fitToPlan({ name, perS: 100, seconds: 60 }, PRO);
    assert.ok(peakOf(demand) * 60 + 2 * instancesOf(demand) <= 300, `${name}: ${demand.perS}`);
    assert.match(notes.join('\n'), /^RATE lowered from 100 to .*300 requests a minute/);
  }
});

fit('lowers its duration to the remaining cycles of the month, with a note', () => {
  const { demand, notes } = fitToPlan(
    { name: 'average', perS: 1, seconds: 3_600 },
    {
      ...PRO,
      cyclesLeft: 1_000,
    },
  );
  assert.ok(demand.seconds < 300 && demand.seconds > 100, `${demand.seconds}`);
  assert.match(notes.join('\n'), /^DURATION lowered .* 1000 cycles are left/);
});

fit('is unchanged if the plan is large enough', () => {
  const wanted = { name: 'smoke', perS: 1, seconds: 15 } as const;
  assert.equal(fitToPlan(wanted, PRO), { demand: wanted, notes: [] });
});

fit('is refused if the plan is too small', () => {
  const free = { ...PRO, name: 'free', requestsPerMinute: 2 };
  assert.throws(
    () => fitToPlan({ name: 'spike', perS: 50, seconds: 60 }, free),
    /too small for spike/,
  );
});

fit('is refused in profile `limiter` if its rate does not exceed the plan', () => {
  const wanted = { name: 'limiter', perS: 5, seconds: 60 } as const;
  assert.throws(() => fitToPlan(wanted, PRO), /admits 300 requests a minute, more than RATE=5/);
  assert.is(fitToPlan({ ...wanted, perS: 6 }, PRO).demand.perS, 6);
});

fit('gets two plans that admit half of its load in profile `limiter`', () => {
  const plans = limiterPlans({ name: 'limiter', perS: 40, seconds: 130 });
  assert.equal(plans, { requestsPerMinute: 600, cyclesPerMonth: 1_300 });
  const short = limiterPlans({ name: 'limiter', perS: 40, seconds: 10 });
  assert.equal(
    short,
    { requestsPerMinute: 100, cyclesPerMonth: 100 },
    'a run shorter than a minute',
  );
});

options.run();
fit.run();
