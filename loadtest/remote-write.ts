import { BadRequest } from '#loadtest/options';

/** Timeout of the check that Prometheus accepts remote write, in milliseconds. */
const ANSWER_MS_MAX = 5_000;

/** Statistics of a trend that k6 exports as gauges: `p(99)` of `a` becomes `k6_a_p99`. */
export const TREND_STATISTICS = ['p(50)', 'p(95)', 'p(99)', 'max'] as const;

/**
 * Variables that make k6 write to this Prometheus. Throws `BadRequest` if Prometheus accepts no
 * remote write.
 */
export async function remoteWriteTo(url: string): Promise<Record<string, string>> {
  const receiver = /\/api\/v1\/(?:write|push)$/.test(url) ? url : `${url}/api/v1/write`;
  const status = await fetch(receiver, {
    method: 'POST',
    body: '',
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  }).then(
    (response) => response.status,
    (error: Error) => {
      const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException;
      throw new BadRequest(`PROMETHEUS_URL: nothing answers at ${url}: ${code ?? message}`);
    },
  );
  // A remote-write receiver also rejects the empty body, but with another status.
  if (status === 404 || status === 405) {
    const hint = 'start Prometheus with --web.enable-remote-write-receiver';
    throw new BadRequest(`PROMETHEUS_URL: ${receiver} answers ${status}: ${hint}`);
  }
  return {
    K6_OUT: 'experimental-prometheus-rw',
    K6_PROMETHEUS_RW_SERVER_URL: receiver,
    K6_PROMETHEUS_RW_TREND_STATS: TREND_STATISTICS.join(),
    K6_PROMETHEUS_RW_STALE_MARKERS: 'true',
  };
}
