import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { forecastOf } from '#console/usage/export';
import type { MeterUsage } from '#grpc/admin';

const at = (day: number, hour = 0) => Date.UTC(2026, 0, day, hour);

function usage(cyclesByDay: readonly number[], cyclesPerMonth: number): MeterUsage {
  return {
    limits: { requestsPerMinute: 60, cyclesPerMonth },
    ...{ requestsInWindow: 0, windowResetAtS: undefined, windowWatermark: 0 },
    cyclesUsed: cyclesByDay.reduce((sum, cycles) => sum + cycles, 0),
    ...{ cyclesReserved: 0, monthResetAtS: Date.UTC(2026, 1, 1) / 1_000, monthWatermark: 0 },
    ...{ cyclesExpired: 0, cyclesLost: 0, cyclesByDay, keys: [], finishedMonths: [] },
  };
}

const forecast = suite('the forecast of a month');

forecast('extrapolates the average use so far', () => {
  assert.equal(forecastOf(usage([100, 300], 10_000), at(3)), { cycles: 6_200 });
});

forecast('starts with the first day with any use', () => {
  const days = [...Array<number>(10).fill(0), 100];
  assert.equal(forecastOf(usage(days, 10_000), at(12)), { cycles: 2_100 });
});

forecast('includes the time when the quota is used up, if within the month', () => {
  assert.equal(forecastOf(usage([100, 100], 500), at(3)), { cycles: 3_100, usedUpAtMs: at(6) });
  assert.equal(forecastOf(usage([100], 3_100), at(2)), { cycles: 3_100 });
  assert.equal(forecastOf(usage([100], 100), at(2)), { cycles: 3_100 }, 'the quota is used up now');
});

forecast('does not exist on the first day, without use, or for a past month', () => {
  assert.is(forecastOf(usage([100], 500), at(1, 23)), undefined);
  assert.is(forecastOf(usage([0, 0, 0, 9], 500), at(4, 12)), undefined);
  assert.is(forecastOf(usage([], 500), at(20)), undefined);
  assert.is(forecastOf(usage([100], 500), Date.UTC(2026, 1, 1)), undefined);
});

forecast.run();
