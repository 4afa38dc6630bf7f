import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { catchVariant } from '#test/simulation/faults/catch-variant';
import type { Variant } from '#test/simulation/faults/variant';

/** Maximum seeds until a variant is detected. */
const SEEDS_MAX = 120;

/** Tests that the checks detect every variant. Prints the number of seeds and the violation. */
export function testVariants(of: string, variants: readonly Variant[]): void {
  const tests = suite(`a deliberate flaw in the ${of}`);
  for (const variant of variants) {
    tests(`is detected: ${variant.name}`, async () => {
      const startedMs = performance.now();
      const caught = await catchVariant(variant, SEEDS_MAX);
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      assert.ok(caught, `no check detects "${variant.name}" within ${SEEDS_MAX} seeds`);
      const { seeds, unsound, found } = caught;
      const ignored = unsound.length === 0 ? '' : `, ignored: ${unsound.join(', ')}`;
      console.log(`${variant.name}: ${seeds} seeds (${seconds} s${ignored}): ${found}`);
    });
  }
  tests.run();
}
