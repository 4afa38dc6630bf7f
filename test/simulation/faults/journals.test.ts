import { JOURNAL_VARIANTS } from '#test/simulation/faults/journals';
import { testVariants } from '#test/simulation/faults/variant-suite';

testVariants('journals', JOURNAL_VARIANTS);
