import type { Alert, AlertCase, Recording } from '#deploy/observe/alert';

/*
 * Service level objectives, and alerts on the burn rate of their error budgets. Source: operations,
 * "alerts"; the windows are from Google's SRE workbook.
 */

/** An objective: at most the share `allowed` of `counted` calls may be `bad`. */
type Objective = {
  readonly name: 'availability' | 'latency';
  readonly counted: string;
  readonly bad: string;
  readonly allowed: number;
  readonly what: string;
};

const COUNT = 'http_server_request_duration_seconds_count';

/**
 * Excludes calls refused before routing (invalid HTTP, barred address): the cause is the caller.
 */
const ROUTED = 'http_route!="refused"';
const FAILED = `${ROUTED},http_response_status_code=~"500|502|503|504"`;

/** Successful calls that advance an instance by one observation. */
const PROCESSED =
  'http_route="/instances/:id/process",http_request_method="POST",http_response_status_code=~"2.."';

/** Objective: 99.9 % of calls get an answer other than 5xx. A call that fails closed is bad. */
const AVAILABILITY: Objective = {
  name: 'availability',
  counted: `sum(rate(${COUNT}{${ROUTED}}[W]))`,
  // Exclude 503 for callers that left too many bodies unfinished: the cause is the caller.
  bad: `clamp_min((sum(rate(${COUNT}{${FAILED}}[W])) or vector(0)) - sum(rate(edge_bodies_given_up_total[W])), 0)`,
  allowed: 0.001,
  what: 'failed calls',
};

/** Objective: 99 % of process calls take less than 50 ms. */
const LATENCY: Objective = {
  name: 'latency',
  counted: `sum(rate(${COUNT}{${PROCESSED}}[W]))`,
  bad: `sum(rate(${COUNT}{${PROCESSED}}[W])) - sum(rate(http_server_request_duration_seconds_bucket{${PROCESSED},le="0.05"}[W]))`,
  allowed: 0.01,
  what: 'process calls over 50 ms',
};

const OBJECTIVES = [AVAILABILITY, LATENCY] as const;

/**
 * Burn rates with two windows each: the long window avoids false alarms, the short window ends the
 * alert soon.
 */
const BURNS = [
  { word: 'Fast', rate: 14.4, long: '1h', short: '5m', shortS: 300, severity: 'page' },
  { word: 'Steadily', rate: 6, long: '6h', short: '30m', shortS: 1_800, severity: 'page' },
  { word: 'Slowly', rate: 1, long: '3d', short: '6h', shortS: 21_600, severity: 'ticket' },
] as const;

/**
 * Minimum number of bad calls in the short window: at night, a single bad call is a large share.
 */
const BAD_CALLS_MIN = 10;

/** Windows computed from the original series. */
const SHORT_WINDOWS = ['5m', '30m', '1h'] as const;

/** Windows computed from 5-minute recordings, which is much cheaper. */
const LONG_WINDOWS = ['6h', '3d'] as const;

/** Name of the recorded error ratio over a window. Windows without calls have no sample. */
export function errorRatio(objective: Objective['name'], window: string): string {
  return `slo:${objective}_errors:ratio_rate${window}`;
}

/** Error budget: share of calls that may be bad. */
export function allowedOf(objective: Objective['name']): number {
  return objective === 'availability' ? AVAILABILITY.allowed : LATENCY.allowed;
}

/** Recording rules that Prometheus evaluates in the default interval. */
export function sloRecordings(): Recording[] {
  return OBJECTIVES.flatMap((objective) => {
    const { name } = objective;
    const over = (text: string, window: string) => text.replaceAll('[W]', `[${window}]`);
    const ratios = SHORT_WINDOWS.map((window) => ({
      record: errorRatio(name, window),
      expr: `(${over(objective.bad, window)}) / (${over(objective.counted, window)} > 0)`,
    }));
    return [
      { record: `slo:${name}_calls:rate5m`, expr: over(objective.counted, '5m') },
      { record: `slo:${name}_bad:rate5m`, expr: over(objective.bad, '5m') },
      ...ratios,
    ];
  });
}

/** Recording rules that Prometheus evaluates every minute. */
export function longSloRecordings(): Recording[] {
  return OBJECTIVES.flatMap(({ name }) =>
    LONG_WINDOWS.map((window) => {
      const sum = (what: string) => `sum_over_time(slo:${name}_${what}:rate5m[${window}])`;
      return { record: errorRatio(name, window), expr: `${sum('bad')} / (${sum('calls')} > 0)` };
    }),
  );
}

