import { testVariants } from '#test/simulation/faults/variant-suite';
import { WEBHOOK_VARIANTS } from '#test/simulation/faults/webhooks';

testVariants('delivery of webhooks', WEBHOOK_VARIANTS);
