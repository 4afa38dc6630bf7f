import { testVariants } from '#test/simulation/variant-suite';
import { METER_VARIANTS } from '#test/simulation/variants-of-meters';

testVariants('meters', METER_VARIANTS);
