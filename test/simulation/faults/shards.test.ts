import { SHARD_VARIANTS } from '#test/simulation/faults/shards';
import { testVariants } from '#test/simulation/faults/variant-suite';

testVariants('shards', SHARD_VARIANTS);
