import * as assert from 'uvu/assert';
import type { MeterUsage } from '#grpc/admin';
import { serveAdmin } from '#limiter/admin/server';
import { monthsOf } from '#limiter/meter/month-quota';
import { ctl } from '#test/ctl/ctl-run';
import { custom, limiterUnderTest } from '#test/limiter/limiter-fixture';
import { ADMIN_TOKEN, adminTokenFile } from '#test/support/calls/admin-token';
import { NO_OVERVIEW } from '#test/support/no-overview';

/** Runs `ctl` against an admin port, with the token of the tests. */
export function run(argv: readonly string[], adminUrl: string) {
  return ctl(argv, { adminUrl, adminTokenFile: adminTokenFile() });
}

/**
 * Creates a limiter with one account, and `ctl` at its admin port. `used` replaces the usage of
 * every account.
 */
export async function serviceUnderTest(used?: MeterUsage) {
  const fixture = await limiterUnderTest(custom(60, 100));
  const { limiter, clock, bugs } = fixture;
  const onBug = (bug: unknown) => bugs.push(bug);
  const instead = used && { usage: async () => used, months: async () => monthsOf(used, []) };
  const admin = { ...limiter.admin, ...instead };
  const ports = { admin, clock, onBug, token: ADMIN_TOKEN };
  const auditing = { trail: limiter.audit, heard: () => undefined, cluster: NO_OVERVIEW };
  const running = await serveAdmin({ host: '127.0.0.1', port: 0 }, { ...ports, ...auditing });
  return {
    ...fixture,
    ctl: (...argv: string[]) => run(argv, running.address),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await limiter[Symbol.asyncDispose]();
      assert.equal(bugs, []);
    },
  };
}
