import type { Variant } from '#test/simulation/variant';
import { JOURNAL_VARIANTS } from '#test/simulation/variants-of-journals';
import { METER_VARIANTS } from '#test/simulation/variants-of-meters';
import { SHARD_VARIANTS } from '#test/simulation/variants-of-shards';
import { STORE_VARIANTS } from '#test/simulation/variants-of-stores';
import { TURN_VARIANTS } from '#test/simulation/variants-of-turns';

/** Every broken variant of architecture 7 that this system can have. */
export const VARIANTS: readonly Variant[] = [
  ...JOURNAL_VARIANTS,
  ...STORE_VARIANTS,
  ...SHARD_VARIANTS,
  ...TURN_VARIANTS,
  ...METER_VARIANTS,
];
