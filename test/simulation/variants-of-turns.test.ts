import { testVariants } from '#test/simulation/variant-suite';
import { TURN_VARIANTS } from '#test/simulation/variants-of-turns';

testVariants('turns', TURN_VARIANTS);
