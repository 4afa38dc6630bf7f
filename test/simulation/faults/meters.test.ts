import { METER_VARIANTS } from '#test/simulation/faults/meters';
import { testVariants } from '#test/simulation/faults/variant-suite';

testVariants('meters', METER_VARIANTS);
