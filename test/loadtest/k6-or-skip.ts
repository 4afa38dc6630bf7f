import { suite as plainSuite } from 'uvu';
import { installedK6 } from '#deploy/local/k6-install';

/**
 * uvu's `suite` for tests that run k6; where it cannot be had its tests count as skipped. Throws on CI,
 * where nothing may be skipped. Fetching it takes minutes, so that CI does it before the tests.
 */
export async function k6OrSkip(name: string) {
  const real = plainSuite(name);
  try {
    await installedK6(console.log);
    return real;
  } catch (error) {
    const line = `there is no k6: ${(error as Error).message}`;
    if (process.env['CI'] === 'true') throw new Error(line, { cause: error });
    console.log(`skipped because ${line}`);
    const skipping = (title: string): void => real.skip(title, () => undefined);
    return Object.assign(skipping, { run: real.run });
  }
}
