import { suite as plainSuite } from 'uvu';
import { installedK6 } from '#deploy/local/install/k6';

/**
 * uvu's `suite` for tests with k6. If k6 is not available, the suite skips its tests. If CI=true,
 * throws instead, because CI builds k6 before the tests. Separate, because test/runner/plan.ts finds
 * the tests with k6 by the name of this function.
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
