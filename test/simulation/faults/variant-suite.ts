import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { catchVariant } from '#test/simulation/faults/catch-variant';
import type { Variant } from '#test/simulation/faults/variant';

/** Number of seeds within which every variant must be detected. */
const SEEDS_MAX = 120;

/** Tests that every variant is detected; reports the number of seeds and the finding. */
export function testVariants(of: string, variants: readonly Variant[]): void {
  const tests = suite(`${of} broken on purpose`);
  for (const variant of variants) {
    tests(`are detected: ${variant.name}`, async () => {
      const startedMs = performance.now();
      const caught = await catchVariant(variant, SEEDS_MAX);
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      assert.ok(caught, `${variant.name} passes ${SEEDS_MAX} seeds`);
      const left = caught.unsound.length === 0 ? '' : ` (left out: ${caught.unsound.join(', ')})`;
      console.log(`${variant.name}: ${caught.seeds} seeds${left}, ${seconds} s: ${caught.found}`);
    });
  }
  tests.run();
}