/** An alert for each objective and burn rate. */
export function sloAlerts(): Alert[] {
  return OBJECTIVES.flatMap((objective) =>
    BURNS.map(({ word, rate, long, short, shortS, severity }): Alert => {
      const { name, allowed, what } = objective;
      const threshold = `${rate} * ${allowed}`;
      const worse = (window: string) => `${errorRatio(name, window)} > ${threshold}`;
      const bad = `slo:${name}_bad:rate5m`;
      const recent = short === '5m' ? bad : `avg_over_time(${bad}[${short}])`;
      const isMany = `${recent} * ${shortS} > ${BAD_CALLS_MIN}`;
      // A new Prometheus has only minutes of data and must not evaluate windows of hours or days.
      const isOld = long === '1h' ? '' : ` and slo:${name}_calls:rate5m offset ${short}`;
      return {
        name: `${name === 'availability' ? 'Availability' : 'Latency'}Burns${word}`,
        severity,
        expr: `${worse(long)} and ${worse(short)} and ${isMany}${isOld}`,
        forS: 0,
        summary: `the error budget for ${what} has a burn rate above ${rate} over ${long} and ${short}`,
        ...casesOf(name, rate * allowed, long),
      };
    }),
  );
}

/** Test cases slightly above and slightly below the threshold for the whole long window. */
function casesOf(
  name: Objective['name'],
  threshold: number,
  long: string,
): Pick<Alert, 'firing' | 'quiet' | 'alsoQuiet'> {
  const minutes = { '1h': 60, '6h': 360, '3d': 4_320 }[long] ?? 60;
  const calls = 60_000;
  const at = (share: number): AlertCase => {
    const bad = Math.round(calls * share);
    const values = (perMinute: number) => `0+${perMinute}x${minutes + 10}`;
    const labels = { http_request_method: 'POST', http_route: '/instances/:id/process' };
    const series = (metric: string, more: Readonly<Record<string, string>>) =>
      `${metric}{${Object.entries({ ...labels, ...more })
        .map(([label, value]) => `${label}="${value}"`)
        .join(',')}}`;
    const good = series(COUNT, { http_response_status_code: '200' });
    const given = { edge_bodies_given_up_total: values(0) };
    const place = { everyS: 60, atS: (minutes + 5) * 60 };
    if (name === 'latency') {
      const quick = { http_response_status_code: '200', le: '0.05' };
      const bucket = series('http_server_request_duration_seconds_bucket', quick);
      const slow = { [good]: values(calls), [bucket]: values(calls - bad) };
      return { series: { ...slow, ...given }, ...place };
    }
    const failed = series(COUNT, { http_response_status_code: '503' });
    const both = { [good]: values(calls - bad), [failed]: values(bad) };
    return { series: { ...both, ...given }, ...place };
  };
  const cases = { firing: at(threshold * 1.1), quiet: at(threshold * 0.9) };
  // After ten minutes, the data does not represent six hours.
  const young = long === '1h' ? [] : [{ ...at(threshold * 5), atS: 600 }];
  return { ...cases, alsoQuiet: [...young, nightOf(name, minutes)] };
}

/** Test case at night: one call every five minutes, and one bad call two minutes ago. */
function nightOf(name: Objective['name'], minutes: number): AlertCase {
  const route = 'http_request_method="POST",http_route="/instances/:id/process"';
  const series = (metric: string, status: string, more = '') =>
    `${metric}{${route},http_response_status_code="${status}"${more}}`;
  const before = minutes + 2;
  const few = `0+0.2x${minutes + 10}`;
  const failed = { [series(COUNT, '200')]: few, [series(COUNT, '503')]: `0x${before} 1x8` };
  const slow = {
    [series(COUNT, '200')]: `0+0.2x${before} ${((before + 1) * 0.2 + 1).toFixed(1)}+0.2x7`,
    [series('http_server_request_duration_seconds_bucket', '200', ',le="0.05"')]: few,
  };
  const given = { edge_bodies_given_up_total: `0x${minutes + 10}` };
  const calls = name === 'latency' ? slow : failed;
  return { series: { ...calls, ...given }, everyS: 60, atS: (minutes + 5) * 60 };
}
