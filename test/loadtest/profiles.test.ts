import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { kindOf, MIX, observationOf, requestOf, STEP_S, visitOf } from '#loadtest/k6/mix';
import {
  instancesOf,
  PROFILES,
  type ProfileName,
  peakOf,
  phasesOf,
  requestsOf,
} from '#loadtest/k6/profile';
import { thresholdsOf } from '#loadtest/k6/slo';
import { usualScope } from '#test/loadtest/run-figures';

const NAMES = Object.keys(PROFILES) as ProfileName[];
const usual = (name: ProfileName) => ({ name, ...PROFILES[name] });

const profiles = suite('a load profile');

profiles('is one of the nine documented profiles', () => {
  const wanted = 'smoke average stress spike soak breakpoint failover limiter hot-instance';
  assert.equal(NAMES, wanted.split(' '));
});

for (const name of NAMES) {
  profiles(`fills its time with uniquely named phases: ${name}`, () => {
    for (const seconds of [PROFILES[name].secondsMin, PROFILES[name].seconds]) {
      const phases = phasesOf({ ...usual(name), seconds });
      const sum = phases.reduce((total, phase) => total + phase.seconds, 0);
      assert.ok(Math.abs(sum - seconds) < 1e-9, `${sum} of ${seconds}`);
      assert.is(new Set(phases.map((phase) => phase.name)).size, phases.length);
      for (const phase of phases) assert.ok(phase.seconds > 0, phase.name);
    }
  });

  profiles(`has an instance for each request in its fastest second: ${name}`, () => {
    const demand = usual(name);
    if (name === 'hot-instance') assert.is(instancesOf(demand), 1);
    else assert.ok(instancesOf(demand) >= peakOf(demand), `${instancesOf(demand)}`);
  });

  profiles(`fails on dropped iterations: ${name}`, () => {
    const thresholds = thresholdsOf(usualScope(name));
    if (name !== 'breakpoint') assert.equal(thresholds['dropped_iterations'], ['count==0']);
    else
      assert.match(JSON.stringify(thresholds), /dropped_iterations\{scenario:step_10\}":\["count/);
  });
}

profiles('multiplies its rate by five if it is `spike`', () => {
  assert.is(peakOf({ name: 'spike', perS: 10, seconds: 60 }), 50);
});

const mix = suite('the mix of calls');

mix('contains each kind with its percentage in every hundred calls', () => {
  const counts = new Map<string, number>();
  for (let n = 300; n < 400; n += 1) counts.set(kindOf(n), (counts.get(kindOf(n)) ?? 0) + 1);
  assert.equal(
    [...counts].toSorted(),
    Object.entries(MIX)
      .map(([kind, { of100 }]) => [kind, of100])
      .toSorted(),
  );
});

mix('visits every instance once per round', () => {
  for (const count of [1, 10, 200]) {
    for (const round of [0, 1, 7]) {
      const visits = Array.from({ length: count }, (_, n) => visitOf(round * count + n, count));
      assert.is(new Set(visits.map(({ instance }) => instance)).size, count);
      assert.ok(visits.every(({ visit }) => visit === round));
    }
  }
});

mix('sends different kinds of calls to an instance', () => {
  const count = 200;
  const kinds = new Set<string>();
  for (let n = 0; n < count * 100; n += 1) {
    if (visitOf(n, count).instance === 17) kinds.add(kindOf(n));
  }
  assert.is(kinds.size, Object.keys(MIX).length);
});

mix('spaces visits so that the timestamps of a batch fit between two visits', () => {
  const { body } = requestOf('batch', 'inst_0', { n: 0, instance: 0, second: 1_000 });
  const { observations } = JSON.parse(body ?? '');
  const times = observations.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp));
  for (let i = 1; i < times.length; i += 1) assert.is(times[i] - times[i - 1], 1_000);
  assert.ok(times.at(-1) + 1_000 <= (1_000 + STEP_S) * 1_000);
});

mix('contains only valid observations', () => {
  for (let n = 0; n < 500; n += 1) {
    const { signal_strength, confidence } = observationOf(n, n % 37, n);
    assert.ok(signal_strength >= 0 && signal_strength <= 1 && confidence <= 1);
  }
});

profiles('has as many requests in a ramp as at the mean rate of the ramp', () => {
  const ramp = { name: 'a', fromPerS: 0, toPerS: 10, seconds: 6, isJudged: false };
  assert.is(requestsOf(ramp), 30);
});

profiles.run();
mix.run();
