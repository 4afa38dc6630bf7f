import { TURN_VARIANTS } from '#test/simulation/faults/turns';
import { testVariants } from '#test/simulation/faults/variant-suite';

testVariants('turns', TURN_VARIANTS);
