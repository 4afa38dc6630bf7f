import { FEED_VARIANTS } from '#test/simulation/faults/feeds';
import { testVariants } from '#test/simulation/faults/variant-suite';

testVariants('log of transitions', FEED_VARIANTS);
