import { testVariants } from '#test/simulation/variant-suite';
import { SHARD_VARIANTS } from '#test/simulation/variants-of-shards';

testVariants('shards', SHARD_VARIANTS);
