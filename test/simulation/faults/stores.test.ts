import { STORE_VARIANTS } from '#test/simulation/faults/stores';
import { testVariants } from '#test/simulation/faults/variant-suite';

testVariants('stores', STORE_VARIANTS);
