import { testVariants } from '#test/simulation/variant-suite';
import { STORE_VARIANTS } from '#test/simulation/variants-of-stores';

testVariants('stores', STORE_VARIANTS);
