import { testVariants } from '#test/simulation/variant-suite';
import { JOURNAL_VARIANTS } from '#test/simulation/variants-of-journals';

testVariants('journals', JOURNAL_VARIANTS);
